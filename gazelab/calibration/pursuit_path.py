"""The way of a target that moves slowly over the screen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.targets import Area, TargetKind, place_targets
from gazelab.core.geometry import Screen

Floats = NDArray[np.float64]

SPEED_DEG_S = 9.0
"""Slow enough that eyes follow without saccades (they can up to about 30 degrees a second) and that a frame's
blur stays small; Pfeuffer et al. 2013 found calibration best below about 10."""
SPEED_WIDTHS_S = 0.28
"""The same where the millimetres aren't known: 9 degrees of a laptop's 32."""
RAMP_S = 0.4
"""The target speeds up and slows down at each corner, so that the eye can stay on it."""
ROWS = 5
"""Lines across the screen, the first and the last along its edges."""


class PursuitPath:
    """A target that goes back and forth across the area, edges and corners included.

    Parameters
    ----------
    screen : Screen
    area : (left, top, width, height), optional
        Screen px; the whole screen by default.

    Raises
    ------
    CalibrationError
        The area isn't on the screen.
    """

    def __init__(self, screen: Screen, area: Area | None = None) -> None:
        shares: list[tuple[float, float]] = []
        for k in range(ROWS):
            ends = (0.0, 1.0) if k % 2 == 0 else (1.0, 0.0)
            shares += [(end, k / (ROWS - 1)) for end in ends]
        corners = place_targets(shares, screen, area, TargetKind.PURSUIT)
        self.target = corners[0]
        self._corners = np.array([(c.x_px, c.y_px) for c in corners])
        per_deg = screen.px_per_deg()
        speed = SPEED_DEG_S * per_deg if np.isfinite(per_deg) else SPEED_WIDTHS_S * screen.width_px
        lengths = np.hypot(*np.diff(self._corners, axis=0).T)
        self._ramp_s = np.minimum(RAMP_S, lengths / speed)
        self._leg_s = lengths / speed + self._ramp_s
        self._start_s = np.concatenate([[0.0], np.cumsum(self._leg_s)])
        self.duration_ns = int(self._start_s[-1] * 1e9)

    def at(self, elapsed_ns: int | NDArray[np.int64]) -> Floats:
        """Give where the target stands, screen px, (..., 2); it rests before the start and at the end."""
        t = np.clip(np.asarray(elapsed_ns, np.float64) / 1e9, 0.0, self._start_s[-1])
        leg = np.clip(np.searchsorted(self._start_s, t, side="right") - 1, 0, len(self._leg_s) - 1)
        share = _trapezoid(t - self._start_s[leg], self._leg_s[leg], self._ramp_s[leg])[..., None]
        place: Floats = self._corners[leg] + share * (self._corners[leg + 1] - self._corners[leg])
        return place


def _trapezoid(t: Floats, whole: Floats, ramp: Floats) -> Floats:
    """Share of a leg that is done at `t`: speeding up for `ramp`, even, slowing down for `ramp`."""
    cruise = whole - ramp
    up = 0.5 * np.minimum(t, ramp) ** 2 / ramp
    level = np.clip(t - ramp, 0.0, None)
    down = 0.5 * np.clip(t - cruise, 0.0, None) ** 2 / ramp
    share: Floats = (up + level - down) / cruise
    return share
