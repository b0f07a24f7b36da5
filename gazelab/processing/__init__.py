"""Pure functions of arrays: no clock, no input or output."""
