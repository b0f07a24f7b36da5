"""Which of several faces is the participant: faces have no identity, only a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REACH = 1.0
"""How far, in face widths, a face may lie from where the participant was last seen."""

AMBIGUOUS = 0.6
"""Two faces whose distances from that place have a ratio above this can't be told apart."""

FORGET_NS = 2_000_000_000
"""After this time without the participant, the largest face (with an anchor: the nearest) is taken again."""


@dataclass(frozen=True, slots=True)
class _Box:
    centre: NDArray[np.float64]
    width: float


class FaceChoice:
    """Keeps to the face nearest to the last (or the anchored) box."""

    def __init__(self) -> None:
        self._last: _Box | None = None
        self._seen_ns = 0
        self._anchored = False

    def anchor(self, landmarks_px: NDArray[np.floating]) -> None:
        """Take this face as the participant's: time alone never makes another, larger one of it."""
        self._last = _box(landmarks_px)
        self._anchored = True

    def pick(self, faces: Sequence[NDArray[np.floating]], time_ns: int) -> int | None:
        """Give the participant's position in `faces`; None if nobody can be taken for the participant.

        Parameters
        ----------
        faces : sequence of numpy.ndarray, shape (n, 2 or 3)
            Landmarks in camera px.
        time_ns : int
            The frame's time.
        """
        boxes = [_box(f) for f in faces]
        if not boxes:
            return None
        expired = time_ns - self._seen_ns > FORGET_NS
        if self._last is None or (expired and not self._anchored):
            chosen: int | None = int(np.argmax([b.width for b in boxes]))
        else:
            chosen = _nearest(boxes, self._last, np.inf if expired else REACH)
        if chosen is not None:
            self._last, self._seen_ns = boxes[chosen], time_ns
        return chosen


def _nearest(boxes: list[_Box], last: _Box, reach: float) -> int | None:
    far = np.array([np.linalg.norm(b.centre - last.centre) / max(last.width, 1.0) for b in boxes])
    first = int(np.argmin(far))
    others = np.delete(far, first)
    if far[first] > reach or (len(others) and far[first] > AMBIGUOUS * others.min()):
        return None
    return first


def _box(landmarks_px: NDArray[np.floating]) -> _Box:
    points = np.asarray(landmarks_px[:, :2], np.float64)
    low, high = points.min(0), points.max(0)
    return _Box((low + high) / 2, float(high[0] - low[0]))
