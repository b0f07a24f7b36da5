"""Where the gaze lay, as a mapping tells it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Where the gaze lay, one entry a frame; screen px, NaN where lost.

    Attributes
    ----------
    x_px, y_px : numpy.ndarray, shape (n,)
        From both eyes where both can be used, else from the one that can.
    left_x_px, left_y_px, right_x_px, right_y_px : numpy.ndarray, shape (n,)
        From one eye alone.
    confidence : numpy.ndarray, shape (n,)
        Chance that the error is at most twice the calibration's median error on left-out targets, as far as
        the agreement of the eyes, the likeness to the calibration's samples and the head's turn tell: .94 for
        a sample like those of the calibration, toward 0 the less it can be trusted. 0 where lost.
    valid : numpy.ndarray, shape (n,), bool
    """

    x_px: Floats
    y_px: Floats
    left_x_px: Floats
    left_y_px: Floats
    right_x_px: Floats
    right_y_px: Floats
    confidence: Floats
    valid: NDArray[np.bool_]
