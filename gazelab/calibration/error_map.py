"""Accuracy by region of the screen: where on it a calibration is good, and where nothing is known.

From targets that the fit hasn't seen: the validation's and, in regions without one, calibration targets by
their error when left out. A left-out target at the edge is extrapolated to, so its error tends to be larger
than the mapping's own; the two are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.geometry import Screen

ROWS, COLS = 3, 3


@dataclass(frozen=True, slots=True)
class PlacedError:
    """The error at one place.

    Attributes
    ----------
    x_px, y_px : float
        Of the target, screen px.
    error_px, error_deg : float
        NaN where there was no data, or (degrees) where the screen's size is unknown.
    held_out : bool
        Of a validation target; False: of a calibration target left out of the fit.
    """

    x_px: float
    y_px: float
    error_px: float
    error_deg: float
    held_out: bool


@dataclass(frozen=True, slots=True, eq=False)
class ErrorMap:
    """Mean error in each region.

    Attributes
    ----------
    error_px, error_deg : numpy.ndarray, shape (rows, cols)
        Row 0 at the top; NaN: no data.
    n : numpy.ndarray, shape (rows, cols), int64
        Targets that each mean is over.
    held_out : numpy.ndarray, shape (rows, cols), bool
        The mean is over validation targets; False: over left-out ones, or over none.
    """

    error_px: NDArray[np.float64]
    error_deg: NDArray[np.float64]
    n: NDArray[np.int64]
    held_out: NDArray[np.bool_]

    def to_mapping(self) -> dict[str, Any]:
        """Give the regions as JSON-ready values, row by row; "no data" is None."""
        out: dict[str, Any] = {"n": self.n.tolist(), "held_out": self.held_out.tolist()}
        for name in ("error_px", "error_deg"):
            rows = getattr(self, name).tolist()
            out[name] = [[v if np.isfinite(v) else None for v in row] for row in rows]
        return out


def error_map(screen: Screen, errors: Sequence[PlacedError], rows: int = ROWS, cols: int = COLS) -> ErrorMap:
    """Average errors over equal rectangles of the screen.

    Parameters
    ----------
    screen : Screen
    errors : sequence of PlacedError
        Those without data, and those off the screen, are in no region.
    """
    validated = _means(screen, [e for e in errors if e.held_out], rows, cols)
    left_out = _means(screen, [e for e in errors if not e.held_out], rows, cols)
    held_out = validated[2] > 0
    px, deg, n = (np.where(held_out, ours, theirs) for ours, theirs in zip(validated, left_out, strict=True))
    return ErrorMap(px, deg, n, held_out)


def _means(
    screen: Screen, errors: Sequence[PlacedError], rows: int, cols: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    sum_px, sum_deg = np.zeros((rows, cols)), np.zeros((rows, cols))
    n = np.zeros((rows, cols), np.int64)
    for e in errors:
        if not np.isfinite(e.error_px) or not screen.contains(e.x_px, e.y_px):
            continue
        at = int(e.y_px / screen.height_px * rows), int(e.x_px / screen.width_px * cols)
        sum_px[at] += e.error_px
        sum_deg[at] += e.error_deg
        n[at] += 1
    known = np.where(n > 0, n, 1)
    mean_px, mean_deg = (np.where(n > 0, total / known, np.nan) for total in (sum_px, sum_deg))
    return mean_px, mean_deg, n


def left_out_deg(screen: Screen, x_px: float, y_px: float, error_px: float) -> float:
    """Turn a length in px at a place into degrees: the mean of the two axes, since its direction is unknown.

    Returns
    -------
    float
        NaN where the screen's size or distance is unknown, or the error is.
    """
    half = error_px / 2
    across = screen.to_deg([x_px - half, x_px + half], [y_px, y_px])[0]
    upright = screen.to_deg([x_px, x_px], [y_px - half, y_px + half])[1]
    return float((abs(across[1] - across[0]) + abs(upright[1] - upright[0])) / 2)
