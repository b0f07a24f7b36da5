"""Brings eye features from the acquisition thread to the window's calibration."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import GazeArray


class FeatureQueue:
    """A sink that keeps the newest features until the calibration takes them."""

    def __init__(self, limit: int = 4096) -> None:
        self._rows: deque[np.void] = deque(maxlen=limit)

    def gaze(self, samples: GazeArray) -> None:
        """Leave samples alone: a calibration learns from features."""

    def features(self, rows: NDArray[np.void]) -> None:
        """Keep rows, shape (n,), FEATURE_DTYPE."""
        self._rows.extend(rows)

    def take(self) -> list[tuple[np.void | None, int]]:
        """Give what came since the last call: (features, time_ns), oldest first."""
        taken: list[tuple[np.void | None, int]] = []
        while self._rows:
            row = self._rows.popleft()
            taken.append((row, int(row["time_ns"])))
        return taken
