"""Fixations in coarse or noisy gaze: the most likely cut of a segment into still pieces and single samples.

A fixation is a run of samples about one place with Gaussian noise; every other sample (a saccade in flight,
an overshoot, an outlier) stands alone. With the noise SD s, the cut minimises

    sum over fixations [fixation cost + sum |z - mean|² / (2 s²)] + LONE_COST x (number of other samples)

by dynamic programming, exact but for the pruning, one sample at a time, so that the same code serves a
recording and a live stream. Both costs read as negative log likelihoods (a lone sample may lie anywhere in
some 120 s²); their values were chosen on hand-labelled recordings thinned to 30, 60 and 120 Hz, with and
without added noise. The more samples a second, the more places there are at which noise may seem to cut a
fixation, so the cost of one more rises with the rate. Times are real stamps throughout.

Where noise wanders (`events_noise`), a sample is compared with what the one before leads to expect: with the
share c of its error that is carried on, |z - mean|² / s² becomes
|z - c z' - (1 - c) mean|² / (s² (1 - c²)) for all but the first of a fixation. A saccade stands out all the
more, and slow wandering cuts nothing. Between unevenly spaced stamps c is raised to the power of the step.

References
----------
Killick, Fearnhead, Eckley (2012). Optimal detection of changepoints with a linear computational cost. JASA
107, 1590-1598. 10.1080/01621459.2012.737745 (the pruning). Romano, Rigaill, Runge, Fearnhead (2022).
Detecting abrupt changes in the presence of local fluctuations and autocorrelated noise. JASA 117, 2147-2162.
10.1080/01621459.2021.1909598 (noise that wanders). Salvucci, Goldberg (2000). ETRA, 71-78.
10.1145/355017.355028 (why still pieces and not speeds at low rates).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.processing.events_noise import Noise

FIXATION_COST = 5.0
COST_PER_OCTAVE = 3.0
"""Added for each doubling of the rate above 30 Hz."""
SLOW_RATE_HZ = 30.0
LONE_COST = 3.0
MIN_FIXATION_S = 0.060
MIN_SAMPLES = 2
BIN_S = 0.0125
"""The costs are set for samples of at most 80 Hz: faster ones are averaged over this time first."""
MAX_CANDIDATES = 128

Floats = NDArray[np.float64]
Piece = tuple[int, int]
Sums = tuple[float, float, float, float]
"""Of the weights, of weight times x and y, and of weight times the squared length."""

NO_SUMS: Sums = (0.0, 0.0, 0.0, 0.0)

# Rows of the table of candidates: where the open fixation may have begun, what it cost up to there, and its
# sums less those of the samples before.
_START, _COST, _W, _WX, _WY, _WQ, _TIME = range(7)


@dataclass(frozen=True, slots=True)
class Spot:
    """When and where a sample was."""

    time_s: float
    x_deg: float
    y_deg: float


@dataclass(frozen=True, slots=True)
class Begun:
    """The settled part of a fixation: how many samples, their sums, the first time, the last sample."""

    n: int
    sums: Sums
    time_s: float
    last: Spot


class Weights:
    """What one sample adds to the sums of a fixation.

    Parameters
    ----------
    noise : Noise
        As measured.
    interval_s : float
        The usual time between samples.
    """

    def __init__(self, noise: Noise, interval_s: float) -> None:
        believed = noise.believed()
        self.interval_s = interval_s
        self._carry = believed.carry
        self._weight = 0.5 / believed.sd_deg**2

    @property
    def fixation_cost(self) -> float:
        """What one more fixation costs."""
        known = math.isfinite(self.interval_s) and self.interval_s > 0
        octaves = -math.log2(self.interval_s * SLOW_RATE_HZ) if known else 0.0
        return FIXATION_COST + COST_PER_OCTAVE * max(octaves, 0.0)

    def first(self, spot: Spot) -> Sums:
        """Weigh the first sample of a fixation."""
        return _sums(self._weight, spot.x_deg, spot.y_deg, 1.0)

    def later(self, before: Spot, spot: Spot) -> Sums:
        """Weigh a sample that follows another of the same fixation."""
        if self._carry <= 0:
            return self.first(spot)
        power = (spot.time_s - before.time_s) / self.interval_s if math.isfinite(self.interval_s) else 1.0
        c = self._carry**power
        x, y = spot.x_deg - c * before.x_deg, spot.y_deg - c * before.y_deg
        return _sums(self._weight / (1 - c * c), x, y, 1 - c)


def add_sums(a: Sums, b: Sums) -> Sums:
    """Add two sums."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


def _sums(weight: float, x: float, y: float, of_mean: float) -> Sums:
    """Weigh |(x, y) - of_mean x mean|²."""
    along = weight * of_mean
    return along * of_mean, along * x, along * y, weight * (x * x + y * y)


class Segmentation:
    """The best cut of the samples so far, kept up to date.

    Parameters
    ----------
    noise : Noise
        As measured; raised to the floor of .35 degrees.
    interval_s : float
        The usual time between samples, which the last sample of a fixation stands for.
    begun : Begun, optional
        A fixation that is known to have begun before the first sample pushed and to have lasted up to it.
    """

    def __init__(self, noise: Noise, interval_s: float, begun: Begun | None = None) -> None:
        self.interval_s = interval_s
        self._weights = Weights(noise, interval_s)
        self._fixation_cost = self._weights.fixation_cost
        self._sums = NO_SUMS
        self._last: Spot | None = None
        # Best cost of the first k samples whose last sample is alone, or ends a fixation.
        self._alone: list[float] = [0.0]
        self._fixated: list[float] = [math.inf]
        self._start: list[int] = [-1]  # where the fixation ending at k began
        self._open: list[tuple[float, int]] = [(math.inf, -1)]  # the same if it may still go on
        self._table = np.empty((7, MAX_CANDIDATES + 1))
        self._n_candidates = 0
        if begun is not None:
            self._go_on(begun)

    def _go_on(self, begun: Begun) -> None:
        """Begin inside a fixation: the samples so far are known by their sums alone."""
        self._last = begun.last
        self._table[:, 0] = -begun.n, self._fixation_cost, *begun.sums, begun.time_s
        self._n_candidates = 1
        self._alone = [math.inf]
        self._fixated = [float(self._totals()[0])]
        self._start = [-begun.n]

    def __len__(self) -> int:
        return len(self._alone) - 1

    def push(self, time_s: float, x_deg: float, y_deg: float) -> None:
        """Add a sample; its time is after the one before."""
        n = len(self)
        spot = Spot(time_s, x_deg, y_deg)
        if self._last is not None:
            self._sums = add_sums(self._sums, self._weights.later(self._last, spot))
        self._last = spot
        opening = min(self._alone[n], self._fixated[n]) + self._fixation_cost
        (w, wx, wy, wq), before = self._weights.first(spot), self._sums
        own = w - before[0], wx - before[1], wy - before[2], wq - before[3]
        self._table[:, self._n_candidates] = n, opening, *own, time_s
        self._n_candidates += 1
        total = self._totals()
        self._alone.append(min(self._alone[n], self._fixated[n]) + LONE_COST)
        first = int(total.argmin())
        self._open.append((float(total[first]), int(self._table[_START, first])))
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

    def _totals(self) -> Floats:
        """Cost of the samples so far if the last of them belong to a fixation since each candidate."""
        c = self._table[:, : self._n_candidates]
        w, wx, wy, wq = self._sums
        x, y = wx + c[_WX], wy + c[_WY]
        out: Floats = c[_COST] + (wq + c[_WQ]) - (x * x + y * y) / (w + c[_W])
        return out

    def _close(self, k: int, time_s: float, total: Floats) -> None:
        """Find the best fixation of at least the least duration that ends with sample k."""
        c = self._table[:, : self._n_candidates]
        latest = time_s + self.interval_s - MIN_FIXATION_S + 1e-9
        n = int(c[_TIME].searchsorted(latest, side="right"))
        n = min(n, int(c[_START].searchsorted(k - MIN_SAMPLES, side="right")))
        if not n:
            self._fixated.append(math.inf)
            self._start.append(-1)
            return
        best = int(total[:n].argmin())
        self._fixated.append(float(total[best]))
        self._start.append(int(c[_START, best]))

    def _prune(self, total: Floats) -> None:
        """Drop candidates that can no longer win, and of the older half all but the best."""
        k = len(self)
        keep = total < min(self._alone[k], self._fixated[k]) + self._fixation_cost
        half = len(total) // 2
        keep[:half] = False
        keep[int(total[:half].argmin())] = True
        keep[-8:] = True
        kept = self._table[:, : self._n_candidates][:, keep]
        self._n_candidates = kept.shape[1]
        self._table[:, : self._n_candidates] = kept
