"""The GazelabError family: what went wrong, with which file or device, and what to do about it."""

from __future__ import annotations

from pathlib import Path


class GazelabError(Exception):
    """A fault that a person can act on.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str or Path, optional
        The file or device that it concerns.
    todo : str, optional
        What the reader can do about it.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str | Path | None = None, todo: str | None = None) -> None:
        self.what = what
        self.where = None if where is None else str(where)
        self.todo = todo
        super().__init__(self.__str__())

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head} {self.todo}" if self.todo else head


class ConfigError(GazelabError):
    """A setting is unknown, of the wrong type or out of range."""


class CameraError(GazelabError):
    """A camera or a video file cannot be opened, or stopped giving pictures."""


class StreamError(GazelabError):
    """An eye-tracker stream cannot be used."""


class CalibrationError(GazelabError):
    """A calibration failed, is broken or belongs to another person, screen or source."""


class SessionError(GazelabError):
    """A recorded session cannot be written or read."""


class PictureError(GazelabError):
    """A file is not a picture that can be shown."""


class ChartError(GazelabError):
    """A folder or file of charts cannot be read."""


class AttentionError(GazelabError):
    """A model's attention cannot be read, or its tokens do not fit the picture."""


class Cancelled(GazelabError):
    """The user stopped the work."""

    exit_code = 130
