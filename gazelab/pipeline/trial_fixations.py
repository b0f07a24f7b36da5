"""The online fixations of one trial: the same code live and in replay, so both give the same set."""

from __future__ import annotations

import numpy as np

from gazelab.core.gaze import EventArray, GazeArray, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.blinks import PAD_S
from gazelab.processing.events import OnlineFixations

PAD_NS = round(PAD_S * 1e9)


class TrialFixations:
    """Feed a trial's samples to the online detector and keep what it gives out.

    Parameters
    ----------
    screen : Screen
    onset_ns : int
        The trial's start; samples seen before it do not count, but for a blink that reaches into the trial.
    offset_ns : int, optional
        The trial's end, if it is known already; samples from it on do not count.
    """

    def __init__(self, screen: Screen, onset_ns: int, offset_ns: int | None = None) -> None:
        self._detector = OnlineFixations(screen)
        self._onset_ns = onset_ns
        self._offset_ns = offset_ns
        self._last_ns = onset_ns
        self._begun = False
        self._closed = False
        self._events: EventArray = empty_events()
        self.emitted_ns: list[int] = []

    def end_at(self, offset_ns: int) -> None:
        """Set the trial's end; the detector closes at the first sample that lies beyond it."""
        if self._offset_ns is None:
            self._offset_ns = offset_ns

    def push(self, samples: GazeArray) -> None:
        """Take samples in the order of their arrival, shape (n,), GAZE_DTYPE."""
        for sample in samples:
            time_ns = int(sample["time_ns"])
            blink = bool(sample["blink"])
            if self._closed or time_ns < self._onset_ns:
                if blink and not self._begun and time_ns >= self._onset_ns - PAD_NS:
                    self._detector.push(time_ns, np.nan, np.nan, blink)
                continue
            if self._offset_ns is not None and time_ns >= self._offset_ns:
                self.close()
                continue
            self._begun, self._last_ns = True, time_ns
            x, y = (float(sample["x_px"]), float(sample["y_px"])) if sample["valid"] else (np.nan, np.nan)
            self._detector.push(time_ns, x, y, blink)
            self._keep(time_ns)

    def close(self) -> None:
        """Give out what is still open; may be called twice."""
        if not self._closed:
            self._closed = True
            self._detector.close()
            # At the trial's end, not at its last sample: until then nobody live could have seen these.
            self._keep(self._last_ns if self._offset_ns is None else self._offset_ns)

    def emitted(self) -> EventArray:
        """Give the fixations so far, shape (n,), EVENT_DTYPE, in order."""
        return self._events

    def _keep(self, now_ns: int) -> None:
        given = self._detector.last_events
        if len(given):
            self._events = np.concatenate([self._events, given])
            self.emitted_ns += [now_ns] * len(given)
