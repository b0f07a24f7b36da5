"""How the light falls on a face in a camera picture: grey values, from a coarse grid of pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import Frame

STEP_PX = 4
"""Every so many px are looked at: light is smooth, and this is done for each picture that is shown."""
SHINING_GREY = 245.0
"""From here on a pixel is burnt out: a mirrored lamp or screen, never the white of an eye in fair light."""
FACE_EYE_WIDTHS = 2.2
"""From the middle between the eyes to the side of the face."""


@dataclass(frozen=True, slots=True)
class FaceLight:
    """What was measured.

    Attributes
    ----------
    left, right : float
        Mean grey of the picture's left and right half of the face, 0..255.
    behind : float
        Mean grey of the picture beside the face; NaN where the face fills it.
    shining : float
        Burnt-out share of the region round the eyes, 0..1, the worse eye.
    """

    left: float
    right: float
    behind: float
    shining: float


def face_light(frame: Frame, features: np.void) -> FaceLight:
    """Measure the light.

    Parameters
    ----------
    frame : Frame
    features : numpy.void, FEATURE_DTYPE
        Valid, of the same frame.
    """
    x, y = (float(v) for v in np.nanmean(features["eye_centre_px"], axis=0))
    reach = FACE_EYE_WIDTHS * float(np.nanmean(features["eye_width_px"]))
    top, bottom = y - 0.8 * reach, y + 1.2 * reach
    left, right = _cut(frame, x - reach, top, x, bottom), _cut(frame, x, top, x + reach, bottom)
    beside = (_cut(frame, 0, top, x - 1.6 * reach, bottom), _cut(frame, x + 1.6 * reach, top, 1e9, bottom))
    behind = np.concatenate([part.ravel() for part in beside])
    return FaceLight(
        _mean(left), _mean(right), _mean(behind), max(_shining(frame, features, e) for e in (0, 1))
    )


def _shining(frame: Frame, features: np.void, eye: int) -> float:
    """Burnt-out share of a box of one by 0.6 eye widths; the cornea's own small glint is under 2 %."""
    x, y = (float(v) for v in features["eye_centre_px"][eye])
    width = float(features["eye_width_px"][eye])
    if not np.isfinite([x, y, width]).all():
        return 0.0
    part = _cut(frame, x - width / 2, y - 0.3 * width, x + width / 2, y + 0.3 * width, step=1)
    return float((part >= SHINING_GREY).mean()) if part.size else 0.0


def _cut(
    frame: Frame, left: float, top: float, right: float, bottom: float, step: int = STEP_PX
) -> NDArray[np.float64]:
    height, width, _ = frame.rgb.shape
    rows = slice(int(np.clip(top, 0, height)), int(np.clip(bottom, 0, height)), step)
    cols = slice(int(np.clip(left, 0, width)), int(np.clip(right, 0, width)), step)
    grey: NDArray[np.float64] = frame.rgb[rows, cols].mean(-1)
    return grey


def _mean(part: NDArray[np.float64]) -> float:
    return float(part.mean()) if part.size else float("nan")
