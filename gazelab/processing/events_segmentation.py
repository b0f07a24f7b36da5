"""Fixations in coarse or noisy gaze: the most likely cut of a segment into still pieces and single samples.

A fixation is a run of samples about one place with Gaussian noise; every other sample (a saccade in flight,
an overshoot, an outlier) stands alone. With the noise SD s, the cut minimises

    sum over fixations [FIXATION_COST + sum |z - mean|² / (2 s²)] + LONE_COST x (number of other samples)

by dynamic programming, exact but for the pruning, one sample at a time, so that the same code serves a
recording and a live stream. Both costs read as negative log likelihoods (a lone sample may lie anywhere in
some 120 s²); their values were chosen on hand-labelled recordings thinned to 30 and 60 Hz, with and without
added noise. Times are real stamps throughout. The noise is taken to be independent from sample to sample:
where a device smooths, it wanders instead, and long fixations may be cut in two.

References
----------
Killick, Fearnhead, Eckley (2012). Optimal detection of changepoints with a linear computational cost. JASA
107, 1590-1598. 10.1080/01621459.2012.737745 (the pruning). Salvucci, Goldberg (2000). ETRA, 71-78.
10.1145/355017.355028 (why still pieces and not speeds at low rates).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIXATION_COST = 5.0
LONE_COST = 3.0
NOISE_FLOOR_DEG = 0.35
"""Within a fixation the eye drifts and makes movements below half a degree; less noise than this is not
believed."""
MIN_FIXATION_S = 0.060
MIN_SAMPLES = 2
BIN_S = 0.0125
"""The costs are set for samples of at most 80 Hz: faster ones are averaged over this time first."""
MAX_CANDIDATES = 128

Floats = NDArray[np.float64]
Piece = tuple[int, int]

# Columns of the table of candidates: places where the open fixation may have begun.
_START, _COST, _SUM_X, _SUM_Y, _SUM_SQ, _TIME = range(6)


@dataclass(frozen=True, slots=True)
class Begun:
    """The part of a fixation that is settled: count, sums of x, y and x² + y², and its first time."""

    n: int
    sum_x: float
    sum_y: float
    sum_sq: float
    time_s: float


class Segmentation:
    """The best cut of the samples so far, kept up to date.

    Parameters
    ----------
    noise_deg : float
        SD of one sample on one axis; raised to the floor of .35 degrees.
    interval_s : float
        The usual time between samples, which the last sample of a fixation stands for.
    begun : Begun, optional
        A fixation that is known to have begun before the first sample pushed and to have lasted up to it.
    """

    def __init__(self, noise_deg: float, interval_s: float, begun: Begun | None = None) -> None:
        self.noise_deg = noise_deg
        self.interval_s = interval_s
        self._sums: list[tuple[float, float, float]] = [(0.0, 0.0, 0.0)]
        # Best cost of the first k samples whose last sample is alone, or ends a fixation.
        self._alone: list[float] = [0.0]
        self._fixated: list[float] = [math.inf]
        self._start: list[int] = [-1]  # where the fixation ending at k began
        self._open: list[tuple[float, int]] = [(math.inf, -1)]  # the same if it may still go on
        self._candidates = np.zeros((0, 6))
        if begun is not None:
            self._go_on(begun)

    def _go_on(self, begun: Begun) -> None:
        """Begin inside a fixation: the samples so far are known by their sums alone."""
        n, sums = begun.n, (begun.sum_x, begun.sum_y, begun.sum_sq)
        self._candidates = np.array([[-n, FIXATION_COST, *(-s for s in sums), begun.time_s]])
        self._alone = [math.inf]
        self._fixated = [float(self._totals(0, (0.0, 0.0, 0.0))[0])]
        self._start = [-n]

    def __len__(self) -> int:
        return len(self._alone) - 1

    def push(self, time_s: float, x_deg: float, y_deg: float) -> None:
        """Add a sample; its time is after the one before."""
        n = len(self)
        before = self._sums[-1]
        opening = min(self._alone[n], self._fixated[n]) + FIXATION_COST
        newest = np.array([[n, opening, *before, time_s]])
        self._candidates = np.concatenate([self._candidates, newest])
        sums = (before[0] + x_deg, before[1] + y_deg, before[2] + x_deg**2 + y_deg**2)
        self._sums.append(sums)
        total = self._totals(n + 1, sums)
        self._alone.append(min(self._alone[n], self._fixated[n]) + LONE_COST)
        first = int(total.argmin())
        self._open.append((float(total[first]), int(self._candidates[first, _START])))
        self._close(n + 1, time_s, total)
        if len(total) > MAX_CANDIDATES:
            self._prune(total)

    def pieces(self, ended: bool) -> tuple[list[Piece], bool]:
        """Trace the best cut back.

        Parameters
        ----------
        ended : bool
            No sample follows: a fixation at the end must have its least duration. Otherwise one may have
            just begun.

        Returns
        -------
        pieces : list of (first, last)
            The fixations, oldest first, as positions of samples pushed; `first` is negative, and `last` may
            be -1, for the fixation that had begun before.
        is_open : bool
            The last one reaches the newest sample, so it may go on.
        """
        k = len(self)
        found: list[Piece] = []
        closing, start = (self._fixated[k], self._start[k]) if ended else self._open[k]
        fixating = closing < self._alone[k]
        is_open = fixating
        while k >= 0:
            if fixating:
                found.append((start, k - 1))
                k = start
            else:
                k -= 1
            if k >= 0:
                fixating, start = self._fixated[k] < self._alone[k], self._start[k]
        return found[::-1], is_open

    def _totals(self, k: int, sums: tuple[float, float, float]) -> Floats:
        """Cost of the first k samples if the last of them belong to a fixation since each candidate."""
        c = self._candidates
        weight = 0.5 / max(self.noise_deg, NOISE_FLOOR_DEG) ** 2
        x, y = sums[0] - c[:, _SUM_X], sums[1] - c[:, _SUM_Y]
        scatter = sums[2] - c[:, _SUM_SQ] - (x * x + y * y) / (k - c[:, _START])
        out: Floats = c[:, _COST] + weight * scatter
        return out

    def _close(self, k: int, time_s: float, total: Floats) -> None:
        """Find the best fixation of at least the least duration that ends with sample k."""
        latest = time_s + self.interval_s - MIN_FIXATION_S + 1e-9
        n = int(self._candidates[:, _TIME].searchsorted(latest, side="right"))
        n = min(n, int(self._candidates[:, _START].searchsorted(k - MIN_SAMPLES, side="right")))
        if not n:
            self._fixated.append(math.inf)
            self._start.append(-1)
            return
        best = int(total[:n].argmin())
        self._fixated.append(float(total[best]))
        self._start.append(int(self._candidates[best, _START]))

    def _prune(self, total: Floats) -> None:
        """Drop candidates that can no longer win, and of the older half all but the best."""
        k = len(self)
        keep = total < min(self._alone[k], self._fixated[k]) + FIXATION_COST
        half = len(total) // 2
        keep[:half] = False
        keep[int(total[:half].argmin())] = True
        keep[-8:] = True
        self._candidates = self._candidates[keep]
