"""Where a fixation that segmentation found begins and ends, and how positions become times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Piece = tuple[int, int]

FAST_DEG_S = 30.0
"""The velocity threshold of I-VT (Tobii white paper)."""
NOISE_FACTOR = 3.5
"""A speed is believed if it exceeds this many SDs of the speed that noise alone makes."""
SETTLING_S = 0.045
"""A saccade of a few degrees (21 ms + 2.2 ms a degree: Carpenter 1988) with its overshoot takes this long."""
SPEED_NOISE_FLOOR_DEG = 0.02


@dataclass(frozen=True, eq=False)
class Motion:
    """How fast the eye moved to each sample, and which speeds can be believed.

    Attributes
    ----------
    time_s : numpy.ndarray, shape (n,)
    too_fast : numpy.ndarray of bool, shape (n,)
        Reached faster than 30 degrees a second, and faster than noise would explain.
    blurred : numpy.ndarray of bool, shape (n,)
        Noise hides even twice that speed.
    """

    time_s: Floats
    too_fast: Bools
    blurred: Bools

    @classmethod
    def between(cls, time_s: Floats, x_deg: Floats, y_deg: Floats, noise_deg: float) -> Motion:
        """Measure the speed from each sample to the next; the first has none."""
        steps_s = np.diff(time_s)
        speed = np.hypot(np.diff(x_deg), np.diff(y_deg)) / steps_s
        noise_speed = max(noise_deg, SPEED_NOISE_FLOOR_DEG) * np.sqrt(2) / steps_s
        least = np.maximum(FAST_DEG_S, NOISE_FACTOR * noise_speed)
        first = np.zeros(1, bool)
        return cls(
            time_s,
            np.concatenate([first, speed > least])[: len(time_s)],
            np.concatenate([first, least > 2 * FAST_DEG_S])[: len(time_s)],
        )


def trim(pieces: Sequence[Piece], motion: Motion) -> list[Piece]:
    """Take the saccade's tail off the ends of fixations that segmentation found.

    Returns
    -------
    list of (first, last)
        At least one sample is left of each.
    """
    out: list[Piece] = []
    earlier = None
    for first, last in pieces:
        out.append((settled(first, last, motion, earlier), left(first, last, motion)))
        earlier = last
    return [(first, last) for first, last in out if first <= last]


def settled(first: int, last: int, motion: Motion, earlier: int | None = None) -> int:
    """Find the sample of a piece at which the eye has settled.

    A piece that begins right after another was reached by a saccade between two samples. Where noise allows,
    samples faster than 30 degrees a second are cut off; where it does not, what lies within 45 ms of the
    earlier piece's end, since no eye can have settled by then.

    Parameters
    ----------
    first, last : int
        The piece.
    earlier : int, optional
        Position of the last sample of the piece before.
    """
    if earlier is not None and earlier == first - 1:
        until_s = motion.time_s[earlier] + SETTLING_S
        while first < last and motion.blurred[first] and motion.time_s[first] < until_s:
            first += 1
    while first < last and motion.too_fast[first]:
        first += 1
    return first


def left(first: int, last: int, motion: Motion) -> int:
    """Find the last sample of a piece that was not yet reached by the next saccade."""
    while last > first and motion.too_fast[last]:
        last -= 1
    return last


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
    first, last = np.array(pieces, np.int64).reshape(-1, 2).T
    most = int(interval_s * 1e9 / 2) if np.isfinite(interval_s) else 0
    start, stop = segment
    before = np.where(first > start, (time_ns[first] - time_ns[np.maximum(first - 1, 0)]) // 2, 0)
    after = np.where(last + 1 < stop, (time_ns[np.minimum(last + 1, stop - 1)] - time_ns[last] - 1) // 2, 0)
    onset, offset = time_ns[first] - np.minimum(before, most), time_ns[last] + np.minimum(after, most)
    return np.stack([onset, offset], axis=-1)
