"""A video file as a source of frames, by the container's own timestamps."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gazelab.core.errors import CameraError
from gazelab.core.gaze import Frame, SourceState
from gazelab.sources.base import Clock, OpenInWith, SourceInfo

log = logging.getLogger(__name__)

FALLBACK_STEP_NS = 33_333_333
"""Step after a stamp that doesn't grow, until good ones tell the file's own."""


class VideoFile(OpenInWith):
    """Frames of a file, each at its own presentation time.

    The frame rate written in a file is never used: it is a mean, a maximum or a time base. A rotation tag is
    applied here, once, for all who use the frames; `info.detail` keeps the angle.

    Parameters
    ----------
    path : Path or str
    paced : bool
        Give each frame when its time has come by the clock, skipping those that are late, as a camera would;
        otherwise give each one as soon as it is asked for.
    clock : callable
        Session time in ns. The first frame is at the time of `open`.
    wait : callable
        Sleeps for so many seconds, for `paced`.
    """

    def __init__(
        self,
        path: Path | str,
        paced: bool = False,
        *,
        clock: Clock = time.perf_counter_ns,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = Path(path)
        self._paced, self._clock, self._wait = paced, clock, wait
        self._capture: Any = None
        self._next: Frame | None = None
        self._state = SourceState.IDLE
        self._info = SourceInfo("video", self.path.name)
        self._steps: list[int] = []
        self._start_ns = self._first_pts_ns = self._index = 0
        self._last_ns: int | None = None
        self.n_bad_stamps = 0
        """Frames whose stamp was missing or did not grow; they follow the one before by the usual step."""

    @property
    def info(self) -> SourceInfo:
        """What a session writes about this file."""
        return self._info

    @property
    def state(self) -> SourceState:
        """OK while frames come, ENDED after the last one was read."""
        return self._state

    @property
    def rate_hz(self) -> float:
        """Estimate from the median step of the stamps read so far; NaN before the second frame."""
        return 1e9 / float(np.median(self._steps)) if self._steps else float("nan")

    def open(self) -> None:
        """Open the file and decode its first frame.

        Raises
        ------
        CameraError
            No such file, or not a video that can be decoded.
        """
        from gazelab.core.opencv import cv2

        self.close()
        if not self.path.is_file():
            raise CameraError("there is no such video file.", where=self.path, todo="Check the path.")
        capture = cv2.VideoCapture(str(self.path))
        if capture.isOpened():
            capture.set(cv2.CAP_PROP_ORIENTATION_AUTO, 1)
        self._capture, self._index, self.n_bad_stamps, self._steps = capture, 0, 0, []
        self._start_ns, self._last_ns = self._clock(), None
        self._next = self._decode() if capture.isOpened() else None
        if self._next is None:
            self.close()
            raise CameraError(
                "not a video that can be read; a recording that was cut off lacks its table of frames.",
                where=self.path,
                todo="Play it elsewhere to check, or repair it with a video tool.",
            )
        turn = str(int(capture.get(cv2.CAP_PROP_ORIENTATION_META)))
        height, width = self._next.rgb.shape[:2]
        detail = (("width_px", str(width)), ("height_px", str(height)), ("rotation_deg", turn))
        self._info = SourceInfo("video", self.path.name, detail=detail)
        self._state = SourceState.OK

    def read(self, timeout_s: float = 0.0) -> Frame | None:
        """Give the next frame; None when it isn't due yet (`paced`) or the video has ended."""
        if self._next is None:
            return None
        if not self._paced:
            return self._take()
        early_s = (self._next.time_ns - self._clock()) / 1e9
        if early_s > 0:
            self._wait(min(early_s, timeout_s))
        frame = None
        while self._next is not None and self._next.time_ns <= self._clock():
            frame = self._take()
        return frame

    def close(self) -> None:
        """Free the file; may be called twice."""
        capture, self._capture, self._next = self._capture, None, None
        if capture is not None:
            capture.release()
            self._state = SourceState.IDLE

    def _take(self) -> Frame | None:
        frame, self._next = self._next, self._decode()
        if self._next is None:
            self._state = SourceState.ENDED
        return frame

    def _decode(self) -> Frame | None:
        from gazelab.core.opencv import cv2

        ok, bgr = self._capture.read()
        if not ok or bgr is None:
            return None
        pts_ns = self._stamp(float(self._capture.get(cv2.CAP_PROP_POS_MSEC)))
        time_ns = self._start_ns + pts_ns - self._first_pts_ns
        frame = Frame.from_bgr(bgr, time_ns, self._index, pts_ns)
        self._index += 1
        return frame

    def _stamp(self, position_ms: float) -> int:
        """Presentation time in ns, mended where the container's doesn't grow."""
        last = self._last_ns
        good = math.isfinite(position_ms) and (last is None or round(position_ms * 1e6) > last)
        if good:
            stamp = round(position_ms * 1e6)
        else:
            step = int(np.median(self._steps)) if self._steps else FALLBACK_STEP_NS
            stamp = 0 if last is None else last + step
            self.n_bad_stamps += 1
            log.warning("%s: frame %d has stamp %g ms", self.path.name, self._index, position_ms)
        if last is None:
            self._first_pts_ns = stamp
        elif good:
            self._steps.append(stamp - last)
        self._last_ns = stamp
        return stamp
