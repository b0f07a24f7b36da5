"""Which of several faces is the participant: faces have no identity, only a place."""

from __future__ import annotations

import math
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
    centre: tuple[float, float]
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
            chosen: int | None = max(range(len(boxes)), key=lambda i: boxes[i].width)
        else:
            chosen = _nearest(boxes, self._last, math.inf if expired else REACH)
        if chosen is not None:
            self._last, self._seen_ns = boxes[chosen], time_ns
        return chosen


def _nearest(boxes: list[_Box], last: _Box, reach: float) -> int | None:
    far = [math.dist(b.centre, last.centre) / max(last.width, 1.0) for b in boxes]
    first, *others = sorted(range(len(boxes)), key=far.__getitem__)
    if far[first] > reach or (others and far[first] > AMBIGUOUS * far[others[0]]):
        return None
    return first


def _box(landmarks_px: NDArray[np.floating]) -> _Box:
    left, top = landmarks_px.min(0).tolist()[:2]
    right, bottom = landmarks_px.max(0).tolist()[:2]
    return _Box(((left + right) / 2, (top + bottom) / 2), right - left)
