"""What every source of frames or gaze looks like from outside.

A recorded session, a video file, a synthetic participant and a device are all a `GazeSource`: whoever
consumes samples cannot tell which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from gazelab.core.gaze import Frame, SourceState

Clock = Callable[[], int]
"""Gives the session's time in ns; `time.perf_counter_ns` in the app, a counter in tests."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What a session writes about where its samples came from.

    Attributes
    ----------
    name : str
        "webcam", "video", "synthetic", "recorded", "pointer", …
    device : str
        The device's or file's own name.
    nominal_rate_hz : float
        As promised by the device; NaN if it promises nothing. Never used for timing.
    has_features : bool
        Whether readings carry `FEATURE_DTYPE` records, and so can be calibrated afterwards.
    latency_ns : int
        Exposure-to-arrival lag already taken off `time_ns`; 0 if unknown.
    detail : tuple of (str, str)
        More facts: resolution, model file's hash, …
    """

    name: str
    device: str
    nominal_rate_hz: float = float("nan")
    has_features: bool = False
    latency_ns: int = 0
    detail: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One sample with what it was made from.

    Attributes
    ----------
    sample : numpy.void, GAZE_DTYPE
    features : numpy.void, FEATURE_DTYPE, or None
        None where the source measures gaze by itself.
    frame : Frame or None
        The camera picture, for the preview and for opt-in video; never stored by default.
    """

    sample: np.void
    features: np.void | None = None
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class CameraAsk:
    """What to ask of a camera, and what is known of it.

    Attributes
    ----------
    frame_px : (int, int)
        Size to ask for; an iris is twice as many pixels wide at 1280 x 720 as at 640 x 480.
    rate_hz : float
        To ask for; what arrives is measured.
    latency_ns : int
        Exposure-to-arrival lag, taken off each stamp once, here at the source; 36 to 128 ms in real cameras,
        0 if not measured.
    """

    frame_px: tuple[int, int] = (1280, 720)
    rate_hz: float = 30.0
    latency_ns: int = 0


DEFAULT_ASK = CameraAsk()


class OpenInWith:
    """`with source:` opens it, and closes it at the end or where opening fails."""

    def open(self) -> None:
        """Start."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop; may be called twice."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FrameSource(Protocol):
    """Gives camera pictures, newest first in need: old ones are dropped, not queued."""

    @property
    def info(self) -> SourceInfo:
        """What a session writes about this source."""

    @property
    def state(self) -> SourceState:
        """How it is doing now."""

    def open(self) -> None:
        """Start; raises CameraError with what to do."""

    def read(self, timeout_s: float = 0.0) -> Frame | None:
        """Give the newest unread frame; None if none came within `timeout_s` or the stream has ended."""

    def close(self) -> None:
        """Stop within two seconds; may be called twice."""


class GazeSource(Protocol):
    """Gives gaze samples."""

    @property
    def info(self) -> SourceInfo:
        """What a session writes about this source."""

    @property
    def state(self) -> SourceState:
        """How it is doing now."""

    def open(self) -> None:
        """Start; raises CameraError or StreamError with what to do."""

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        """Give what came since the last call, oldest first; waits at most `timeout_s` for the first."""

    def close(self) -> None:
        """Stop within two seconds; may be called twice."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None: ...
