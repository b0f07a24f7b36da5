"""What leaning does to gaze on a screen.

A camera sees the angle at the eye between itself and the place looked at; with the camera in the plane of the
screen the place lies at distance times tangent of that angle from the camera, wherever the head has moved
sideways. So a mapping is fitted for the calibration's median distance, and its places are moved away from the
camera as the head moves back: 40 mm of 600 are 7 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.geometry import Screen

Floats = NDArray[np.float64]

RATIOS = (0.5, 2.0)
"""A head out of these has not been measured right; it counts as the nearest."""


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """Where the camera is taken to be, and how far the head was.

    Attributes
    ----------
    camera_px : numpy.ndarray, shape (2,)
        In the screen's plane.
    neutral_mm : float
        Median distance while calibrating; 0: distance plays no part.
    """

    camera_px: Floats
    neutral_mm: float

    @classmethod
    def of(cls, rows: NDArray[np.void], screen: Screen) -> Distance:
        """Take the camera to be in the middle of the screen's upper edge, where laptops have it.

        100 px of error there are 7 px when the head leans by 7 %.
        """
        far = rows["head_mm"][:, 2].astype(np.float64)
        far = far[np.isfinite(far) & (far > 0)]
        return cls(np.array([screen.width_px / 2, 0.0]), float(np.median(far)) if len(far) else 0.0)

    @classmethod
    def ignored(cls) -> Distance:
        """For places that are angles."""
        return cls(np.zeros(2), 0.0)

    def ratio(self, rows: NDArray[np.void]) -> Floats:
        """How many times as far as then the head is, (n, 1); 1 where unknown."""
        far = rows["head_mm"][:, 2:].astype(np.float64)
        known = np.isfinite(far) & (far > 0) & (self.neutral_mm > 0)
        ratio = np.where(known, far, 1.0) / (self.neutral_mm or 1.0)
        out: Floats = np.where(known, np.minimum(np.maximum(ratio, RATIOS[0]), RATIOS[1]), 1.0)
        return out

    def to_neutral(self, px: Floats, ratio: Floats) -> Floats:
        """Give the places, (n, 2), that the same eyes would look at from the calibration's distance."""
        return self.camera_px + (px - self.camera_px) / ratio

    def from_neutral(self, px: Floats, ratio: Floats) -> Floats:
        """Invert `to_neutral`; `px` may have axes before (n, 2)."""
        return self.camera_px + (px - self.camera_px) * ratio
