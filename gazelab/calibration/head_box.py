"""The head poses in which a calibration holds, and whether somebody is outside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import CalibrationError

NAMES = ("yaw_deg", "pitch_deg", "roll_deg", "x_mm", "y_mm", "z_mm")

MARGIN = (3.0, 3.0, 6.0, 25.0, 25.0, 40.0)
"""How far beyond the calibration's own poses it is trusted: yaw, pitch, roll (degrees), x, y, z (mm).

Chosen where a calibration with a still head has lost about two degrees to the pose alone, twice what it is
off by anyway. On the synthetic participant one degree of yaw or pitch costs a mapping that has never seen the
head turn 0.3 to 1 degree, 20 mm aside or down up to 1 degree, 4 degrees of roll half a degree, and distance,
which the mapping knows of, next to nothing. A narrower box would flag people who sit still: the turn of one
frame is known to a degree or two only, and eyes alone seem to turn the head by up to 0.7 degrees."""

PERCENTILES = (2.0, 98.0)
"""Of the calibration's samples: a single wild face must not widen the box."""

Range = tuple[float, float]

_TOO_HIGH = (
    "Turn your head a little to the right.",
    "Lower your chin a little.",
    "Tilt your head a little to the right.",
    "Move {mm:.0f} mm to the right.",
    "Sit {mm:.0f} mm higher.",
    "Move {mm:.0f} mm closer.",
)
_TOO_LOW = (
    "Turn your head a little to the left.",
    "Raise your chin a little.",
    "Tilt your head a little to the left.",
    "Move {mm:.0f} mm to the left.",
    "Sit {mm:.0f} mm lower.",
    "Move {mm:.0f} mm back.",
)


@dataclass(frozen=True, slots=True)
class HeadBox:
    """Ranges of the head's turn and place, margins included.

    Attributes
    ----------
    yaw_deg, pitch_deg, roll_deg : (float, float)
        Lowest and highest: + to the subject's left, + up, + clockwise as the camera sees it.
    x_mm, y_mm, z_mm : (float, float)
        + picture right (the subject's left), + down, + away from the camera; on MediaPipe's scale, which
        assumes a camera of 63 degrees vertical field of view, so z is a share of the true distance.
    """

    yaw_deg: Range
    pitch_deg: Range
    roll_deg: Range
    x_mm: Range
    y_mm: Range
    z_mm: Range

    @classmethod
    def of(cls, rows: NDArray[np.void], margin: tuple[float, ...] = MARGIN) -> HeadBox | None:
        """Make the box of a calibration's samples.

        Parameters
        ----------
        rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
            What the mapping was fitted on.
        margin : six floats
            Added on both sides of the 2nd to the 98th percentile: yaw, pitch, roll in degrees; x, y, z in mm.

        Returns
        -------
        HeadBox or None
            None where the samples hold no pose: nothing is known, so nothing is flagged.
        """
        pose = head_pose(rows)
        pose = pose[np.isfinite(pose).all(1)]
        if not len(pose):
            return None
        low, high = np.percentile(pose, PERCENTILES, axis=0)
        ranges = np.stack([low - margin, high + margin], -1).tolist()
        return cls(*((float(a), float(b)) for a, b in ranges))

    def contains(self, rows: NDArray[np.void] | np.void) -> NDArray[np.bool_]:
        """Tell for each record whether its head is in the box; a pose that isn't known counts as in it.

        Returns
        -------
        numpy.ndarray, shape (n,), bool
        """
        inside: NDArray[np.bool_] = (self._beyond(rows) == 0).all(1)
        return inside

    def holds(self, row: np.void) -> bool:
        """Tell the same of one record, in plain floats: it is asked of every frame."""
        pose = (*(float(row[name]) for name in NAMES[:3]), *row["head_mm"].tolist())
        ranges = (self.yaw_deg, self.pitch_deg, self.roll_deg, self.x_mm, self.y_mm, self.z_mm)
        return not any(v < low or v > high for v, (low, high) in zip(pose, ranges, strict=True))

    def hint(self, row: np.void) -> str:
        """Say how to come back into the box, from the subject's side; "" inside.

        Only the worst is named: one move at a time.
        """
        beyond = self._beyond(row)[0]
        worst = int(np.argmax(np.abs(beyond) / MARGIN))
        if beyond[worst] == 0:
            return ""
        text = _TOO_HIGH[worst] if beyond[worst] > 0 else _TOO_LOW[worst]
        return text.format(mm=10 * np.ceil((abs(beyond[worst]) + MARGIN[worst]) / 10))

    def to_mapping(self) -> dict[str, list[float]]:
        """Give the ranges as JSON-ready values."""
        return {name: list(getattr(self, name)) for name in NAMES}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> HeadBox:
        """Invert `to_mapping`.

        Raises
        ------
        CalibrationError
            A range is missing, no pair of finite numbers, or upside down.
        """
        try:
            ranges = np.array([values[name] for name in NAMES], np.float64).reshape(6, 2)
        except (KeyError, TypeError, ValueError) as fault:
            raise CalibrationError(f"the head box is broken ({fault!r}).", todo="Calibrate again.") from fault
        if not np.isfinite(ranges).all() or (ranges[:, 0] > ranges[:, 1]).any():
            raise CalibrationError("the head box is broken.", todo="Calibrate again.")
        return cls(*((float(a), float(b)) for a, b in ranges.tolist()))

    def _beyond(self, rows: NDArray[np.void] | np.void) -> NDArray[np.float64]:
        """How far each pose is outside, with its sign, (n, 6); 0 inside or where unknown."""
        pose = head_pose(np.atleast_1d(np.asarray(rows)))
        low, high = np.array([getattr(self, name) for name in NAMES]).T
        beyond: NDArray[np.float64] = np.maximum(pose - high, 0.0) + np.minimum(pose - low, 0.0)
        return np.nan_to_num(beyond)


def head_pose(rows: NDArray[np.void]) -> NDArray[np.float64]:
    """Give yaw, pitch, roll and x, y, z of each record, (n, 6)."""
    turn = np.stack([rows[name] for name in NAMES[:3]], -1)
    pose: NDArray[np.float64] = np.concatenate([turn, rows["head_mm"]], axis=1).astype(np.float64)
    return pose


class HeadWatch:
    """Tells when the operator should be warned that the head has left the box.

    One sample outside is a landmarker's slip or a glance at the keyboard; a second of them is a person who
    sits elsewhere now. Lost samples say nothing either way.

    Parameters
    ----------
    after_ns : int
        Outside for so long: warned.
    back_ns : int
        Inside for so long: no longer warned, and counted anew.
    """

    def __init__(self, after_ns: int = 1_000_000_000, back_ns: int = 500_000_000) -> None:
        self._after_ns, self._back_ns = after_ns, back_ns
        self._left_ns: int | None = None
        self._back_since_ns: int | None = None
        self.warned = False

    def see(self, outside: bool, time_ns: int) -> bool:
        """Take one sample of a seen face, in order of time; give whether to warn."""
        if outside:
            self._back_since_ns = None
            if self._left_ns is None:
                self._left_ns = time_ns
            self.warned |= time_ns - self._left_ns >= self._after_ns
            return self.warned
        if self._back_since_ns is None:
            self._back_since_ns = time_ns
        if time_ns - self._back_since_ns >= self._back_ns:
            self._left_ns, self.warned = None, False
        return self.warned
