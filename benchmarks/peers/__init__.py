"""Other gaze trackers on the same pictures: each in an environment of its own, asked through files."""
