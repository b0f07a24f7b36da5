"""Where the open fixation may have begun: one candidate each, kept in order, and what the samples cost then.

Two tables with the same answers, bit for bit: plain floats are quicker for the handful of candidates of a
live stream, arrays for the hundred of a recording.
"""

from __future__ import annotations

import math
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sums = tuple[float, float, float, float]
"""Of the weights, of weight times x and y, and of weight times the squared length."""

FEW = 12
MAX_CANDIDATES = 128
RECENT = 8
"""The newest candidates are never dropped."""

_START, _COST, _W, _WX, _WY, _WQ, _TIME = range(7)


class FewCandidates:
    """A handful, as plain floats."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, ...]] = []
        self._starts: list[int] = []
        self._times: list[float] = []
        self._totals: list[float] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, start: int, cost: float, own: Sums, time_s: float) -> None:
        """Add the newest: the fixation would begin at sample `start`, which was at `time_s`.

        Parameters
        ----------
        start : int
        cost : float
            Of the samples before it and of one more fixation.
        own : Sums
            To add to the sums of all samples so that those since `start` come out.
        time_s : float
        """
        self.rows.append((start, cost, *own, time_s))
        self._starts.append(start)
        self._times.append(time_s)

    def weigh(self, sums: Sums) -> tuple[float, int]:
        """Cost the samples so far, if they belong to a fixation since each candidate; give the least.

        Returns
        -------
        cost : float
        start : int
        """
        w, wx, wy, wq = sums
        totals = []
        for _, cost, c_w, c_wx, c_wy, c_wq, _ in self.rows:
            x, y = wx + c_wx, wy + c_wy
            totals.append(cost + (wq + c_wq) - (x * x + y * y) / (w + c_w))
        self._totals = totals
        least = min(totals)
        return least, self._starts[totals.index(least)]

    def best_until(self, time_s: float, start: int) -> tuple[float, int]:
        """Give the least cost, as last weighed, among those at `time_s` or before and up to `start`.

        Returns
        -------
        cost : float
            Infinite without one.
        start : int
            -1 without one.
        """
        n = bisect_right(self._times, time_s)
        n = min(n, bisect_right(self._starts, start))
        if not n:
            return math.inf, -1
        least = min(self._totals[:n])
        return least, self._starts[self._totals.index(least)]

    def prune(self, limit: float) -> None:
        """Keep all: there are few."""


class ManyCandidates:
    """Up to `MAX_CANDIDATES`, as columns of one array.

    Parameters
    ----------
    few : FewCandidates
        To begin with.
    """

    def __init__(self, few: FewCandidates) -> None:
        self._table = np.empty((7, MAX_CANDIDATES + 1))
        self._n = len(few)
        self._table[:, : self._n] = np.array(few.rows).T
        self._totals: Floats = np.empty(0)

    def __len__(self) -> int:
        return self._n

    def add(self, start: int, cost: float, own: Sums, time_s: float) -> None:
        """As `FewCandidates.add`."""
        self._table[:, self._n] = start, cost, *own, time_s
        self._n += 1

    def weigh(self, sums: Sums) -> tuple[float, int]:
        """As `FewCandidates.weigh`."""
        c = self._table[:, : self._n]
        w, wx, wy, wq = sums
        x, y = wx + c[_WX], wy + c[_WY]
        self._totals = c[_COST] + (wq + c[_WQ]) - (x * x + y * y) / (w + c[_W])
        first = int(self._totals.argmin())
        return float(self._totals[first]), int(c[_START, first])

    def best_until(self, time_s: float, start: int) -> tuple[float, int]:
        """As `FewCandidates.best_until`."""
        c = self._table[:, : self._n]
        n = int(c[_TIME].searchsorted(time_s, side="right"))
        n = min(n, int(c[_START].searchsorted(start, side="right")))
        if not n:
            return math.inf, -1
        best = int(self._totals[:n].argmin())
        return float(self._totals[best]), int(c[_START, best])

    def prune(self, limit: float) -> None:
        """If there are too many, drop those that cost `limit` or more, and the older half save its best."""
        totals = self._totals
        if len(totals) <= MAX_CANDIDATES:
            return
        keep = totals < limit
        half = len(totals) // 2
        keep[:half] = False
        keep[int(totals[:half].argmin())] = True
        keep[-RECENT:] = True
        kept = self._table[:, : self._n][:, keep]
        self._n = kept.shape[1]
        self._table[:, : self._n] = kept
