"""Degrees for the detectors, also where the screen was never measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gazelab.core.geometry import Screen

NOMINAL = "nominal"
"""`Screen.size_source` of a screen whose size is assumed."""
NOMINAL_WIDTH_DEG = 32.0
NOMINAL_DISTANCE_MM = 600.0


class NominalGeometry(UserWarning):
    """The screen's size or distance is unknown; thresholds in degrees rest on an assumed one."""


def screen_in_degrees(screen: Screen | Mapping[str, Any]) -> Screen:
    """Give a screen on which degrees can be computed.

    Every threshold of an event detector is in degrees. Where the size or distance of the screen is unknown,
    its width is taken to be 32 degrees (a 15.6 inch laptop at 60 cm) with square pixels, and a
    `NominalGeometry` warning says so: events then stand, but no angle may be reported.

    Parameters
    ----------
    screen : Screen or mapping
        A mapping has the field names of `Screen`; others are ignored.

    Returns
    -------
    Screen
        With `has_degrees` true.
    """
    known = screen if isinstance(screen, Screen) else Screen.from_mapping(screen)
    sizes = (known.width_mm, known.height_mm, known.distance_mm)
    if known.has_degrees and min(sizes) > 0:
        return known
    warnings.warn(
        f"the size or distance of the screen {known.name!r} is unknown: its width is taken to be"
        f" {NOMINAL_WIDTH_DEG:g} degrees for finding eye movements. Measure it to make them exact.",
        NominalGeometry,
        stacklevel=3,
    )
    width_mm = 2 * NOMINAL_DISTANCE_MM * math.tan(math.radians(NOMINAL_WIDTH_DEG / 2))
    return replace(
        known,
        width_mm=width_mm,
        height_mm=width_mm * known.height_px / known.width_px,
        distance_mm=NOMINAL_DISTANCE_MM,
        size_source=NOMINAL,
    )
