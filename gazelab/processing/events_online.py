"""Fixations while samples arrive: the segmentation of the offline detector with a fixed lag.

Each sample updates the best cut so far; a fixation is given out once its end is older than the lag, and what
was given out is never taken back. The result depends on the pushed values alone, so pushing a recording again
gives exactly what was given live. Memory and the cost of a push are bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gazelab.core.gaze import EventArray, EventKind, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.degrees import screen_in_degrees
from gazelab.processing.events_edges import trim
from gazelab.processing.events_samples import (
    CLOCK_RESET_S,
    GAP_S,
    MAD_TO_SD,
    SPIKE_DEG,
    SPIKE_SIGMAS,
    SPIKE_SPAN_S,
    lost_samples,
)
from gazelab.processing.events_segmentation import MIN_FIXATION_S, NOISE_FLOOR_DEG, Segmentation

LAG_S = 0.100
BIN_S = 0.0125
"""Samples that come faster than at 80 Hz are averaged over this time first."""
WARM_UP = 8
MEMORY = 64
REFRESH = 4
MAX_OPEN_S = 30.0

Interval = tuple[int, int]


@dataclass(slots=True)
class _Place:
    """One sample, or the mean of several that came faster than at 80 Hz."""

    first_ns: int
    last_ns: int
    x_deg: float
    y_deg: float
    x_px: float
    y_px: float
    n: int = 1

    def add(self, other: _Place) -> None:
        total = self.n + other.n
        for name in ("x_deg", "y_deg", "x_px", "y_px"):
            mean = (getattr(self, name) * self.n + getattr(other, name) * other.n) / total
            setattr(self, name, mean)
        self.n, self.last_ns = total, other.last_ns

    @property
    def time_s(self) -> float:
        return (self.first_ns + self.last_ns) / 2e9


class OnlineFixations:
    """Find fixations in a stream of samples.

    Parameters
    ----------
    screen : Screen or mapping
        As for `events.detect_fixations`.
    lag_s : float
        How long after its end a fixation is settled and given out, at the earliest. Shorter is sooner and
        less certain.

    Attributes
    ----------
    last_events : numpy.ndarray, EVENT_DTYPE
        What the latest `push` or `close` gave out, with mean places in screen px.
    noise_deg, interval_s : float
        Noise and usual interval as measured over the last 64 samples.
    """

    def __init__(self, screen: Screen | Mapping[str, Any], lag_s: float = LAG_S) -> None:
        self._screen = screen_in_degrees(screen)
        self._lag_ns = round(lag_s * 1e9)
        self._steps_s: deque[float] = deque(maxlen=MEMORY)
        self._jumps_deg: deque[float] = deque(maxlen=2 * MEMORY)
        self._n_measured = 0
        self._usual_s = float("nan")
        self.interval_s = float("nan")
        self.noise_deg = NOISE_FLOOR_DEG
        self.last_events: EventArray = empty_events()
        self._newest_ns: int | None = None
        self._bin: _Place | None = None
        self._start_segment()

    def push(self, time_ns: int, x_px: float, y_px: float) -> list[Interval]:
        """Take the next sample.

        Parameters
        ----------
        time_ns : int
            A stamp that repeats or falls back by up to a second is passed over; one that falls farther back
            starts a new clock.
        x_px, y_px : float
            Screen px, NaN = lost.

        Returns
        -------
        list of (onset_ns, offset_ns)
            The fixations that are settled now; mostly none.
        """
        out: list[EventArray] = []
        if self._newest_ns is not None and time_ns <= self._newest_ns:
            if time_ns >= self._newest_ns - CLOCK_RESET_S * 1e9:
                return self._give(out)
            out += self._end_segment()
        self._newest_ns = time_ns
        x_deg, y_deg = self._screen.to_deg([x_px], [y_px])
        last = self._last_valid_ns()
        if last is not None and (time_ns - last) / 1e9 > self._bridge_s():
            out += self._end_segment()
        if not lost_samples(np.array([x_px]), np.array([y_px]), x_deg, y_deg)[0]:
            self._take(_Place(time_ns, time_ns, float(x_deg[0]), float(y_deg[0]), x_px, y_px))
        return self._give(out + self._settled(time_ns))

    def close(self) -> list[Interval]:
        """End the stream; what is still open ends with its last sample."""
        return self._give(self._end_segment())

    def _give(self, events: list[EventArray]) -> list[Interval]:
        self.last_events = np.concatenate(events) if events else empty_events()
        return [(int(e["onset_ns"]), int(e["offset_ns"])) for e in self.last_events]

    def _start_segment(self) -> None:
        self._places: list[_Place] = []
        self._n_given = 0  # 1 if the first place is the end of a fixation given out already
        self._cut: Segmentation | None = None

    def _last_valid_ns(self) -> int | None:
        if self._bin is not None:
            return self._bin.last_ns
        return self._places[-1].last_ns if self._places else None

    def _bridge_s(self) -> float:
        return GAP_S + (self._usual_s if np.isfinite(self._usual_s) else GAP_S)

    def _take(self, sample: _Place) -> None:
        """Average samples that come fast; pass each mean on when it is complete."""
        last = self._last_valid_ns()
        if last is not None:
            self._steps_s.append((sample.first_ns - last) / 1e9)
        if self._bin is None:
            self._bin = sample
        else:
            self._bin.add(sample)
        span_s = (self._bin.last_ns - self._bin.first_ns) / 1e9
        if not np.isfinite(self.interval_s) or span_s + self.interval_s >= BIN_S:
            done, self._bin = self._bin, None
            self._append(done)

    def _append(self, place: _Place) -> None:
        if self._places:
            before = self._places[-1]
            self._jumps_deg.append(abs(place.x_deg - before.x_deg))
            self._jumps_deg.append(abs(place.y_deg - before.y_deg))
            self._n_measured += 1
        if self._n_measured >= WARM_UP and self._n_measured % REFRESH == 0:
            self._measure()
        self._drop_spike(place)
        self._places.append(place)
        if self._n_measured >= WARM_UP:
            self._push_pending()

    def _measure(self) -> None:
        self.interval_s = float(np.median(self._steps_s))
        self._usual_s = float(np.quantile(self._steps_s, 0.9))
        self.noise_deg = float(MAD_TO_SD * np.median(self._jumps_deg) / np.sqrt(2))

    def _drop_spike(self, place: _Place) -> None:
        """Take the newest place out if it lies far from both its neighbours while these lie together."""
        if len(self._places) - self._n_given < 2:
            return
        before, middle = self._places[-2], self._places[-1]
        if place.time_s - before.time_s > SPIKE_SPAN_S:
            return
        least = max(SPIKE_DEG, SPIKE_SIGMAS * self.noise_deg)
        nearer = min(_distance(before, middle), _distance(middle, place))
        if nearer > least and _distance(before, place) < nearer / 2:
            self._places.pop()
            if self._cut is not None and len(self._cut) > len(self._places) - self._n_given:
                self._cut.pop()

    def _push_pending(self) -> None:
        if self._cut is None:
            self._cut = Segmentation(self.noise_deg, self.interval_s)
        self._cut.noise_deg = self.noise_deg
        for place in self._places[self._n_given + len(self._cut) :]:
            self._cut.push(place.time_s, place.x_deg, place.y_deg)

    def _settled(self, now_ns: int) -> list[EventArray]:
        """Give out what ended longer than the lag ago."""
        out: list[EventArray] = []
        while self._cut is not None and len(self._cut):
            pieces, is_open = self._cut.pieces(ended=False)
            ended = pieces[: len(pieces) - is_open]
            if not ended or now_ns - self._places[ended[0][1] + self._n_given].last_ns < self._lag_ns:
                break
            out += self._commit(ended[0])
        if self._places and (now_ns - self._places[0].first_ns) / 1e9 > MAX_OPEN_S:
            out += self._end_segment()
        return out

    def _commit(self, piece: tuple[int, int]) -> list[EventArray]:
        """Give one fixation out and start afresh after it, its last place kept as the one before."""
        first, last = piece[0] + self._n_given, piece[1] + self._n_given
        out = self._events([(first, last)])
        self._places, self._n_given, self._cut = self._places[last:], 1, None
        self._push_pending()
        return out

    def _end_segment(self) -> list[EventArray]:
        if self._bin is not None:
            done, self._bin = self._bin, None
            self._append(done)
        out: list[EventArray] = []
        if len(self._places) > self._n_given:
            if not np.isfinite(self.interval_s) and self._steps_s:
                self._measure()
            self._push_pending()
            assert self._cut is not None
            pieces, _ = self._cut.pieces(ended=True)
            out = self._events([(a + self._n_given, b + self._n_given) for a, b in pieces])
        self._start_segment()
        return out

    def _events(self, pieces: list[tuple[int, int]]) -> list[EventArray]:
        """Trim pieces (positions in the places) and make events of those that are long enough."""
        places = self._places
        time_s = np.array([p.time_s for p in places]) - places[0].time_s
        x, y = np.array([p.x_deg for p in places]), np.array([p.y_deg for p in places])
        out = []
        for first, last in trim(pieces, time_s, x, y, self.noise_deg, 0 if self._n_given else None):
            onset, offset = self._bounds(first, last)
            n = sum(p.n for p in places[first : last + 1])
            if offset - onset >= round(MIN_FIXATION_S * 1e9) and n > 1:
                event = empty_events(1)
                event["kind"], event["onset_ns"], event["offset_ns"] = EventKind.FIXATION, onset, offset
                event["x_px"] = sum(p.x_px * p.n for p in places[first : last + 1]) / n
                event["y_px"] = sum(p.y_px * p.n for p in places[first : last + 1]) / n
                event["n_samples"] = n
                out.append(event)
        return out

    def _bounds(self, first: int, last: int) -> Interval:
        places = self._places
        most = int(self.interval_s * 1e9 / 2) if np.isfinite(self.interval_s) else 0
        before = (places[first].first_ns - places[first - 1].last_ns) // 2 if first else 0
        after = (places[last + 1].first_ns - places[last].last_ns - 1) // 2 if last + 1 < len(places) else 0
        return places[first].first_ns - min(before, most), places[last].last_ns + min(after, most)


def _distance(a: _Place, b: _Place) -> float:
    return float(np.hypot(a.x_deg - b.x_deg, a.y_deg - b.y_deg))
