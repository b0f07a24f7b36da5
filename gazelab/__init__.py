"""gazelab: a reader's gaze beside a vision-language model's attention."""

__version__ = "0.1.0"
