"""Where a fixation that segmentation found begins and ends, and how positions become times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Piece = tuple[int, int]

FAST_DEG_S = 30.0
"""The velocity threshold of I-VT (Tobii white paper)."""
NOISE_FACTOR = 3.5
"""A speed is believed if it exceeds this many SDs of the speed that noise alone makes."""
SETTLING_S = 0.045
"""A saccade of a few degrees (21 ms + 2.2 ms a degree: Carpenter 1988) with its overshoot takes this long."""
SPEED_NOISE_FLOOR_DEG = 0.02


def trim(
    pieces: Sequence[Piece],
    time_s: Floats,
    x_deg: Floats,
    y_deg: Floats,
    noise_deg: float,
    earlier: int | None = None,
) -> list[Piece]:
    """Take the saccade's tail off the fixations' ends.

    A piece that begins right after another was reached by a saccade between two samples. Where noise allows,
    samples faster than 30 degrees a second are cut off either end; where it does not, what lies within 45 ms
    of the last piece's end, since no eye can have settled by then.

    Parameters
    ----------
    pieces : list of (first, last)
        Ascending, not overlapping.
    time_s, x_deg, y_deg : numpy.ndarray, shape (n,)
    noise_deg : float
    earlier : int, optional
        Position of the last sample of the fixation before `pieces`.

    Returns
    -------
    list of (first, last)
        At least one sample is left of each.
    """
    if not pieces:
        return []
    steps_s = np.diff(time_s)
    speed = np.concatenate([[0.0], np.hypot(np.diff(x_deg), np.diff(y_deg)) / steps_s])
    noise_speed = max(noise_deg, SPEED_NOISE_FLOOR_DEG) * np.sqrt(2) / np.concatenate([[np.inf], steps_s])
    least = np.maximum(FAST_DEG_S, NOISE_FACTOR * noise_speed)
    too_fast = speed > least
    blurred = least > FAST_DEG_S
    out: list[Piece] = []
    for first, last in pieces:
        if earlier is not None and earlier == first - 1:
            while first < last and blurred[first] and time_s[first] < time_s[earlier] + SETTLING_S:
                first += 1
        earlier = last
        while first < last and too_fast[first]:
            first += 1
        while last > first and too_fast[last]:
            last -= 1
        out.append((first, last))
    return out


def bounds_ns(pieces: Sequence[Piece], time_ns: Ints, interval_s: float, segment: tuple[int, int]) -> Ints:
    """Turn positions into times: a sample stands for the time up to midway to its neighbours.

    Parameters
    ----------
    pieces : list of (first, last)
        Positions in `time_ns`.
    time_ns : numpy.ndarray, shape (n,)
    interval_s : float
        A sample stands for no more than half this on either side.
    segment : (start, stop)
        Beyond it lies a loss, into which no event reaches.

    Returns
    -------
    numpy.ndarray, shape (len(pieces), 2), int64
        Onset and offset, both inclusive; not overlapping.
    """
    out = np.empty((len(pieces), 2), np.int64)
    most = int(interval_s * 1e9 / 2) if np.isfinite(interval_s) else 0
    start, stop = segment
    for row, (first, last) in enumerate(pieces):
        before = int(time_ns[first] - time_ns[first - 1]) // 2 if first > start else 0
        after = (int(time_ns[last + 1] - time_ns[last]) - 1) // 2 if last + 1 < stop else 0
        out[row] = time_ns[first] - min(before, most), time_ns[last] + min(after, most)
    return out
