"""A camera through OpenCV: a thread that grabs for ever and keeps only the newest picture."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gazelab.core.errors import CameraError, Cancelled
from gazelab.core.gaze import Frame, SourceState
from gazelab.sources.base import DEFAULT_ASK, CameraAsk, Clock, OpenInWith, SourceInfo
from gazelab.sources.cameras import is_address, list_cameras, resolve, why_not
from gazelab.sources.watchdog import SILENT_NS

__all__ = ["Webcam", "list_cameras"]

log = logging.getLogger(__name__)

OPEN_DEADLINE_S = 20.0
STOP_DEADLINE_S = 0.9
RETRY_S = 1.0
FAILED_READ_PAUSE_S = 0.02
GIVE_UP_NS = 2_000_000_000
"""After this long without a picture the camera is opened anew."""

MAX_AGE_NS = 500_000_000
"""A driver's stamp older than this, or in the future, isn't on our clock and is not used."""

MakeCapture = Callable[[int | str], Any]


def make_capture(device: int | str) -> Any:
    """Open a camera by number (the system's native way) or a stream by address."""
    from gazelab.core.opencv import cv2

    if isinstance(device, str):
        return cv2.VideoCapture(device)
    native = {"linux": cv2.CAP_V4L2, "win32": cv2.CAP_DSHOW, "darwin": cv2.CAP_AVFOUNDATION}
    return cv2.VideoCapture(device, native.get(sys.platform, cv2.CAP_ANY))


class Webcam(OpenInWith):
    """A `FrameSource` on a camera.

    Opening, settings and grabbing all happen in one daemon thread, since a driver may block any of them for
    minutes or for ever: `open` has a deadline and can be cancelled, `close` returns within two seconds. Size
    and rate are asked for, and only what arrives is believed.

    Parameters
    ----------
    device : int or str
        OpenCV's number, a name (or part of one) from `list_cameras`, or the address of a stream ("http://…",
        "frames_%04d.png").
    ask : CameraAsk
        Size and rate to ask for; the lag to take off each stamp.
    open_deadline_s : float
    make : callable
        Makes the capture; for tests.
    clock : callable
        Session time in ns.
    """

    def __init__(
        self,
        device: int | str = 0,
        *,
        ask: CameraAsk = DEFAULT_ASK,
        open_deadline_s: float = OPEN_DEADLINE_S,
        make: MakeCapture = make_capture,
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        self._device, self._name = resolve(device)
        self._asked, self._asked_hz, self._latency_ns = ask.frame_px, ask.rate_hz, ask.latency_ns
        self._deadline_s, self._make, self._clock = open_deadline_s, make, clock
        self._news = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._newest: Frame | None = None
        self._fault: CameraError | None = None
        self._stamps: deque[int] = deque(maxlen=60)
        self._size: tuple[int, int] | None = None
        self._index = 0
        self.n_dropped = 0
        """Pictures that were never read since a newer one came."""

    @property
    def info(self) -> SourceInfo:
        """What a session writes; the size is the one that arrived."""
        size = self._size or (0, 0)
        detail = (
            ("width_px", str(size[0])),
            ("height_px", str(size[1])),
            ("asked_px", f"{self._asked[0]}x{self._asked[1]}"),
        )
        return SourceInfo("webcam", self._name, latency_ns=self._latency_ns, detail=detail)

    @property
    def state(self) -> SourceState:
        """OPENING until the first picture, OK while they come, LOST after a second without one."""
        if self._thread is None:
            return SourceState.IDLE
        if self._fault is not None:
            return SourceState.ERROR
        if not self._stamps:
            return SourceState.OPENING
        silent = self._clock() - self._latency_ns - self._stamps[-1] > SILENT_NS
        return SourceState.LOST if silent else SourceState.OK

    @property
    def rate_hz(self) -> float:
        """Measured over the last sixty pictures; NaN before the second. The camera's own word isn't asked."""
        steps = np.diff(np.array(self._stamps, np.int64))
        steps = steps[steps > 0]
        return 1e9 / float(np.median(steps)) if len(steps) else float("nan")

    def begin(self) -> None:
        """Start opening and return at once; `state` is OPENING, and `read` raises if it fails."""
        if self._thread is not None:
            return
        self._stop = threading.Event()
        self._newest, self._fault, self._size = None, None, None
        self._stamps.clear()
        self._index = self.n_dropped = 0
        self._thread = threading.Thread(
            target=self._run, args=(self._stop,), name="gazelab-webcam", daemon=True
        )
        self._thread.start()

    def open(self) -> None:
        """Open the camera and wait for its first picture; `close` from another thread cancels.

        Raises
        ------
        CameraError
            No camera, not allowed, in use, or no picture before the deadline.
        Cancelled
            `close` was called meanwhile.
        """
        self.begin()
        stop = self._stop
        with self._news:
            there = self._news.wait_for(
                lambda: self._newest or self._fault or stop.is_set(), timeout=self._deadline_s
            )
        if stop.is_set():
            raise Cancelled("opening the camera was cancelled.", where=self._name)
        if not there:
            self.close()
            raise CameraError(
                f"the camera gave no picture within {self._deadline_s:g} s.",
                where=self._name,
                todo="Close other programs that use it, plug it in again, or choose another camera.",
            )
        if self._fault is not None:
            fault = self._fault
            self.close()
            raise fault

    def read(self, timeout_s: float = 0.0) -> Frame | None:
        """Give the newest unread picture; None if none came in time.

        Raises
        ------
        CameraError
            Opening failed.
        """
        with self._news:
            if self._newest is None and timeout_s > 0:
                self._news.wait_for(lambda: self._newest or self._fault, timeout=timeout_s)
            if self._fault is not None:
                raise self._fault
            frame, self._newest = self._newest, None
        return frame

    def close(self) -> None:
        """Stop within two seconds, even if the driver never returns; may be called twice."""
        self._stop.set()
        with self._news:
            self._news.notify_all()
        thread, self._thread = self._thread, None
        if thread is None or thread is threading.current_thread():
            return
        thread.join(STOP_DEADLINE_S)
        if thread.is_alive():
            log.warning("%s: the driver does not return; its thread is left behind", self._name)

    def _run(self, stop: threading.Event) -> None:
        """Body of the thread: open, grab until lost, open again; the first opening must succeed."""
        while not stop.is_set():
            capture = self._make(self._device)
            try:
                if capture.isOpened():
                    self._ask(capture)
                    self._grab(capture, stop)
                elif self._index == 0:
                    self._fail(stop)
                    return
            finally:
                capture.release()
            stop.wait(RETRY_S)

    def _ask(self, capture: Any) -> None:
        """Ask for format, size and rate, but only for what differs: each costs seconds on some systems."""
        from gazelab.core.opencv import cv2

        if is_address(self._device):
            return
        wanted = {
            cv2.CAP_PROP_FOURCC: cv2.VideoWriter.fourcc(*"MJPG"),
            cv2.CAP_PROP_FRAME_WIDTH: self._asked[0],
            cv2.CAP_PROP_FRAME_HEIGHT: self._asked[1],
            cv2.CAP_PROP_FPS: self._asked_hz,
        }
        for key, value in wanted.items():
            if capture.get(key) != value:
                capture.set(key, value)

    def _grab(self, capture: Any, stop: threading.Event) -> None:
        """Take pictures until told to stop or none has come for two seconds."""
        last_ns = self._clock()
        while not stop.is_set():
            if not capture.grab():
                if self._clock() - last_ns > GIVE_UP_NS:
                    log.warning("%s: no pictures; opening it again", self._name)
                    return
                stop.wait(FAILED_READ_PAUSE_S)
                continue
            last_ns = self._clock()
            ok, bgr = capture.retrieve()
            if ok and bgr is not None and not stop.is_set():
                self._publish(bgr, last_ns, self._driver_ns(capture, last_ns))

    def _driver_ns(self, capture: Any, arrival_ns: int) -> int | None:
        """Give the driver's own stamp where it is on our clock, as on Linux."""
        from gazelab.core.opencv import cv2

        if sys.platform != "linux" or is_address(self._device):
            return None
        position_ms = float(capture.get(cv2.CAP_PROP_POS_MSEC))
        if not np.isfinite(position_ms):
            return None
        stamp = round(position_ms * 1e6)
        return stamp if 0 <= arrival_ns - stamp < MAX_AGE_NS else None

    def _publish(self, bgr: Any, arrival_ns: int, driver_ns: int | None) -> None:
        seen_ns = arrival_ns if driver_ns is None else driver_ns
        frame = Frame.from_bgr(bgr, seen_ns - self._latency_ns, self._index, seen_ns)
        with self._news:
            self._index += 1
            self.n_dropped += self._newest is not None
            self._newest = frame
            self._stamps.append(frame.time_ns)
            self._size = (frame.rgb.shape[1], frame.rgb.shape[0])
            self._news.notify_all()

    def _fail(self, stop: threading.Event) -> None:
        what, todo = why_not(self._device)
        with self._news:
            if not stop.is_set():
                self._fault = CameraError(what, where=self._name, todo=todo)
            self._news.notify_all()
