"""Fixation detectors by name: gazelab's own, and those of others where they are installed."""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab import __version__
from gazelab.core.errors import ConfigError
from gazelab.core.gaze import EventArray, GazeArray
from gazelab.core.geometry import Screen
from gazelab.processing import events_i2mc, events_remodnav
from gazelab.processing.blinks import PAD_S, blink_mask
from gazelab.processing.degrees import screen_in_degrees
from gazelab.processing.events import IVT_NOISE_FACTOR, IVT_RATE_HZ, Method, fixation_events
from gazelab.processing.events_ivt import FAST_DEG_S, MERGE_DEG, MERGE_S
from gazelab.processing.events_noise import NOISE_FLOOR_DEG
from gazelab.processing.events_samples import GAP_S, WINDOW_S
from gazelab.processing.events_segmentation import (
    BIN_S,
    COST_PER_OCTAVE,
    FIXATION_COST,
    LONE_COST,
    MIN_FIXATION_S,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Find = Callable[[Ints, Floats, Floats, Screen], EventArray]

DEFAULT = "gazelab"


@dataclass(frozen=True, slots=True)
class Detector:
    """One way to find fixations offline.

    Attributes
    ----------
    name : str
    summary : str
        What it is, in a few words.
    find : callable
        `find(time_ns, x_px, y_px, screen)` gives fixations, EVENT_DTYPE.
    parameters : mapping
        What it goes by; JSON-ready.
    package : str
        What must be installed; "" for gazelab's own.
    """

    name: str
    summary: str
    find: Find = field(repr=False)
    parameters: Mapping[str, Any]
    package: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether it can be used here."""
        return not self.package or importlib.util.find_spec(self.package) is not None

    def how(self) -> dict[str, Any]:
        """Say how fixations were found, as kept with results: name, version, parameters, blink padding."""
        version = importlib.metadata.version(self.package) if self.package else __version__
        return {"detector": self.name, "version": version, "blink_pad_s": PAD_S, **self.parameters}


def _own(method: Method) -> Find:
    def find(time_ns: Ints, x_px: Floats, y_px: Floats, screen: Screen) -> EventArray:
        return fixation_events(time_ns, x_px, y_px, screen, method)

    return find


_COMMON = {"min_fixation_s": MIN_FIXATION_S, "gap_s": GAP_S}
_IVT = {"velocity_deg_s": FAST_DEG_S, "window_s": WINDOW_S, "merge_deg": MERGE_DEG, "merge_s": MERGE_S}
_SEGMENTATION = {
    "fixation_cost": FIXATION_COST,
    "cost_per_octave": COST_PER_OCTAVE,
    "lone_cost": LONE_COST,
    "noise_floor_deg": NOISE_FLOOR_DEG,
    "bin_s": BIN_S,
}
_CHOICE = {"ivt_from_hz": IVT_RATE_HZ, "ivt_noise_factor": IVT_NOISE_FACTOR}

DETECTORS: Mapping[str, Detector] = MappingProxyType(
    {
        detector.name: detector
        for detector in (
            Detector(
                DEFAULT,
                "I-VT or segmentation, by measured rate and noise",
                _own("measured"),
                _CHOICE | _IVT | _SEGMENTATION | _COMMON,
            ),
            Detector("ivt", "velocity threshold, whatever the rate", _own("ivt"), _IVT | _COMMON),
            Detector(
                "segmentation",
                "penalised likelihood, whatever the rate",
                _own("segmentation"),
                _SEGMENTATION | _COMMON,
            ),
            Detector(
                "i2mc", "I2MC (Hessels 2017)", events_i2mc.i2mc_fixations, events_i2mc.PARAMETERS, "I2MC"
            ),
            Detector(
                "remodnav",
                "REMoDNaV (Dar 2021), from 158 Hz",
                events_remodnav.remodnav_fixations,
                events_remodnav.PARAMETERS,
                "remodnav",
            ),
        )
    }
)
"""By name. "gazelab" is the default; the last two need the extra `events`."""


def detector_named(name: str) -> Detector:
    """Give a detector that can be used here.

    Raises
    ------
    ConfigError
        There is none of this name, or its package is not installed.
    """
    if name not in DETECTORS:
        near = difflib.get_close_matches(name.lower(), DETECTORS, 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise ConfigError(f"there is no detector {name!r}.", todo=f"{meant}There are {', '.join(DETECTORS)}.")
    detector = DETECTORS[name]
    if not detector.is_installed:
        raise ConfigError(
            f"the detector {name} needs the package {detector.package}, which is not installed.",
            todo="Install it with: pip install 'gazelab[events]'. Or choose the detector gazelab.",
        )
    return detector


def detect(name: str, gaze: GazeArray, screen: Screen | Mapping[str, Any]) -> EventArray:
    """Find fixations by a detector's name.

    Parameters
    ----------
    name : str
        One of `DETECTORS`.
    gaze : numpy.ndarray, GAZE_DTYPE
        Raw samples; gaze within 100 ms of a blink is left out, whatever the detector.
    screen : Screen or mapping
        As for `events.detect_fixations`.

    Returns
    -------
    numpy.ndarray, shape (N,), EVENT_DTYPE
        Fixations in order, screen px.

    Raises
    ------
    ConfigError
        As `detector_named`.
    GazelabError
        The detector cannot use such gaze.
    """
    detector = detector_named(name)
    ok = gaze["valid"] & ~blink_mask(gaze["time_ns"], gaze["blink"])
    x, y = (np.where(ok, gaze[axis], np.nan).astype(float) for axis in ("x_px", "y_px"))
    return detector.find(gaze["time_ns"].astype(np.int64), x, y, screen_in_degrees(screen))
