"""How well detected fixations agree with known ones, event by event."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_OVERLAP = 0.5
BLIND_PIECE_NS = 300_000_000


def event_f1(known_ns: ArrayLike, found_ns: ArrayLike, least_overlap: float = LEAST_OVERLAP) -> float:
    """F1 score of events matched one to one.

    Parameters
    ----------
    known_ns, found_ns : array, shape (n, 2) and (m, 2)
        Onset and offset of each event.
    least_overlap : float
        Intersection over union from which a pair may match; the best pairs are matched first.

    Returns
    -------
    float
        2 matches / (n + m); NaN if both are empty.

    References
    ----------
    Hooge et al. (2018), 10.3758/s13428-017-0955-x (event F1); Startsev, Zemblys (2023),
    10.3758/s13428-021-01763-7 (intersection over union of .5 as a matching rule).
    """
    known = np.asarray(known_ns, float).reshape(-1, 2)
    found = np.asarray(found_ns, float).reshape(-1, 2)
    if not len(known) + len(found):
        return float("nan")
    both = np.minimum(known[:, None, 1], found[None, :, 1]) - np.maximum(known[:, None, 0], found[None, :, 0])
    either = np.maximum(known[:, None, 1], found[None, :, 1]) - np.minimum(
        known[:, None, 0], found[None, :, 0]
    )
    overlap = np.where(both > 0, both / np.maximum(either, 1), 0.0)
    pairs = np.argwhere(overlap >= max(least_overlap, 1e-12))
    order = np.argsort(-overlap[pairs[:, 0], pairs[:, 1]], kind="stable")
    taken_known, taken_found = set(), set()
    for i, j in pairs[order].tolist():
        if i not in taken_known and j not in taken_found:
            taken_known.add(i)
            taken_found.add(j)
    return 2 * len(taken_known) / (len(known) + len(found))


def blind_pieces(onset_ns: int, offset_ns: int, piece_ns: int = BLIND_PIECE_NS) -> NDArray[np.int64]:
    """Cut a stretch into equal pieces without looking at the gaze: the floor for an event detector.

    Returns
    -------
    numpy.ndarray, shape (n, 2)
        Onset and offset, ns.
    """
    edges = np.arange(onset_ns, offset_ns + 1, piece_ns, dtype=np.int64)
    return np.stack([edges[:-1], edges[1:]], -1)
