"""Where a model looks."""
