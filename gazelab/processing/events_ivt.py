"""I-VT on real timestamps: fixations are where the eye is slower than 30 degrees a second."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gazelab.processing.events_samples import WINDOW_S, Samples

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Piece = tuple[int, int]

FAST_DEG_S = 30.0
MERGE_DEG = 0.5
MERGE_S = 0.075


def speed_deg_s(time_s: Floats, x_deg: Floats, y_deg: Floats) -> Floats:
    """Speed over the samples within 10 ms on either side of each, from their real stamps.

    Parameters
    ----------
    time_s, x_deg, y_deg : numpy.ndarray, shape (n,)
        Strictly ascending times.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Where the window holds one sample only, the speed since the sample before; NaN for a single sample.
    """
    n = len(time_s)
    if n < 2:
        return np.full(n, np.nan)
    half = WINDOW_S / 2 + 1e-9
    steps = np.diff(time_s)
    reach = int(half / steps.max())
    if not reach or int(half / steps.min()) != reach or n <= 2 * reach:
        return _speed(*_windows(time_s, half), time_s, x_deg, y_deg)
    # Evenly spaced, as most recordings: the windows need no search.
    out = np.empty(n)
    x, y, t = (column[2 * reach :] - column[: -2 * reach] for column in (x_deg, y_deg, time_s))
    out[reach : n - reach] = np.sqrt(x * x + y * y) / t
    i = np.r_[:reach, n - reach : n]
    out[i] = _speed(np.maximum(i - reach, 0), np.minimum(i + reach, n - 1), time_s, x_deg, y_deg)
    return out


def _windows(time_s: Floats, half_s: float) -> tuple[Ints, Ints]:
    """Give the first and the last sample of the window around each."""
    first = np.searchsorted(time_s, time_s - half_s, "left")
    last = np.searchsorted(time_s, time_s + half_s, "right") - 1
    lone = first == last
    first = np.where(lone, np.maximum(np.arange(len(time_s)) - 1, 0), first)
    return first, np.where(lone & (first == last), 1, last)


def _speed(first: Ints, last: Ints, time_s: Floats, x_deg: Floats, y_deg: Floats) -> Floats:
    way = np.hypot(x_deg[last] - x_deg[first], y_deg[last] - y_deg[first])
    out: Floats = way / (time_s[last] - time_s[first])
    return out


def ivt_pieces(samples: Samples) -> list[list[Piece]]:
    """Find the fixations of every segment by their speed.

    Returns
    -------
    list of list of (first, last)
        For each segment the positions in it, both inclusive; short ones not yet discarded.
    """
    out = []
    for start, stop in samples.segments:
        part = slice(start, stop)
        t = (samples.time_ns[part] - samples.time_ns[start]) / 1e9
        out.append(slow_pieces(t, samples.x_deg[part], samples.y_deg[part]))
    return out


def slow_pieces(time_s: Floats, x_deg: Floats, y_deg: Floats) -> list[Piece]:
    """Find the runs of samples below 30 degrees a second, neighbours within .5 degrees and 75 ms merged.

    Returns
    -------
    list of (first, last)
        Positions in the segment, both inclusive; short ones not yet discarded.

    References
    ----------
    Olsen (2012). The Tobii I-VT fixation filter: algorithm description (thresholds, window, merging).
    Salvucci, Goldberg (2000). ETRA, 71-78. 10.1145/355017.355028
    """
    slow = ~(speed_deg_s(time_s, x_deg, y_deg) >= FAST_DEG_S)
    return merge(runs(slow), time_s, x_deg, y_deg)


def runs(mask: Bools) -> list[Piece]:
    """Find the runs of True: (first, last), both inclusive."""
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return list(
        zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True)
    )


def merge(pieces: list[Piece], time_s: Floats, x_deg: Floats, y_deg: Floats) -> list[Piece]:
    """Join neighbours whose mean places lie within .5 degrees and whose ends lie within 75 ms."""
    first, last = np.array(pieces, np.int64).reshape(-1, 2).T
    until = [np.concatenate([[0.0], np.cumsum(column)]) for column in (x_deg, y_deg)]
    sums = zip(*(column[end].tolist() for column in until for end in (first, last + 1)), strict=True)
    times = zip(time_s[first].tolist(), time_s[last].tolist(), strict=True)
    out: list[Piece] = []
    # Of the newest piece: its sums of x and y up to its first sample, its mean place, and when it ended.
    x_before = y_before = 0.0
    place, ended_s = (math.nan, math.nan), -math.inf
    for piece, (x_a, x_b, y_a, y_b), (begun_s, over_s) in zip(pieces, sums, times, strict=True):
        n = piece[1] + 1 - piece[0]
        here = (x_b - x_a) / n, (y_b - y_a) / n
        if begun_s - ended_s <= MERGE_S and math.dist(place, here) <= MERGE_DEG:
            out[-1] = (out[-1][0], piece[1])
            n = piece[1] + 1 - out[-1][0]
            here = (x_b - x_before) / n, (y_b - y_before) / n
        else:
            out.append(piece)
            x_before, y_before = x_a, y_a
        place, ended_s = here, over_s
    return out
