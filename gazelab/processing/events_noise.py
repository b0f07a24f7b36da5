"""How noisy gaze is, and how much of the noise a sample shares with the one before.

A landmark model that follows a face from frame to frame, like any device that smooths, gives noise that
wanders: neighbours err alike. It is taken as a first-order autoregressive process. Both its figures come from
steps between neighbours, since a mean over a whole fixation would hide what wanders slowly:

    SD of a step = SD of a sample x sqrt(2 (1 - carry))
    correlation of two steps in a row = -(1 - carry) / 2

References
----------
Niehorster, Zemblys, Beelders, Holmqvist (2020). Behavior Research Methods 52, 2515-2534.
10.3758/s13428-020-01400-9 (the colour of eye trackers' noise).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.processing.events_samples import MAD_TO_SD

Floats = NDArray[np.float64]
Piece = tuple[int, int]

NOISE_FLOOR_DEG = 0.35
"""Within a fixation the eye drifts and makes movements below half a degree; less noise than this is not
believed."""
HEADROOM = 1.05
"""Noise inside the fixations that were found is a little less than it is: the widest steps cut them."""
MAX_CARRY = 0.85
DOUBTED_CARRY = 0.2
"""Some hundred samples cannot tell a carry of this size from none."""
ORDINARY_SDS = 3.0
"""A longer step is a saccade's."""
LEAST_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of places (samples or their means) on one axis.

    Attributes
    ----------
    sd_deg : float
    carry : float
        Correlation with the place one interval before, 0..1.
    """

    sd_deg: float
    carry: float = 0.0

    @property
    def step_deg(self) -> float:
        """SD of independent noise whose neighbours would differ as much."""
        return self.sd_deg * float(np.sqrt(1 - self.carry))

    def believed(self) -> Noise:
        """Give what the segmentation goes by: not below the floor, and without a carry that may be chance.

        The eye's own movements, for which the floor stands, are no wandering noise: the smaller the measured
        noise beside the floor, the less of its carry counts.
        """
        sd = HEADROOM * self.sd_deg
        carry = self.carry**3 / (self.carry**2 + DOUBTED_CARRY**2)
        if sd > NOISE_FLOOR_DEG:
            return Noise(sd, carry)
        share = (sd / NOISE_FLOOR_DEG) ** 4 if sd > 0 else 0.0
        return Noise(NOISE_FLOOR_DEG, carry * share)


def noise_at_first(steps: Floats, pairs: Floats) -> Noise:
    """Guess the noise while no fixation is known.

    Parameters
    ----------
    steps : numpy.ndarray, shape (n, 2)
        From each place to the next, in degrees.
    pairs : numpy.ndarray, shape (m, 2, 2)
        Two steps in a row: (which, first or second, axis).

    Returns
    -------
    Noise
        Robust against saccades, which make it somewhat too large; NaN without a step.
    """
    if not len(steps):
        return Noise(float("nan"))
    sd = float(MAD_TO_SD * np.median(np.abs(steps)))
    ordinary = pairs[(np.abs(pairs) < ORDINARY_SDS * sd).all(axis=(1, 2))]
    if len(ordinary) < LEAST_PAIRS:
        return Noise(sd / np.sqrt(2))
    return _noise(sd, _carry(ordinary))


def noise_inside(pairs: Floats) -> Noise | None:
    """Measure the noise from steps inside fixations.

    Parameters
    ----------
    pairs : numpy.ndarray, shape (m, 2, 2)
        As for `noise_at_first`; all three places belong to one fixation.

    Returns
    -------
    Noise or None
        None with fewer than twenty pairs.
    """
    if len(pairs) < LEAST_PAIRS:
        return None
    return _noise(float(np.sqrt(np.mean(pairs**2))), _carry(pairs))


def pairs_of(steps: Floats) -> Floats:
    """Give each two steps in a row, shape (n - 1, 2, 2); none of fewer than two."""
    return np.stack([steps[:-1], steps[1:]], axis=1)


def pairs_inside(steps: Floats, pieces: Sequence[Piece]) -> Floats:
    """Keep of `pairs_of(steps)` those whose three places lie in one piece (first, last)."""
    inside = np.zeros(max(len(steps) - 1, 0), bool)
    for first, last in pieces:
        inside[first : max(last - 1, first)] = True
    return pairs_of(steps)[inside]


def _noise(step_sd: float, carry: float) -> Noise:
    return Noise(step_sd / float(np.sqrt(2 * (1 - carry))), carry)


def _carry(pairs: Floats) -> float:
    square = float(np.mean(pairs**2))
    if not square > 0:
        return 0.0
    correlation = float(np.mean(pairs[:, 0] * pairs[:, 1])) / square
    return min(max(1 + 2 * correlation, 0.0), MAX_CARRY)
