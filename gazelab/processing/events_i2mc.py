"""I2MC, where it is installed: fixations by two-means clustering, made for noisy data of 200 Hz and more."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import GazelabError
from gazelab.core.gaze import EventArray, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.events_regular import Stretch, even_stretches

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARAMETERS: Mapping[str, Any] = MappingProxyType(
    {"windowtime": 0.2, "steptime": 0.02, "cutoffstd": 2.0, "maxMergeDist_deg": 0.5, "minFixDur": 60.0}
)
"""Defaults of the package but for the merging distance, which is in degrees here (it is 30 px there), and the
least duration, which is gazelab's."""
DOWNSAMPLES = (2, 5, 10)
FILTER_SAMPLES = 25
"""The Chebyshev filter before downsampling needs so many samples in the window."""


def i2mc_fixations(time_ns: Ints, x_px: Floats, y_px: Floats, screen: Screen) -> EventArray:
    """Find fixations as I2MC does, on gaze put on an even grid.

    Parameters
    ----------
    time_ns : numpy.ndarray, shape (n,), int64
    x_px, y_px : numpy.ndarray, shape (n,)
        Screen px, NaN = lost.
    screen : Screen
        With known size and distance.

    Raises
    ------
    GazelabError
        The package cannot use the data.

    References
    ----------
    Hessels, Niehorster, Kemner, Hooge (2017). Behavior Research Methods 49, 1802-1823.
    10.3758/s13428-016-0822-1
    """
    import I2MC

    found = [empty_events()]
    for stretch in even_stretches(time_ns, x_px, y_px):
        if not stretch.has_gaze():
            continue
        columns = {
            "time": np.arange(len(stretch.x_px)) * (stretch.interval_ns / 1e6),
            "average_X": stretch.x_px,
            "average_Y": stretch.y_px,
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fixations = I2MC.I2MC(columns, options_of(stretch, screen), logging=False)[0]
        except (ValueError, IndexError, AssertionError, ZeroDivisionError, np.linalg.LinAlgError) as fault:
            raise GazelabError(
                f"I2MC cannot use this gaze ({fault}).", todo="Choose the detector gazelab."
            ) from fault
        starts, ends = (np.asarray(fixations[key], int) for key in ("start", "end"))
        found += [stretch.event(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    return np.concatenate(found)


def options_of(stretch: Stretch, screen: Screen) -> dict[str, Any]:
    """Give the package's options for data of this rate on this screen."""
    rate = max(1, round(stretch.rate_hz))
    in_window = round(PARAMETERS["windowtime"] * rate)
    return {
        "xres": float(screen.width_px),
        "yres": float(screen.height_px),
        "freq": float(rate),
        "missingx": math.nan,
        "missingy": math.nan,
        "windowtime": PARAMETERS["windowtime"],
        "steptime": PARAMETERS["steptime"],
        "cutoffstd": PARAMETERS["cutoffstd"],
        "downsamples": [n for n in DOWNSAMPLES if rate % n == 0 and n <= in_window],
        "downsampFilter": in_window >= FILTER_SAMPLES,
        "maxMergeDist": PARAMETERS["maxMergeDist_deg"] * screen.px_per_deg(),
        "minFixDur": PARAMETERS["minFixDur"],
    }
