"""I-VT on real timestamps: fixations are where the eye is slower than 30 degrees a second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.processing.events_samples import WINDOW_S, Samples

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
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
    first = np.searchsorted(time_s, time_s - half, "left")
    last = np.searchsorted(time_s, time_s + half, "right") - 1
    lone = first == last
    first = np.where(lone, np.maximum(np.arange(n) - 1, 0), first)
    last = np.where(lone & (first == last), 1, last)
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
    out: list[Piece] = []
    for first, last in pieces:
        if out and time_s[first] - time_s[out[-1][1]] <= MERGE_S:
            a, b = slice(out[-1][0], out[-1][1] + 1), slice(first, last + 1)
            if np.hypot(x_deg[a].mean() - x_deg[b].mean(), y_deg[a].mean() - y_deg[b].mean()) <= MERGE_DEG:
                out[-1] = (out[-1][0], last)
                continue
        out.append((first, last))
    return out
