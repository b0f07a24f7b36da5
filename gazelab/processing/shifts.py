"""Gaze moved by a correction: what live view and replay share, so that both see the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gazelab.core.gaze import GazeArray
from gazelab.core.geometry import Screen

PLACES = (("x_px", "y_px"), ("left_x_px", "left_y_px"), ("right_x_px", "right_y_px"))
"""Every pair of fields of a gaze sample that is a place on the screen."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A correction in force from a moment on, until the next one.

    Attributes
    ----------
    from_ns : int
        The first sample time that it counts for, on the session's clock.
    dx_px, dy_px : float
        Added to the gaze as measured: + right, + down, screen px.
    """

    from_ns: int
    dx_px: float
    dy_px: float


def shifted(gaze: GazeArray, shifts: Sequence[Shift]) -> GazeArray:
    """Move each sample by the last shift that had begun at its time.

    Parameters
    ----------
    gaze : numpy.ndarray, shape (n,), GAZE_DTYPE
        Never changed.
    shifts : sequence of Shift
        In the order in which they were made; each replaces the one before.

    Returns
    -------
    numpy.ndarray, shape (n,), GAZE_DTYPE
        A copy; without shifts, `gaze` itself. Lost gaze stays NaN. The sums are of 32-bit floats, sample by
        sample: the same for one sample as for all of them at once.
    """
    if not shifts:
        return gaze
    times = gaze["time_ns"]
    dx, dy = np.zeros(len(gaze), np.float32), np.zeros(len(gaze), np.float32)
    for shift in shifts:
        begun = times >= shift.from_ns
        dx[begun], dy[begun] = shift.dx_px, shift.dy_px
    out = gaze.copy()
    for x, y in PLACES:
        out[x] += dx
        out[y] += dy
    return out


def move_px(gaze: GazeArray, dx_px: float, dy_px: float) -> None:
    """Move all samples in place, + right, + down, screen px."""
    for x, y in PLACES:
        gaze[x] += np.float32(dx_px)
        gaze[y] += np.float32(dy_px)


def move_deg(gaze: GazeArray, dx_deg: float, dy_deg: float, screen: Screen) -> None:
    """Move all samples in place by an angle, + right, + down like px.

    The angle is measured where the gaze lies, so that it covers more px toward the screen's edges. Gaze that
    would turn away from the screen's plane, by 90 degrees or more, is lost.

    Parameters
    ----------
    gaze : numpy.ndarray, shape (n,), GAZE_DTYPE
    dx_deg, dy_deg : float
    screen : Screen
        With millimetres; else all gaze becomes NaN.
    """
    for x, y in PLACES:
        x_deg, y_deg = screen.to_deg(gaze[x], gaze[y])
        x_deg, y_deg = x_deg + dx_deg, y_deg - dy_deg
        away = (np.abs(x_deg) >= 90) | (np.abs(y_deg) >= 90)
        gaze[x], gaze[y] = screen.to_px(np.where(away, np.nan, x_deg), np.where(away, np.nan, y_deg))
        if x == "x_px":
            gaze["valid"] &= ~away
