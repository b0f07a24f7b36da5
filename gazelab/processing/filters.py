"""Smoothing for the eye of the beholder only: what is stored and what is measured stays raw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gazelab.core.geometry import Screen
from gazelab.processing.degrees import screen_in_degrees

MIN_CUTOFF_HZ = 0.5
BETA_PER_DEG = 0.5
SPEED_CUTOFF_HZ = 1.0
FORGET_S = 0.150
"""After a longer loss the filter starts afresh: the old place says nothing any more."""

Point = tuple[float, float]


class OneEuro:
    """The One-Euro filter for two axes: calm while the eye rests, quick when it moves.

    A low-pass whose cut-off frequency rises with the speed: `min_cutoff_hz + beta_per_deg * speed`. Both axes
    share the cut-off. All parameters are in degrees and seconds, so neither screen nor rate changes what they
    mean.

    Parameters
    ----------
    min_cutoff_hz : float
        Cut-off at rest; lower is calmer.
    beta_per_deg : float
        Cut-off in Hz for each degree a second; higher follows saccades sooner.
    speed_cutoff_hz : float
        Cut-off of the speed estimate.

    References
    ----------
    Casiez, Roussel, Vogel (2012). CHI, 2527-2530. 10.1145/2207676.2208639. The defaults were chosen on gaze
    at 30 Hz with .5 degrees of noise; the usual beta of .007 takes a quarter of a second to follow a saccade.
    """

    def __init__(
        self,
        min_cutoff_hz: float = MIN_CUTOFF_HZ,
        beta_per_deg: float = BETA_PER_DEG,
        speed_cutoff_hz: float = SPEED_CUTOFF_HZ,
    ) -> None:
        if min_cutoff_hz <= 0 or speed_cutoff_hz <= 0 or beta_per_deg < 0:
            raise ValueError("cut-off frequencies are positive and beta is not negative")
        self.min_cutoff_hz = min_cutoff_hz
        self.beta_per_deg = beta_per_deg
        self.speed_cutoff_hz = speed_cutoff_hz
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self._time_ns: int | None = None
        self._place: Point = (math.nan, math.nan)
        self._raw: Point = (math.nan, math.nan)
        self._velocity: Point = (0.0, 0.0)

    def __call__(self, time_ns: int, x_deg: float, y_deg: float) -> Point:
        """Smooth the next sample.

        Parameters
        ----------
        time_ns : int
            A stamp that does not move forward changes nothing.
        x_deg, y_deg : float
            NaN = lost: NaN comes out, and the filter waits.

        Returns
        -------
        x_deg, y_deg : float
        """
        if not (math.isfinite(x_deg) and math.isfinite(y_deg)):
            return math.nan, math.nan
        if self._time_ns is None or (time_ns - self._time_ns) / 1e9 > FORGET_S:
            self._time_ns, self._velocity = time_ns, (0.0, 0.0)
            self._place = self._raw = (x_deg, y_deg)
            return self._place
        step_s = (time_ns - self._time_ns) / 1e9
        if step_s <= 0:
            return self._place
        moved = ((x_deg - self._raw[0]) / step_s, (y_deg - self._raw[1]) / step_s)
        self._velocity = _approach(self._velocity, moved, self.speed_cutoff_hz, step_s)
        cutoff_hz = self.min_cutoff_hz + self.beta_per_deg * math.hypot(*self._velocity)
        self._time_ns, self._raw = time_ns, (x_deg, y_deg)
        self._place = _approach(self._place, self._raw, cutoff_hz, step_s)
        return self._place


class DisplayFilter:
    """A One-Euro filter for screen px.

    Parameters
    ----------
    screen : Screen or mapping
        Without millimetres a nominal size is used, with a `NominalGeometry` warning.
    one_euro : OneEuro, optional
    """

    def __init__(self, screen: Screen | Mapping[str, Any], one_euro: OneEuro | None = None) -> None:
        self._screen = screen_in_degrees(screen)
        self._filter = one_euro or OneEuro()

    def __call__(self, time_ns: int, x_px: float, y_px: float) -> Point:
        """Smooth the next sample; NaN = lost."""
        x_deg, y_deg = self._screen.to_deg(x_px, y_px)
        x, y = self._screen.to_px(*self._filter(time_ns, float(x_deg), float(y_deg)))
        return float(x), float(y)

    def reset(self) -> None:
        """Forget the past."""
        self._filter.reset()


def _approach(old: Point, new: Point, cutoff_hz: float, step_s: float) -> Point:
    """Move toward `new` as a first-order low-pass does in `step_s`, exactly, whatever the rate."""
    share = -math.expm1(-2 * math.pi * cutoff_hz * step_s)
    return old[0] + share * (new[0] - old[0]), old[1] + share * (new[1] - old[1])
