"""The mouse as gaze: for building and trying out a study, never for data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from gazelab.core.gaze import SourceState, empty_gaze
from gazelab.sources.base import Clock, OpenInWith, Reading, SourceInfo

Position = Callable[[], tuple[float, float] | None]


class Pointer(OpenInWith):
    """A `GazeSource` that reads a position as often as it is told to, without noise.

    Parameters
    ----------
    position : callable
        Gives the pointer in screen px of the screen under study; None while it is elsewhere, which makes a
        lost sample. A place off the screen is given as it is, never clamped.
    rate_hz : float
        Samples a second.
    clock, wait : callable
        Session time in ns; a sleep of so many seconds.
    """

    def __init__(
        self,
        position: Position,
        rate_hz: float = 60.0,
        *,
        clock: Clock = time.perf_counter_ns,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._position, self._step_ns = position, round(1e9 / rate_hz)
        self._clock, self._wait = clock, wait
        self._state = SourceState.IDLE
        self._due_ns = self._index = 0
        self.info = SourceInfo("pointer", "mouse", rate_hz)

    @property
    def state(self) -> SourceState:
        """OK while open."""
        return self._state

    def open(self) -> None:
        """Start: the first sample is due now."""
        self._due_ns, self._index = self._clock(), 0
        self._state = SourceState.OK

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        """Give the sample that is due, at the time it is taken; the past isn't known, so none are made up."""
        if self._state is not SourceState.OK:
            return []
        early_s = (self._due_ns - self._clock()) / 1e9
        if early_s > 0 and timeout_s > 0:
            self._wait(min(early_s, timeout_s))
        now = self._clock()
        if now < self._due_ns:
            return []
        missed = (now - self._due_ns) // self._step_ns
        self._due_ns += (missed + 1) * self._step_ns
        return [Reading(self._sample(now))]

    def close(self) -> None:
        """Stop; may be called twice."""
        self._state = SourceState.IDLE

    def _sample(self, now: int) -> np.void:
        row: np.void = empty_gaze(1)[0]
        row["time_ns"] = row["device_ns"] = row["arrival_ns"] = now
        row["frame_index"], self._index = self._index, self._index + 1
        place = self._position()
        if place is not None and all(math.isfinite(v) for v in place):
            row["x_px"], row["y_px"] = place
            row["confidence"], row["valid"] = 1.0, True
        return row
