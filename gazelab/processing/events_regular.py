"""Gaze on an even grid, for detectors of others that count samples instead of reading stamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import EventArray, EventKind, empty_events
from gazelab.processing.events_samples import lost_samples, stamp_order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LONGEST_PAUSE_S = 10.0
"""A longer time without a sample is not filled: what follows is a stretch of its own."""
LEAST_SAMPLES = 10


@dataclass(frozen=True, eq=False)
class Stretch:
    """Evenly spaced gaze.

    Attributes
    ----------
    start_ns, interval_ns : int
    x_px, y_px : numpy.ndarray, shape (n,)
        NaN where gaze was lost or no sample came.
    """

    start_ns: int
    interval_ns: int
    x_px: Floats
    y_px: Floats

    @property
    def rate_hz(self) -> float:
        """Samples a second."""
        return 1e9 / self.interval_ns

    def has_gaze(self) -> bool:
        """Whether there is enough to look for a fixation."""
        return int(np.isfinite(self.x_px).sum()) >= LEAST_SAMPLES

    def event(self, first: int, last: int) -> EventArray:
        """Make a fixation of samples `first` to `last`, which stand for half an interval on either side."""
        part = slice(first, last + 1)
        half = self.interval_ns // 2
        row = empty_events(1)
        row["kind"], row["n_samples"] = EventKind.FIXATION, np.isfinite(self.x_px[part]).sum()
        row["onset_ns"] = self.start_ns + first * self.interval_ns - (half if first else 0)
        row["offset_ns"] = self.start_ns + last * self.interval_ns + half - 1
        if row["n_samples"][0]:
            row["x_px"], row["y_px"] = np.nanmean(self.x_px[part]), np.nanmean(self.y_px[part])
        return row


def even_stretches(time_ns: Ints, x_px: Floats, y_px: Floats) -> list[Stretch]:
    """Put gaze on grids of the usual interval, by the nearest sample; nothing is interpolated.

    Bad stamps are left out; a new clock, or a pause of more than ten seconds, begins a new stretch.

    Parameters
    ----------
    time_ns : numpy.ndarray, shape (n,), int64
    x_px, y_px : numpy.ndarray, shape (n,)
        Screen px, NaN = lost.
    """
    in_order, clock = stamp_order(time_ns)
    steps = np.diff(time_ns[in_order])
    steps = steps[steps > 0]
    if not steps.size:
        return []
    interval = int(np.median(steps))
    rows = np.flatnonzero(in_order)
    t = time_ns[rows]
    cuts = np.flatnonzero((np.diff(t) > LONGEST_PAUSE_S * 1e9) | (np.diff(clock[rows]) != 0)) + 1
    return [
        _stretch(t[part], x_px[rows[part]], y_px[rows[part]], interval)
        for part in np.split(np.arange(len(t)), cuts)
    ]


def _stretch(t: Ints, x: Floats, y: Floats, interval: int) -> Stretch:
    grid = t[0] + interval * np.arange(int((t[-1] - t[0]) // interval) + 1)
    after = np.clip(np.searchsorted(t, grid), 0, len(t) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(t[before] - grid) < np.abs(t[after] - grid), before, after)
    there = np.abs(t[nearest] - grid) <= 0.75 * interval
    x, y = (np.where(there, column[nearest], np.nan) for column in (x, y))
    gone = lost_samples(x, y, np.zeros(len(x)), np.zeros(len(x))) | ~np.isfinite(x) | ~np.isfinite(y)
    return Stretch(int(t[0]), interval, np.where(gone, np.nan, x), np.where(gone, np.nan, y))
