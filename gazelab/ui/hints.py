"""Light, distance and face, in words, before anybody is calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QCoreApplication

from gazelab.core.gaze import Frame

DARK_GREY, BRIGHT_GREY = 55.0, 215.0
SIDE_RATIO = 1.8
NEAR_MM, FAR_MM = 400.0, 800.0
SMALL_IRIS_PX = 7.0


@dataclass(frozen=True, slots=True)
class Hint:
    """One sentence and its role: "good", "warn" or "bad"."""

    text: str
    role: str


def face_grey(frame: Frame, features: np.void) -> tuple[float, float]:
    """Mean grey of the picture's left and right half of the face, 0..255.

    Parameters
    ----------
    frame : Frame
    features : numpy.void, FEATURE_DTYPE
        Valid, of the same frame.
    """
    centres, width = features["eye_centre_px"], float(np.nanmean(features["eye_width_px"]))
    x, y = (float(v) for v in centres.mean(0))
    reach = 2.2 * width
    rows = slice(max(0, int(y - 0.8 * reach)), max(1, int(y + 1.2 * reach)))
    left = frame.rgb[rows, max(0, int(x - reach)) : max(1, int(x))]
    right = frame.rgb[rows, max(0, int(x)) : max(1, int(x + reach))]
    return _grey(left), _grey(right)


def hints(frame: Frame | None, features: np.void | None, distance_mm: float) -> list[Hint]:
    """Say what is well and what is to be changed, in the order face, light, distance."""
    tr = QCoreApplication.translate
    if frame is None:
        return [Hint(tr("Hints", "No picture from the camera yet."), "warn")]
    if features is None or not features["valid"]:
        if features is not None and features["n_faces"] > 1:
            return [Hint(tr("Hints", "Two faces: only the participant should be in the picture."), "bad")]
        dark = float(frame.rgb.mean()) < DARK_GREY / 2
        why = tr("Hints", "The picture is dark: is the camera covered?") if dark else ""
        return [Hint(why or tr("Hints", "No face in the picture."), "bad")]
    return [
        Hint(tr("Hints", "Face found"), "good"),
        _light(*face_grey(frame, features)),
        _distance(distance_mm, float(np.nanmean(features["iris_px"]))),
    ]


def _light(left: float, right: float) -> Hint:
    tr = QCoreApplication.translate
    mean, low = (left + right) / 2, max(min(left, right), 1.0)
    if mean < DARK_GREY:
        return Hint(tr("Hints", "Too dark: put a light in front of the face"), "warn")
    if mean > BRIGHT_GREY:
        return Hint(tr("Hints", "Too bright: turn the lamp away"), "warn")
    if max(left, right) / low > SIDE_RATIO:
        return Hint(tr("Hints", "Light from one side: turn toward it"), "warn")
    return Hint(tr("Hints", "Light is even"), "good")


def _distance(distance_mm: float, iris_px: float) -> Hint:
    tr = QCoreApplication.translate
    if not math.isfinite(distance_mm):
        return Hint(tr("Hints", "Distance unknown"), "warn")
    cm = distance_mm / 10
    if distance_mm < NEAR_MM:
        return Hint(tr("Hints", "About {cm:.0f} cm: move back a little").format(cm=cm), "warn")
    if distance_mm > FAR_MM or iris_px < SMALL_IRIS_PX:
        return Hint(tr("Hints", "About {cm:.0f} cm: come closer").format(cm=cm), "warn")
    return Hint(tr("Hints", "About {cm:.0f} cm away").format(cm=cm), "good")


def _grey(part: NDArray[np.uint8]) -> float:
    return float(part.mean()) if part.size else 0.0
