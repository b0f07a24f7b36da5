"""The one-point drift check between trials: a target is looked at, and the gaze's offset from it decides.

The check sees gaze alone, so it works for every source; a calibration's own check of resting eyes
(`calibration.collect`) looks at irises, since it has no gaze yet. Its times are the calibration's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.collect import Timing
from gazelab.core.gaze import GazeArray
from gazelab.core.geometry import Screen
from gazelab.pipeline.drift_plan import DriftLimits, Point, px_per_deg
from gazelab.processing.blinks import blink_mask

NAN = float("nan")

NOISE_RATIO = 2.0
"""Spread over sample-to-sample noise up to which the eye rested and the tracker is noisy: 1 for noise about
one place, larger where the place moves (the root of von Neumann's ratio)."""


class Decision(StrEnum):
    """What a drift check came to.

    FINE: near enough, nothing changes. CORRECTED: the live view is shifted. RECALIBRATE: too far, or no rest:
    nothing changes, calibrate again. OVERRIDDEN: somebody went on after that. SKIPPED: not looked at.
    """

    FINE = "fine"
    CORRECTED = "corrected"
    RECALIBRATE = "recalibrate"
    OVERRIDDEN = "overridden"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class DriftOutcome:
    """What is written of a drift check.

    Attributes
    ----------
    decision : Decision
    target_px : (float, float)
        Screen px.
    correction_px : (float, float)
        In force afterwards, + right, + down: the sum of all so far.
    offset_px : (float, float)
        Median gaze minus target, + right, + down, of the gaze with the correction in force before; NaN
        without data, as all that follows.
    offset_deg : float
        The angle between median gaze and target; NaN where the screen's millimetres are unknown.
    spread_px, spread_deg : float
        SD of the larger axis over the stretch that was taken.
    n_samples : int
        With gaze, in that stretch.
    data_loss : float
        Share of lost samples in it, 0..1.
    reason : str
        Why nothing was corrected where it might have been.
    """

    decision: Decision
    target_px: Point
    correction_px: Point
    offset_px: Point = (NAN, NAN)
    offset_deg: float = NAN
    spread_px: float = NAN
    spread_deg: float = NAN
    n_samples: int = 0
    data_loss: float = NAN
    reason: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Give the fields as a marker takes them."""
        return {**asdict(self), "decision": self.decision.value}


@dataclass
class DriftCheck:
    """Watches one target until it can be decided; all times are passed in.

    Parameters
    ----------
    target_px : (float, float)
        Screen px.
    screen : Screen
    onset_ns : int
        When the target was put on the screen.
    correction_px : (float, float)
        In force now; the samples given to `look` have it already.
    limits, timing : DriftLimits, Timing
    """

    target_px: Point
    screen: Screen
    onset_ns: int
    correction_px: Point = (0.0, 0.0)
    limits: DriftLimits = field(default_factory=DriftLimits)
    timing: Timing = field(default_factory=Timing)
    _pressed_ns: int | None = None
    _calmest: DriftOutcome | None = None

    @property
    def from_ns(self) -> int:
        """From when on samples count."""
        return self.onset_ns + self.timing.settle_ns if self._pressed_ns is None else self._pressed_ns

    def press(self, time_ns: int) -> None:
        """Take the participant's word that the target is looked at; not a key for what was there before."""
        if self._pressed_ns is None and time_ns - self.onset_ns >= self.timing.key_guard_ns:
            self._pressed_ns = time_ns

    def progress(self, time_ns: int) -> float:
        """Share of the least time that has gone by, 0..1."""
        return float(np.clip((time_ns - self.from_ns) / self.timing.window_ns, 0.0, 1.0))

    def look(self, samples: GazeArray, time_ns: int) -> DriftOutcome | None:
        """Look at what has come in so far.

        Parameters
        ----------
        samples : numpy.ndarray, shape (n,), GAZE_DTYPE
            The newest, as the live view has them; older ones may be among them.
        time_ns : int
            Now.

        Returns
        -------
        DriftOutcome or None
            None while it cannot be said yet.
        """
        rows = samples[(samples["time_ns"] >= self.from_ns) & (samples["time_ns"] <= time_ns)]
        newest = int(rows["time_ns"].max()) if len(rows) else self.from_ns
        if newest - self.from_ns >= 0.9 * self.timing.window_ns:
            measured, rests = self._measure(rows[rows["time_ns"] > newest - self.timing.window_ns])
            if measured is not None and (rests or self._pressed_ns is not None):
                return self._decided(measured)
            if measured is not None and not measured.spread_px >= self._calmest_px():
                self._calmest = measured
        if time_ns - self.from_ns < self.timing.limit_ns:
            return None
        if self._calmest is None:
            return self._outcome(Decision.RECALIBRATE, reason="there was no gaze to measure")
        return replace(self._calmest, reason="the gaze did not rest on the target")

    def skipped(self) -> DriftOutcome:
        """Say that the target was not looked at."""
        return self._outcome(Decision.SKIPPED)

    def _calmest_px(self) -> float:
        return np.inf if self._calmest is None else self._calmest.spread_px

    def _outcome(self, decision: Decision, **more: Any) -> DriftOutcome:
        return DriftOutcome(decision, self.target_px, self.correction_px, **more)

    def _measure(self, rows: GazeArray) -> tuple[DriftOutcome | None, bool]:
        """Measure a stretch and tell whether the gaze rested in it; None where too little of it is gaze."""
        spoilt = blink_mask(rows["time_ns"], rows["blink"], self.timing.blink_pad_ns / 1e9)
        usable = rows["valid"] & np.isfinite(rows["x_px"]) & np.isfinite(rows["y_px"]) & ~spoilt
        if usable.sum() < self.timing.min_samples or usable.mean() < self.timing.min_share:
            return None, False
        places = np.stack([rows["x_px"][usable], rows["y_px"][usable]], -1).astype(np.float64)
        x_px, y_px = np.median(places, axis=0).tolist()
        target_x, target_y = self.target_px
        deg = px_per_deg(self.screen)
        sd_px, rests = _rest(places, self.limits.rest_sd_deg * deg, self.limits.noisy_sd_deg * deg)
        has_deg = self.screen.has_degrees
        return self._outcome(
            Decision.RECALIBRATE,
            offset_px=(x_px - target_x, y_px - target_y),
            offset_deg=float(self.screen.angle_deg(x_px, y_px, target_x, target_y)) if has_deg else NAN,
            spread_px=sd_px,
            spread_deg=sd_px / deg if has_deg else NAN,
            n_samples=int(usable.sum()),
            data_loss=float(1 - usable.mean()),
        ), rests

    def _decided(self, measured: DriftOutcome) -> DriftOutcome:
        limits, deg = self.limits, px_per_deg(self.screen)
        (dx, dy), (x, y) = measured.offset_px, self.correction_px
        offset = measured.offset_deg if np.isfinite(measured.offset_deg) else np.hypot(dx, dy) / deg
        if measured.spread_px > limits.noisy_sd_deg * deg:
            return replace(measured, reason="the gaze was spread too widely")
        if offset <= limits.accept_deg:
            return replace(measured, decision=Decision.FINE)
        if offset > limits.recalibrate_deg:
            return replace(measured, reason="the offset is too large for a shift")
        if np.hypot(x - dx, y - dy) / deg > limits.recalibrate_deg:
            return replace(measured, reason="the corrections add up to too much")
        return replace(measured, decision=Decision.CORRECTED, correction_px=(x - dx, y - dy))


def _rest(places: NDArray[np.float64], calm_px: float, noisy_px: float) -> tuple[float, bool]:
    """Give the spread of places (n, 2), and whether it is that of an eye that rests."""
    sd = places.std(axis=0)
    # Of normal noise, by the median: one saccade among the steps must not pass for a noisy tracker.
    noise = np.median(np.abs(np.diff(places, axis=0)), axis=0) / (0.6745 * np.sqrt(2))
    calm = (sd <= calm_px) | ((sd <= NOISE_RATIO * noise) & (sd <= noisy_px))
    return float(sd.max()), bool(calm.all())
