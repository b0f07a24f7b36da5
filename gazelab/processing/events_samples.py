"""From raw columns to samples that a detector can trust: losses, bad stamps, spikes, segments, noise."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.geometry import Screen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

GAP_S = 0.075
"""Longest time without a sample, beyond the usual interval, that one event may bridge (Tobii white paper)."""
CLOCK_RESET_S = 1.0
"""A stamp that falls back by more than this starts a new clock; by less it is a bad stamp."""
SPIKE_DEG = 2.0
SPIKE_SIGMAS = 6.0
SPIKE_SPAN_S = 0.1
"""No eye goes there and back within this time: it needs some 150 ms between two saccades."""
WINDOW_S = 0.020
"""Over this time I-VT takes speeds (Tobii white paper)."""
MAX_ECCENTRICITY_DEG = 80.0
MAD_TO_SD = 1.4826
NOISE_PAIRS = 20_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Samples:
    """The usable samples of a recording, in degrees.

    Attributes
    ----------
    time_ns : numpy.ndarray, shape (n,), int64
        Strictly ascending within a segment.
    x_deg, y_deg : numpy.ndarray, shape (n,)
    index : numpy.ndarray, shape (n,), int64
        Where each sample stands in the input.
    segments : list of (start, stop)
        Slices without a gap over 75 ms and without a clock reset; an event lies in one segment.
    interval_s : float
        Median time between neighbours; NaN with fewer than two samples.
    noise_deg : float
        Robust SD of one sample on one axis, from the differences of neighbours.
    window_noise_deg : float
        The same from samples 20 ms apart, over which I-VT takes speeds: where noise wanders, neighbours alone
        would not show it.
    """

    time_ns: Ints
    x_deg: Floats
    y_deg: Floats
    index: Ints
    segments: list[tuple[int, int]]
    interval_s: float
    noise_deg: float
    window_noise_deg: float


def usable_samples(time_ns: ArrayLike, x_px: ArrayLike, y_px: ArrayLike, screen: Screen) -> Samples:
    """Leave out what is no gaze, cut where time breaks, and measure rate and noise.

    Left out: NaN; both coordinates exactly 0, the usual code for a lost sample, or farther than 80 degrees
    from straight ahead, as other codes are; stamps that repeat or fall back a little; single-sample spikes.
    The raw columns are not changed.

    Parameters
    ----------
    time_ns : array, shape (n,), int
    x_px, y_px : array, shape (n,)
        Screen px, NaN = lost.
    screen : Screen
        With known size and distance.

    Raises
    ------
    ValueError
        The columns differ in length.
    """
    t = np.asarray(time_ns, np.int64)
    x, y = np.asarray(x_px, float), np.asarray(y_px, float)
    if not t.shape == x.shape == y.shape or t.ndim != 1:
        raise ValueError(f"time, x and y of shapes {t.shape}, {x.shape} and {y.shape}")
    in_order, clock = stamp_order(t)
    x_deg, y_deg = screen.to_deg(x, y)
    columns: tuple[NDArray[Any], ...] = (t, x_deg, y_deg, clock, np.arange(len(t)))
    columns = _kept(columns, in_order & ~lost_samples(x, y, x_deg, y_deg))
    t, x_deg, y_deg, clock, index = _kept(columns, ~spikes(*columns[:3]))
    all_steps_s = np.diff(t) / 1e9
    resets = np.flatnonzero(np.diff(clock)) if len(clock) and clock[-1] else np.zeros(0, np.int64)
    steps_s = np.delete(all_steps_s, resets) if resets.size else all_steps_s
    interval = float(np.median(steps_s)) if steps_s.size else float("nan")
    segments = _segments(len(t), all_steps_s, steps_s, resets)
    apart = max(1, round(WINDOW_S / interval)) if interval < WINDOW_S else 1
    noise = sample_noise_deg(x_deg, y_deg), sample_noise_deg(x_deg, y_deg, apart)
    return Samples(t, x_deg, y_deg, index, segments, interval, *noise)


def _kept(columns: tuple[NDArray[Any], ...], keep: Bools) -> tuple[NDArray[Any], ...]:
    return columns if keep.all() else tuple(column[keep] for column in columns)


def lost_samples(x_px: Floats, y_px: Floats, x_deg: Floats, y_deg: Floats) -> Bools:
    """Tell which samples hold no gaze: NaN, the code (0, 0), or a place far outside the view."""
    near = x_deg * x_deg + y_deg * y_deg <= MAX_ECCENTRICITY_DEG**2  # False where NaN
    out: Bools = ~near | ((x_px == 0) & (y_px == 0))
    return out


def stamp_order(time_ns: Ints) -> tuple[Bools, Ints]:
    """Tell which stamps move forward, and number the clocks they belong to.

    Returns
    -------
    in_order : numpy.ndarray of bool, shape (n,)
        False for a stamp that repeats, or falls back by up to a second.
    clock : numpy.ndarray of int, shape (n,)
        0, and one more after each fall by more than a second: there the clock was reset.
    """
    n = len(time_ns)
    in_order, clock = np.ones(n, bool), np.zeros(n, np.int64)
    if n < 2 or (np.diff(time_ns) > 0).all():
        return in_order, clock
    newest, number = int(time_ns[0]), 0
    for i in range(1, n):
        now = int(time_ns[i])
        if now < newest - CLOCK_RESET_S * 1e9:
            number += 1
        in_order[i] = now > newest or number != clock[i - 1]
        clock[i] = number
        newest = now if in_order[i] else newest
    log.info("%d stamps out of order and %d clock resets in %d samples", int((~in_order).sum()), number, n)
    return in_order, clock


def spikes(time_ns: Ints, x_deg: Floats, y_deg: Floats) -> Bools:
    """Flag single samples that lie far from both neighbours while these lie together.

    Parameters
    ----------
    time_ns, x_deg, y_deg : numpy.ndarray, shape (n,)
        Valid samples.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        True where the eye would have to go 2 degrees (or 6 noise SDs) and come back within 100 ms.
    """
    flagged = np.zeros(len(time_ns), bool)
    if len(time_ns) < 3:
        return flagged
    least = max(SPIKE_DEG, SPIKE_SIGMAS * sample_noise_deg(x_deg, y_deg))
    square = np.diff(x_deg) ** 2 + np.diff(y_deg) ** 2
    i = np.flatnonzero(np.minimum(square[1:], square[:-1]) > least**2) + 1
    nearer = np.sqrt(np.minimum(square[i], square[i - 1]))
    across = np.hypot(x_deg[i + 1] - x_deg[i - 1], y_deg[i + 1] - y_deg[i - 1])
    span = (time_ns[i + 1] - time_ns[i - 1]) / 1e9
    flagged[i] = (across < nearer / 2) & (span > 0) & (span <= SPIKE_SPAN_S)
    # Of two flagged neighbours it cannot be told which one is wrong.
    return flagged & ~(np.roll(flagged, 1) | np.roll(flagged, -1))


def sample_noise_deg(x_deg: ArrayLike, y_deg: ArrayLike, apart: int = 1) -> float:
    """Robust SD of one sample on one axis: the median difference of samples so far apart, scaled.

    Of a long recording only some 20,000 pairs are looked at, evenly spread.

    Returns
    -------
    float
        Degrees; NaN with too few samples.
    """
    columns = np.asarray(x_deg, float), np.asarray(y_deg, float)
    every = max(1, len(columns[0]) // NOISE_PAIRS)
    steps = np.concatenate([column[apart::every] - column[:-apart:every] for column in columns])
    return float(MAD_TO_SD * np.median(np.abs(steps)) / np.sqrt(2)) if steps.size else float("nan")


def longest_bridge_s(steps_s: Floats) -> float:
    """Longest step between neighbours inside one segment: 75 ms more than the usual interval."""
    return GAP_S + float(np.quantile(steps_s, 0.9))


def _segments(n: int, all_steps_s: Floats, steps_s: Floats, resets: Ints) -> list[tuple[int, int]]:
    """Cut where the clock was reset and at long steps; `steps_s` are those within one clock."""
    if not n:
        return []
    cuts = resets
    if steps_s.size:
        cuts = np.union1d(resets, np.flatnonzero(all_steps_s > longest_bridge_s(steps_s)))
    return list(pairwise([0, *(cuts + 1).tolist(), n]))
