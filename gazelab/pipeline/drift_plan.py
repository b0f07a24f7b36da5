"""What a drift check goes by: how often, and from which offset on something is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gazelab.core.geometry import Screen

Point = tuple[float, float]

NOMINAL_WIDTH_DEG = 32.0
"""A laptop's screen, 345 mm at 600 mm: stands in for degrees where the millimetres are unknown."""


@dataclass(frozen=True, slots=True)
class DriftLimits:
    """When a drift check corrects, and when it asks for a new calibration.

    Attributes
    ----------
    accept_deg : float
        Offsets up to here are left alone: one degree is the blur that scores are made with, so less changes
        none of them.
    recalibrate_deg : float
        Beyond, a shift is no remedy: five degrees are a head that moved 50 mm at 600 mm, where the mapping
        errs in other ways than by a shift. It bounds the offset and the sum of all corrections.
    rest_sd_deg : float
        Spread (SD, the larger axis) up to which the gaze rests.
    noisy_sd_deg : float
        The same where sample-to-sample noise explains the spread; beyond, the offset is not to be trusted.
    """

    accept_deg: float = 1.0
    recalibrate_deg: float = 5.0
    rest_sd_deg: float = 1.0
    noisy_sd_deg: float = 2.5

    def known_accuracy(self, accuracy_deg: float) -> DriftLimits:
        """Accept what a calibration errs anyway.

        A smaller offset at one place cannot be told from that error, and to take it out here would put it in
        everywhere else. NaN changes nothing.
        """
        if not accuracy_deg > self.accept_deg:
            return self
        return replace(self, accept_deg=min(accuracy_deg, self.recalibrate_deg))


@dataclass
class DriftSchedule:
    """When the next check is due.

    Parameters
    ----------
    every : int
        Trials from one check to the next; 1: before each, 0: never by itself.
    """

    every: int
    _last: int | None = None

    def due(self, index: int) -> bool:
        """Whether a check comes before the trial of this place in the study, from 0."""
        last = self._last if self._last is not None else (-1 if self.every == 1 else 0)
        return self.every > 0 and index - last >= self.every

    def done(self, index: int) -> None:
        """Count from this trial on: a check was made or skipped before it."""
        self._last = index


def px_per_deg(screen: Screen) -> float:
    """Px a degree at the screen's centre; of a usual laptop where the millimetres are unknown."""
    known = screen.px_per_deg()
    return known if np.isfinite(known) else screen.width_px / NOMINAL_WIDTH_DEG
