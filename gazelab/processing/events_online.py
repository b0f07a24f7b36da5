"""Fixations while samples arrive: the segmentation of the offline detector with a fixed lag.

Only a short window of samples is undecided. Each new sample updates the best cut of the window; what is older
than the window keeps its part in the best cut for good, and a fixation is given out when its end is old
enough. The result depends on the pushed values alone, so pushing a recording again gives exactly what was
given live. Memory and the cost of a push do not grow.

It cuts by this rule at every rate, samples faster than 80 Hz averaged: a change to I-VT in mid-stream would
have to be undone whenever the noise changes, and gains little (`benchmarks/events.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gazelab.core.gaze import EventArray, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.blinks import PAD_S
from gazelab.processing.degrees import screen_in_degrees
from gazelab.processing.events_edges import Motion, left, settled
from gazelab.processing.events_places import OpenFixation, Place, RunningMeasures, is_spike
from gazelab.processing.events_samples import CLOCK_RESET_S, MAX_ECCENTRICITY_DEG
from gazelab.processing.events_segmentation import BIN_S, MIN_FIXATION_S, Segmentation, Weights

LAG_S = 0.067
"""An end that the best cut has held for this long is given out: two samples at 30 Hz."""
WINDOW_S = 0.095
"""A sample older than this is decided; at 30 Hz a fixation is out within 150 ms of its end."""
FAST_INTERVAL_S = 0.020
FAST_WINDOW_NS = 80_000_000
"""The same where samples come faster than 50 Hz: there a fixation is out within 100 ms."""

PAD_NS = round(PAD_S * 1e9)

Interval = tuple[int, int]

_NONE = empty_events()
_NONE.flags.writeable = False


class OnlineFixations:
    """Find fixations in a stream of samples.

    Parameters
    ----------
    screen : Screen or mapping
        As for `events.detect_fixations`.
    lag_s, window_s : float
        How long the best cut must have held an end before it is given out, and how old a sample may be and
        still be undecided. Shorter is sooner and less certain.

    Attributes
    ----------
    last_events : numpy.ndarray, EVENT_DTYPE
        What the latest `push` or `close` gave out, with mean places in screen px.
    """

    def __init__(
        self, screen: Screen | Mapping[str, Any], lag_s: float = LAG_S, window_s: float = WINDOW_S
    ) -> None:
        self._screen = screen_in_degrees(screen)
        self._lag_ns, self._window_ns = round(lag_s * 1e9), round(window_s * 1e9)
        self._measures = RunningMeasures()
        self._newest_ns: int | None = None
        self._shut_ns: int | None = None
        self._bin: Place | None = None
        self._start_segment()
        self._out: list[EventArray] = []
        self.last_events: EventArray = empty_events()

    def push(self, time_ns: int, x_px: float, y_px: float, blink: bool = False) -> list[Interval]:
        """Take the next sample.

        Parameters
        ----------
        time_ns : int
            A stamp that repeats or falls back by up to a second is passed over; one that falls farther back
            starts a new clock.
        x_px, y_px : float
            Screen px, NaN = lost.
        blink : bool
            The lids are shut. The gaze of 100 ms before and after is left out, as offline, but what was given
            out already stays.

        Returns
        -------
        list of (onset_ns, offset_ns)
            The fixations that are settled now; mostly none.
        """
        self._out = []
        if self._newest_ns is not None and time_ns <= self._newest_ns:
            if time_ns >= self._newest_ns - CLOCK_RESET_S * 1e9:
                return self._given()
            self._end_segment()
            self._shut_ns = None
        self._newest_ns = time_ns
        if blink:
            self._shut_ns = time_ns
            self._blank(time_ns - PAD_NS)
            self._end_segment()
            return self._given()
        last_ns = self._last_valid_ns()
        if last_ns is not None and (time_ns - last_ns) / 1e9 > self._measures.bridge_s:
            self._end_segment()
        if self._shut_ns is None or time_ns > self._shut_ns + PAD_NS:
            sample = self._seen(time_ns, x_px, y_px)
            if sample is not None:
                self._take(sample)
        if self._measures.ready:
            self._decide(time_ns)
        return self._given()

    def close(self) -> list[Interval]:
        """End the stream; what is still open ends with its last sample."""
        self._out = []
        self._end_segment()
        return self._given()

    def _given(self) -> list[Interval]:
        if not self._out:
            self.last_events = _NONE
            return []
        self.last_events = np.concatenate(self._out)
        return [(int(e["onset_ns"]), int(e["offset_ns"])) for e in self.last_events]

    def _seen(self, time_ns: int, x_px: float, y_px: float) -> Place | None:
        """Make a place of a sample; None if it holds no gaze, as `events_samples.lost_samples` says."""
        x_deg, y_deg = (float(v) for v in self._screen.to_deg(x_px, y_px))
        if not math.hypot(x_deg, y_deg) <= MAX_ECCENTRICITY_DEG or x_px == y_px == 0:
            return None
        return Place(time_ns, time_ns, x_deg, y_deg, x_px, y_px)

    def _start_segment(self) -> None:
        self._window: list[Place] = []
        self._before: Place | None = None  # the place just before the window
        self._after_fixation = False  # and whether it ended a fixation
        self._open: OpenFixation | None = None
        self._cut: Segmentation | None = None

    def _last_valid_ns(self) -> int | None:
        for place in (self._bin, *self._window[-1:], self._before):
            if place is not None:
                return place.last_ns
        return None

    def _blank(self, since_ns: int) -> None:
        """Take back what was seen from `since_ns` on, as far as it was not given out."""
        if self._bin is not None and self._bin.last_ns >= since_ns:
            self._bin = None
        while self._window and self._window[-1].last_ns >= since_ns:
            self._window.pop()
            self._cut = None
        if not self._window and self._open is not None:
            self._cut = None
            if self._open.take_back(since_ns):
                self._before = self._open.last
            else:
                self._open = None

    def _take(self, sample: Place) -> None:
        """Average samples that come fast; pass each mean on when it is complete."""
        last_ns = self._last_valid_ns()
        if last_ns is not None:
            self._measures.add_time((sample.first_ns - last_ns) / 1e9)
        if self._bin is None:
            self._bin = sample
        else:
            self._bin.add(sample)
        span_s = (self._bin.last_ns - self._bin.first_ns) / 1e9
        if not math.isfinite(self._measures.interval_s) or span_s + self._measures.interval_s >= BIN_S:
            self._append()

    def _append(self) -> None:
        """Move the complete mean to the window, without the place before it if that was a spike."""
        assert self._bin is not None
        place, self._bin = self._bin, None
        newest = self._window[-1] if self._window else self._before
        if newest is not None:
            self._measures.add_step(newest, place)
        if len(self._window) >= 2 and is_spike(self._window[-2], self._window[-1], place, self._measures):
            self._window.pop()
            self._cut = None
        self._window.append(place)

    def _best_cut(self) -> Segmentation:
        if self._cut is None:
            begun = self._open.begun() if self._open is not None else None
            self._cut = Segmentation(self._measures.noise, self._measures.place_s, begun)
        for place in self._window[len(self._cut) :]:
            self._cut.push(place.time_s, place.x_deg, place.y_deg)
        return self._cut

    def _decide(self, now_ns: int) -> None:
        """Settle the oldest places of the window as long as something can be settled."""
        while self._window:
            pieces, is_open = self._best_cut().pieces(ended=False)
            first, last = pieces[0] if pieces else (len(self._window), len(self._window))
            going_on = is_open and len(pieces) == 1
            due = now_ns - self._window[0].last_ns >= self._undecided_ns()
            over = not going_on and last < len(self._window) and now_ns - self._end_ns(last) >= self._lag_ns
            if self._open is None and first > 0:
                if not (due or over):
                    return
                self._leave(min(first, len(self._window)) if over else 1)
            elif over:
                self._finish(last)
            elif due:
                self._ensure_open(last)
                self._absorb(1)
            else:
                return

    def _end_ns(self, last: int) -> int:
        place = self._window[last] if last >= 0 else self._before
        assert place is not None
        return place.last_ns

    def _leave(self, n: int) -> None:
        """Settle the first `n` places of the window as no part of a fixation."""
        self._before, self._after_fixation = self._window[n - 1], False
        del self._window[:n]
        self._cut = None

    def _absorb(self, n: int) -> None:
        """Settle the first `n` places of the window as part of the open fixation."""
        assert self._open is not None
        weights = Weights(self._measures.noise, self._measures.place_s)
        for place in self._window[:n]:
            if self._open.last_two is not None:
                self._measures.add_inside(*self._open.last_two, place)
            self._open.add(place, weights)
            self._before = place
        del self._window[:n]
        self._cut = None

    def _motion(self) -> tuple[Motion, int]:
        """Speeds over the window and the place before it, and at which position the window begins."""
        places = ([self._before] if self._before is not None else []) + self._window
        t = np.array([p.time_s for p in places]) - places[0].time_s
        x, y = np.array([p.x_deg for p in places]), np.array([p.y_deg for p in places])
        return Motion.between(t, x, y, self._measures.noise.step_deg), len(places) - len(self._window)

    def _ensure_open(self, last: int) -> None:
        """Begin a fixation, if none is open, where the eye has settled in the window's first piece."""
        if self._open is not None:
            return
        motion, shift = self._motion()
        first = settled(shift, last + shift, motion, shift - 1 if self._after_fixation else None) - shift
        if first:
            self._leave(first)
        gap = self._window[0].first_ns - self._before.last_ns if self._before is not None else 0
        self._open = OpenFixation(self._window[0].first_ns - min(gap // 2, self._half_ns()), PAD_NS)
        self._after_fixation = False

    def _finish(self, last: int) -> None:
        """Give out the fixation that ends with place `last` of the window, -1 for the place before it."""
        n = len(self._window)
        self._ensure_open(last)
        last -= n - len(self._window)
        kept = last
        if last >= 0:
            motion, shift = self._motion()
            kept = left(shift, last + shift, motion) - shift
        self._absorb(kept + 1)
        assert self._open is not None
        assert self._before is not None
        gap = self._window[0].first_ns - self._before.last_ns - 1 if self._window else 0
        event = self._open.event(self._before.last_ns + min(gap // 2, self._half_ns()))
        if event["offset_ns"][0] - event["onset_ns"][0] >= round(MIN_FIXATION_S * 1e9):
            self._out.append(event)
        self._open, self._cut = None, None
        if last > kept:
            self._leave(last - kept)
        self._after_fixation = True

    def _undecided_ns(self) -> int:
        """How old a place may be and still be undecided."""
        is_fast = self._measures.interval_s < FAST_INTERVAL_S
        return min(self._window_ns, FAST_WINDOW_NS) if is_fast else self._window_ns

    def _half_ns(self) -> int:
        interval_s = self._measures.interval_s
        return int(interval_s * 1e9 / 2) if math.isfinite(interval_s) else 0

    def _end_segment(self) -> None:
        if self._bin is not None:
            self._append()
        while self._window or self._open is not None:
            pieces, _ = self._best_cut().pieces(ended=True)
            if not pieces:
                break
            first, last = pieces[0]
            if first > 0:
                self._leave(first)
                last -= first
            self._finish(last)
        self._start_segment()
