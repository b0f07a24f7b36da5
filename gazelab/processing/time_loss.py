"""How much time a stretch of samples really covers: losses, frames that never came, long gaps, uneven steps.

A sample with gaze stands for the time up to the next stamp. A step of more than one and a half typical
intervals holds frames that never came: of it one interval is covered and the rest is lost. So a device that
writes lost samples and one that writes nothing come to the same loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MISSING_FACTOR = 1.5
"""A step longer than this many typical intervals holds a frame that never came."""
UNEVEN_SHARE = 0.5
"""A step is uneven if it differs from the typical interval by more than this share of it."""


def forward_rows(time_ns: ArrayLike) -> Bools:
    """Tell which stamps lie after every earlier one; nothing is sorted.

    Parameters
    ----------
    time_ns : array, shape (n,), int64
        In the order of recording.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
    """
    t = np.asarray(time_ns, np.int64)
    out = np.ones(len(t), bool)
    out[1:] = t[1:] > np.maximum.accumulate(t)[:-1]
    return out


def typical_interval_ns(time_ns: ArrayLike) -> float:
    """Median step between stamps in order; NaN with fewer than two."""
    steps = np.diff(np.asarray(time_ns, np.int64))
    return float(np.median(steps)) if steps.size else float("nan")


def time_loss(time_ns: ArrayLike, has_gaze: ArrayLike, onset_ns: int, offset_ns: int) -> float:
    """Share of a stretch of time without gaze, whether samples were lost or never came.

    Parameters
    ----------
    time_ns : array, shape (n,), int64
        Strictly ascending, within the stretch.
    has_gaze : array of bool, shape (n,)
    onset_ns, offset_ns : int
        The stretch, [onset, offset).

    Returns
    -------
    float
        0..1; NaN for a stretch of no length. 1 with fewer than two samples: nothing says for how long a
        single one stands.
    """
    t, seen = np.asarray(time_ns, np.int64), np.asarray(has_gaze, bool)
    if offset_ns <= onset_ns:
        return float("nan")
    interval = typical_interval_ns(t)
    if not np.isfinite(interval) or not seen.any():
        return 1.0
    steps = np.diff(np.append(t, offset_ns)).astype(float)
    covered = np.where(steps > MISSING_FACTOR * interval, interval, steps)[seen].sum()
    head = float(t[0] - onset_ns)
    if seen[0] and head <= MISSING_FACTOR * interval:
        covered += head
    return float(np.clip(1.0 - covered / (offset_ns - onset_ns), 0.0, 1.0))


def longest_gap_s(time_ns: ArrayLike, has_gaze: ArrayLike, onset_ns: int, offset_ns: int) -> float:
    """Longest time from one sample with gaze to the next, the stretch's own ends included.

    Returns
    -------
    float
        Seconds; the whole stretch where there is no gaze at all.
    """
    seen = np.asarray(time_ns, np.int64)[np.asarray(has_gaze, bool)]
    edges = np.concatenate([[onset_ns], seen, [max(offset_ns, onset_ns)]]).astype(np.int64)
    return float(np.diff(edges).max()) / 1e9


def uneven_share(time_ns: ArrayLike) -> float:
    """Share of the steps between stamps that are off by more than half the typical one.

    Returns
    -------
    float
        0..1; NaN with fewer than two stamps.
    """
    steps = np.diff(np.asarray(time_ns, np.int64)).astype(float)
    if not steps.size:
        return float("nan")
    typical = float(np.median(steps))
    return float((np.abs(steps - typical) > UNEVEN_SHARE * typical).mean())


def repeated_share(x_px: ArrayLike, y_px: ArrayLike) -> float:
    """Share of the steps between neighbouring samples with gaze that end exactly where they began.

    Noise moves every measured gaze: the same place twice is the same picture twice, from a camera that stands
    still or doubles its frames.

    Parameters
    ----------
    x_px, y_px : array, shape (n,)
        NaN where gaze is lost.

    Returns
    -------
    float
        0..1; NaN without such a step.
    """
    dx, dy = np.diff(np.asarray(x_px, float)), np.diff(np.asarray(y_px, float))
    there = np.isfinite(dx) & np.isfinite(dy)
    return float(((dx == 0) & (dy == 0))[there].mean()) if there.any() else float("nan")


def split_at_gaps(time_ns: ArrayLike, values: Floats, interval_ns: float) -> Floats:
    """Put a row of NaN wherever frames never came, so that no difference of neighbours bridges them.

    Parameters
    ----------
    time_ns : array, shape (n,), int64
        Strictly ascending.
    values : numpy.ndarray, shape (n, k)
    interval_ns : float
        The recording's typical one: a short stretch's own would hide that every second frame never came.

    Returns
    -------
    numpy.ndarray, shape (n + number of such steps, k)
    """
    steps = np.diff(np.asarray(time_ns, np.int64)).astype(float)
    holes = np.flatnonzero(steps > MISSING_FACTOR * interval_ns) + 1
    out: Floats = np.insert(values, holes, np.nan, axis=0)
    return out
