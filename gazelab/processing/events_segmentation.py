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

from gazelab.processing.events_candidates import FEW, FewCandidates, ManyCandidates, Sums
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

Piece = tuple[int, int]
NO_SUMS: Sums = (0.0, 0.0, 0.0, 0.0)


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
        self._candidates: FewCandidates | ManyCandidates = FewCandidates()
        if begun is not None:
            self._go_on(begun)

    def _go_on(self, begun: Begun) -> None:
        """Begin inside a fixation: the samples so far are known by their sums alone."""
        self._last = begun.last
        self._candidates.add(-begun.n, self._fixation_cost, begun.sums, begun.time_s)
        self._alone = [math.inf]
        self._fixated = [self._candidates.weigh(self._sums)[0]]
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
        before_it = min(self._alone[n], self._fixated[n])
        (w, wx, wy, wq), before = self._weights.first(spot), self._sums
        own = w - before[0], wx - before[1], wy - before[2], wq - before[3]
        if len(self._candidates) == FEW and isinstance(self._candidates, FewCandidates):
            self._candidates = ManyCandidates(self._candidates)
        self._candidates.add(n, before_it + self._fixation_cost, own, time_s)
        self._alone.append(before_it + LONE_COST)
        self._open.append(self._candidates.weigh(self._sums))
        latest_s = time_s + self.interval_s - MIN_FIXATION_S + 1e-9
        closed, start = self._candidates.best_until(latest_s, n + 1 - MIN_SAMPLES)
        self._fixated.append(closed)
        self._start.append(start)
        self._candidates.prune(min(self._alone[-1], closed) + self._fixation_cost)

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
