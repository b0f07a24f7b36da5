"""Nouns and units: errors, gaze records, geometry, attention records, pictures."""
