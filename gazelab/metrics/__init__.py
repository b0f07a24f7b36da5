"""Pure scores of maps and scanpaths."""
