"""The samples of one target while they come in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import FEATURE_DTYPE
from gazelab.processing.features import eyes_closed


class SampleLog:
    """Samples of one target in order of time, and which of them can be learnt from."""

    def __init__(self, blink_pad_ns: int) -> None:
        self.times: list[int] = []
        self._pad_ns = blink_pad_ns
        self._rows: list[np.void] = []
        self._open: list[bool] = []
        self._shut: list[bool] = []

    def __len__(self) -> int:
        return len(self.times)

    def add(self, row: np.void, time_ns: int) -> bool:
        """Take a sample; one whose stamp doesn't grow is left out. Tell whether it was taken."""
        if self.times and time_ns <= self.times[-1]:
            return False
        closed = eyes_closed(row)
        self.times.append(time_ns)
        self._rows.append(row)
        self._open.append(bool(row["valid"]) and not bool(closed.all()))
        self._shut.append(bool(row["valid"]) and bool(closed.all()))
        return True

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[np.void]:
        """Give the samples from `first` to before `last`, FEATURE_DTYPE."""
        return np.array(self._rows[first:last], dtype=FEATURE_DTYPE)

    def usable(self, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """Tell which have open eyes and no blink within the padding."""
        times = np.array(self.times[first:last], np.int64)
        shut = times[np.array(self._shut[first:last], bool)]
        usable = np.array(self._open[first:last], bool)
        if len(shut):
            usable &= np.abs(times[:, None] - shut[None]).min(1) > self._pad_ns
        return usable
