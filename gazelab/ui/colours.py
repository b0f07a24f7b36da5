"""Colours of the layers: people are blue, models are orange, and more is always darker and less transparent.

The two ramps run from light to dark in OKLab, so that order survives grey printing and colour blindness; blue
against orange is the pair that all common forms of colour blindness keep apart (Okabe and Ito 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

NEUTRAL_RGB = (208, 208, 208)
"""Round every stimulus, whatever the theme: gaze and pupils must not depend on the desktop's looks."""
GAZE_RGB = (0, 90, 160)
MODEL_RGB = (190, 75, 0)
DARK_MODEL_RGB = (250, 172, 84)
"""Models' orange on the tools' dark ground."""

MAX_ALPHA = 0.68

# Björn Ottosson's OKLab (2020): sRGB (linear) -> cone responses -> lightness and two opponent axes.
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@dataclass(frozen=True, eq=False)
class ColourMap:
    """A ramp of 256 colours with transparency.

    Attributes
    ----------
    name : str
    rgba : numpy.ndarray, shape (256, 4), uint8
        From the lowest value (clear) to the highest.
    """

    name: str
    rgba: NDArray[np.uint8]


def lightness(rgb: ArrayLike) -> Floats:
    """OKLab lightness of sRGB colours.

    Parameters
    ----------
    rgb : array, shape (..., 3)
        0..255.

    Returns
    -------
    numpy.ndarray, shape (...)
        0 (black) to 1 (white).
    """
    out: Floats = _to_oklab(np.asarray(rgb, float) / 255)[..., 0]
    return out


def contrast(first: tuple[int, int, int], second: tuple[int, int, int]) -> float:
    """Contrast ratio of two sRGB colours, 1..21, by WCAG 2.2 (relative luminance)."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ _linear(np.asarray(c, float) / 255)) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


def _linear(srgb: Floats) -> Floats:
    out: Floats = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return out


def _to_oklab(srgb: Floats) -> Floats:
    out: Floats = np.cbrt(_linear(srgb) @ _TO_LMS.T) @ _TO_LAB.T
    return out


def _from_oklab(lab: Floats) -> Floats:
    linear = np.clip(((lab @ np.linalg.inv(_TO_LAB).T) ** 3) @ np.linalg.inv(_TO_LMS).T, 0, 1)
    out: Floats = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return out


def _ramp(name: str, anchors: list[tuple[int, int, int]]) -> ColourMap:
    lab = _to_oklab(np.asarray(anchors, float) / 255)
    at = np.linspace(0, len(anchors) - 1, 256)
    mixed = np.stack([np.interp(at, np.arange(len(anchors)), lab[:, k]) for k in range(3)], -1)
    rgba = np.empty((256, 4), np.uint8)
    rgba[:, :3] = np.round(_from_oklab(mixed) * 255)
    # Quickly off the ground, so that a weak blob is seen, yet never so opaque that the chart is hidden.
    rgba[:, 3] = np.round(255 * MAX_ALPHA * np.linspace(0, 1, 256) ** 0.75)
    return ColourMap(name, rgba)


GAZE_MAP = _ramp("gaze", [(214, 238, 255), (104, 180, 232), (20, 110, 190), (4, 44, 110)])
MODEL_MAP = _ramp("model", [(255, 232, 196), (250, 172, 84), (214, 94, 12), (118, 30, 2)])
NUMBER_MAP = _ramp("numbers", [(255, 249, 240), (253, 205, 140), (224, 112, 30), (110, 28, 2)])
DARK_NUMBER_MAP = _ramp("numbers on dark", [(38, 45, 55), (110, 66, 30), (214, 122, 40), (255, 226, 170)])
"""For cells without a chart below, drawn opaque; on dark ground more is lighter."""
