"""Where the targets of a calibration and of its validation lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen

Area = tuple[float, float, float, float]
"""left, top, width, height in screen px."""

INSET = 0.03
"""Gap between the outermost targets' centres and the area's edge, as a share of its shorter side: small,
since nothing outside the outermost targets was ever calibrated."""

_GRID_3 = tuple((x, y) for y in (0.0, 0.5, 1.0) for x in (0.0, 0.5, 1.0))
_CORNERS = tuple((x, y) for y in (0.0, 1.0) for x in (0.0, 1.0))
_QUARTERS = tuple((x, y) for y in (0.25, 0.75) for x in (0.25, 0.75))
_THIRDS = (0.0, 1 / 3, 2 / 3, 1.0)

LAYOUTS: dict[int, tuple[tuple[float, float], ...]] = {
    5: (*_CORNERS, (0.5, 0.5)),
    9: _GRID_3,
    13: (*_GRID_3, *_QUARTERS),
    16: tuple((x, y) for y in _THIRDS for x in _THIRDS),
}
"""Number of points → places in the inset area, 0..1 from its upper left."""

HELD_OUT = ((0.12, 0.32), (0.86, 0.16), (0.40, 0.86), (0.62, 0.56), (0.36, 0.16), (0.92, 0.80), (0.18, 0.62))
"""Validation places: none is a calibration place of any layout; the first five reach toward every side."""


class TargetKind(StrEnum):
    """What a target is shown for."""

    CALIBRATION = "calibration"
    PURSUIT = "pursuit"
    HEAD = "head"
    VALIDATION = "validation"


@dataclass(frozen=True, slots=True)
class Target:
    """One point that the participant is asked to look at.

    Attributes
    ----------
    index : int
        From 0, in reading order within its kind, whatever the order of showing.
    x_px, y_px : float
        Screen px; where a moving one starts.
    kind : TargetKind
    """

    index: int
    x_px: float
    y_px: float
    kind: TargetKind


def calibration_targets(points: int, screen: Screen, area: Area | None = None) -> tuple[Target, ...]:
    """Lay out a calibration grid that reaches the corners of the area.

    Parameters
    ----------
    points : {5, 9, 13, 16}
    screen : Screen
    area : (left, top, width, height), optional
        Screen px; the whole screen by default.

    Raises
    ------
    CalibrationError
        Another number of points, or an area that isn't on the screen.
    """
    check_points(points)
    return place_targets(LAYOUTS[points], screen, area, TargetKind.CALIBRATION)


def check_points(points: int) -> None:
    """Refuse a number of targets that has no layout.

    Raises
    ------
    CalibrationError
        Says which there are.
    """
    if points not in LAYOUTS:
        *others, last = sorted(LAYOUTS)
        there_are = f"{', '.join(str(n) for n in others)} or {last}"
        raise CalibrationError(f"there is no layout of {points} points.", todo=f"Choose {there_are}.")


def validation_targets(n: int, screen: Screen, area: Area | None = None) -> tuple[Target, ...]:
    """Lay out validation targets, held out of every calibration grid.

    Raises
    ------
    CalibrationError
        Fewer than 3 or more than 7 are asked for, or the area isn't on the screen.
    """
    if not 3 <= n <= len(HELD_OUT):
        raise CalibrationError(f"{n} validation points: choose 3 to {len(HELD_OUT)}.")
    return place_targets(HELD_OUT[:n], screen, area, TargetKind.VALIDATION)


def place_targets(
    shares: Sequence[tuple[float, float]], screen: Screen, area: Area | None, kind: TargetKind
) -> tuple[Target, ...]:
    """Place targets by their shares of the inset area, 0..1 from its upper left.

    Raises
    ------
    CalibrationError
        The area isn't on the screen.
    """
    left, top, width, height = area or (0.0, 0.0, float(screen.width_px), float(screen.height_px))
    on_screen = (
        left >= 0 and top >= 0 and left + width <= screen.width_px and top + height <= screen.height_px
    )
    if width <= 0 or height <= 0 or not on_screen:
        raise CalibrationError(
            f"the area of {width:g} x {height:g} px at ({left:g}, {top:g}) isn't on the screen.",
            where=screen.name,
        )
    inset = INSET * min(width, height)
    return tuple(
        Target(
            i,
            left + inset + x * (width - 2 * inset),
            top + inset + y * (height - 2 * inset),
            kind,
        )
        for i, (x, y) in enumerate(shares)
    )
