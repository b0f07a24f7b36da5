"""Where gaze samples come from."""
