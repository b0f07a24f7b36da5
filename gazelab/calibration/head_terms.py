"""What the head's turn adds to gaze: learnt where the calibration has seen it, geometry beyond.

A camera sees the iris at R sin(a) from the eye's centre of rotation, where a is the angle at the eye between
the gaze and the camera, whatever the head does. But the iris is measured from the midpoint of the eye's
corners, and that lies about D = 6.5 mm in front of the centre of rotation: a head that turns by t carries it
along by D sin(t). So with the iris at rest among the corners a turn by one degree adds what an iris motion of
D / w, over 57.3, would: 0.004 eye widths (w = 29 mm). How many px that is, and in which direction, the
calibration tells: the slope of the iris on the targets.

A turned eye also looks different in ways that are no sum: the iris moves less the further it is turned from
the camera, corners and lids shift by the square of a turn. So the ridge gets products of the iris's place and
the turns, and of the turns with each other, at half weight.

The turn itself is only known to a degree or two. Within `REACH` standard deviations of the calibration's
turns the ridge decides what it is worth; there a head that kept still teaches it to leave the noise alone.
Beyond, the learnt part stays at its edge, so that it can't explode, and geometry goes on alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.eyes import IRIS_SCALE

Floats = NDArray[np.float64]

TURNS = ("yaw_deg", "pitch_deg", "roll_deg")
SCALE_DEG = 4.0
"""A turn by so much counts as much as a grey value's usual change."""
PRODUCT_SCALE_DEG = 8.0
PRODUCT_WEIGHT = 0.5
N_HEAD = 13
"""Three turns, six products with the iris's place, four of the turns with each other."""

IRIS_PER_DEG = 0.004
"""Eye widths of iris motion that a turn of the head by one degree stands for; see above."""

REACH = 2.5
NOISE_DEG = 2.0
"""Of a turn in one frame. With a head held still the turns of 28 persons spread by 0.7 to 1.9 degrees."""

MIN_T_X, MIN_T_Y = 4.0, 2.0
"""Standard errors by which the iris's slope has to differ from 0; else geometry stays out."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadTerms:
    """The head's turns in one calibration.

    Attributes
    ----------
    centre_deg, reach_deg : numpy.ndarray, shape (3,)
        Middle of yaw, pitch and roll, and how far from it the calibration speaks for itself.
    px_per_deg : numpy.ndarray, shape (2,)
        What a turn beyond that adds: x by yaw, y by pitch.
    iris : numpy.ndarray, shape (2,)
        Middle of the irises' place in their eyes.
    """

    centre_deg: Floats
    reach_deg: Floats
    px_per_deg: Floats
    iris: Floats

    @classmethod
    def of(cls, rows: NDArray[np.void], targets_px: Floats, eyes: NDArray[np.bool_]) -> HeadTerms:
        """Read them off the calibration's samples.

        Parameters
        ----------
        rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
        targets_px : numpy.ndarray, shape (n, 2)
        eyes : numpy.ndarray, shape (n, 2), bool
            Which can be used.
        """
        turns = _turns(rows)
        known = np.isfinite(turns).all(1)
        use = known & eyes.any(1)
        if not use.any():
            return cls(np.zeros(3), np.full(3, REACH * NOISE_DEG), np.zeros(2), np.zeros(2))
        turns, iris = turns[use], _iris(rows[use], eyes[use])
        reach = REACH * np.hypot(turns.std(0), NOISE_DEG)
        per_deg = _px_per_deg(iris, targets_px[use], turns)
        return cls(np.median(turns, axis=0), reach, per_deg, np.median(iris, axis=0))

    def split(self, rows: NDArray[np.void], eyes: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Part each turn into what the ridge gets and what geometry says of the rest.

        Parameters
        ----------
        rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
        eyes : numpy.ndarray, shape (n, 2), bool
            Which can be used.

        Returns
        -------
        columns : numpy.ndarray, shape (n, N_HEAD)
            0 where the turn is unknown.
        beyond_px : numpy.ndarray, shape (n, 2)
        """
        away = _turns(rows) - self.centre_deg
        away[np.isnan(away)] = 0.0
        within = np.minimum(np.maximum(away, -self.reach_deg), self.reach_deg)
        return self._columns(within, _iris(rows, eyes)), (away - within)[:, :2] * self.px_per_deg

    def _columns(self, turns: Floats, iris: Floats) -> Floats:
        out = np.empty((len(turns), N_HEAD))
        out[:, :3] = turns / SCALE_DEG
        small = turns * (PRODUCT_WEIGHT / PRODUCT_SCALE_DEG)
        moved = (iris - self.iris) / IRIS_SCALE
        out[:, 3:6], out[:, 6:9] = small * moved[:, :1], small * moved[:, 1:]
        out[:, 9:12] = small * turns / PRODUCT_SCALE_DEG
        out[:, 12] = small[:, 0] * turns[:, 1] / PRODUCT_SCALE_DEG
        return out


def _turns(rows: NDArray[np.void]) -> Floats:
    return np.array([rows[k] for k in TURNS], np.float64).T


def _iris(rows: NDArray[np.void], eyes: NDArray[np.bool_]) -> Floats:
    """Place of the iris in its eye, the mean of the usable ones, (n, 2); 0 without one."""
    places = np.where(eyes[..., None], rows["iris"].astype(np.float64), 0.0)
    out: Floats = places.sum(1) / np.maximum(eyes.sum(1, keepdims=True), 1)
    return out


def _px_per_deg(iris: Floats, targets: Floats, turns: Floats) -> Floats:
    """Turn `IRIS_PER_DEG` into px by the slope of the irises on the targets, the head's turns held fixed.

    The lids hide two thirds of the iris's vertical motion, so the size of the slope is read from x and only
    the direction from y; px are square.
    """
    if len(iris) < 6:
        return np.zeros(2)
    causes = np.concatenate([targets, turns[:, :2]], axis=1)
    causes = causes - causes.mean(0)
    spread = np.maximum(causes.std(0), 1e-9)
    causes = causes / spread
    effects = iris - iris.mean(0)
    # Turns that hardly vary, or go along with the targets, take nothing of the slope away.
    shrink = np.diag([1e-9, 1e-9, 0.05, 0.05]) * len(iris)
    inverse = np.linalg.inv(causes.T @ causes + shrink)
    slopes = inverse @ causes.T @ effects
    rest = (effects - causes @ slopes).var(0) * len(iris) / max(len(iris) - 4, 1)
    errors = np.sqrt(np.diag(inverse)[:2] * rest)
    by_x, by_y = np.diag(slopes[:2]) / spread[:2]
    sure_x, sure_y = np.abs(np.diag(slopes[:2])) > np.array([MIN_T_X, MIN_T_Y]) * errors
    if not sure_x:
        return np.zeros(2)
    size = IRIS_PER_DEG / by_x
    # Pitch counts up, the iris's y down.
    return np.array([size, -np.sign(by_y) * abs(size) if sure_y else 0.0])
