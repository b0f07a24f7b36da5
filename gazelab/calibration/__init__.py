"""From eye features to screen px: mapping, procedure, profile."""
