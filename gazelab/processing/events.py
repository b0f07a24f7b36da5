"""Eye-movement events: fixations offline (the default for scores), blinks, gaps and saccades.

The method follows the measured data. From 100 Hz up with a noise that leaves 30 degrees a second far above
the speed that noise alone makes, fixations come by I-VT with the defaults of Tobii's white paper. Coarser or
noisier data, such as a webcam's, are cut by penalised likelihood (`events_segmentation`).

An event lasts from the onset to the offset, both inclusive. A sample stands for the time up to midway to its
neighbours, so a fixation of n samples at 30 Hz lasts n/30 s; no event reaches into a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.gaze import EventArray, EventKind, GazeArray, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.blinks import blink_events, blink_mask, gap_events
from gazelab.processing.degrees import NOMINAL, screen_in_degrees
from gazelab.processing.events_edges import bounds_ns
from gazelab.processing.events_ivt import FAST_DEG_S, ivt_pieces
from gazelab.processing.events_online import OnlineFixations
from gazelab.processing.events_saccades import impossible, saccades
from gazelab.processing.events_samples import WINDOW_S, Samples, usable_samples
from gazelab.processing.events_segmentation import MIN_FIXATION_S
from gazelab.processing.events_still import still_pieces

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Piece = tuple[int, int]
Method = Literal["measured", "ivt", "segmentation"]
"""How fixations are found; "measured" chooses between the others by rate and noise."""

__all__ = [
    "Method",
    "OnlineFixations",
    "detect_events",
    "detect_fixations",
    "fixation_events",
    "impossible",
    "uses_ivt",
]

IVT_RATE_HZ = 100.0
IVT_NOISE_FACTOR = 3.5
"""I-VT is for data whose noise stays this many SDs below the threshold: .12 degrees over its window. At that
noise it and the segmentation agree equally well with human coders, whether noise wanders or not."""
SACCADE_RATE_HZ = 120.0
"""Below this rate a saccade is one or two samples: no saccades are given."""


def detect_fixations(
    time_ns: ArrayLike, x_px: ArrayLike, y_px: ArrayLike, screen: Screen | Mapping[str, Any]
) -> Ints:
    """Find the fixations of a recording.

    Parameters
    ----------
    time_ns : array, shape (n,), int64
    x_px, y_px : array, shape (n,)
        Screen px; NaN = lost. Off-screen places are kept: people look past the edge.
    screen : Screen or mapping
        A mapping with the field names of `Screen`. Without millimetres a nominal size is used, with a
        `NominalGeometry` warning.

    Returns
    -------
    numpy.ndarray, shape (N, 2), int64
        Onset and offset in ns, in the order of the recording; at least 60 ms long, not overlapping. One that
        lasts to the end of the recording is closed there. (0, 2) where there are none.

    Raises
    ------
    ValueError
        The columns differ in length.
    """
    return _fixations(usable_samples(time_ns, x_px, y_px, screen_in_degrees(screen)), "measured")[0]


def uses_ivt(interval_s: float, noise_deg: float) -> bool:
    """Tell whether data are fast and precise enough for a velocity threshold.

    Parameters
    ----------
    interval_s : float
        Median time between samples.
    noise_deg : float
        Robust SD of one sample on one axis, from samples 20 ms apart (`Samples.window_noise_deg`).
    """
    if not np.isfinite(interval_s) or interval_s > 1 / IVT_RATE_HZ:
        return False
    window_s = max(WINDOW_S, interval_s)
    return bool(IVT_NOISE_FACTOR * noise_deg * np.sqrt(2) / window_s <= FAST_DEG_S)


def fixation_events(
    time_ns: ArrayLike,
    x_px: ArrayLike,
    y_px: ArrayLike,
    screen: Screen | Mapping[str, Any],
    method: Method = "measured",
) -> EventArray:
    """Find the fixations of a recording, as `detect_fixations`, with their places.

    Parameters
    ----------
    time_ns, x_px, y_px, screen
        As for `detect_fixations`.
    method : {"measured", "ivt", "segmentation"}

    Returns
    -------
    numpy.ndarray, shape (N,), EVENT_DTYPE
        `x_px, y_px`: mean of the raw samples, those left out as lost, out of order or spikes excepted.
    """
    samples = usable_samples(time_ns, x_px, y_px, screen_in_degrees(screen))
    return _with_places(samples, np.asarray(x_px, float), np.asarray(y_px, float), method)


def detect_events(gaze: GazeArray, screen: Screen | Mapping[str, Any]) -> EventArray:
    """Find fixations, blinks and gaps, and from 120 Hz up saccades.

    Parameters
    ----------
    gaze : numpy.ndarray, GAZE_DTYPE
        Raw samples; `blink` says where the lids are shut. Gaze within 100 ms of a blink is left out
        (`blinks.blink_mask`); the samples themselves are not changed.
    screen : Screen or mapping

    Returns
    -------
    numpy.ndarray, EVENT_DTYPE
        By kind and onset. Saccades are given only where I-VT applies; `impossible` flags those faster than
        an eye. Angles are NaN where the screen's size is unknown.
    """
    used = screen_in_degrees(screen)
    ok = gaze["valid"] & ~blink_mask(gaze["time_ns"], gaze["blink"])
    x, y = (np.where(ok, gaze[name], np.nan).astype(float) for name in ("x_px", "y_px"))
    samples = usable_samples(gaze["time_ns"], x, y, used)
    found = [_with_places(samples, x, y, "measured"), blink_events(gaze), gap_events(gaze)]
    if samples.interval_s <= 1 / SACCADE_RATE_HZ and _is_ivt(samples, "measured"):
        found.append(saccades(samples, x, y, used.size_source != NOMINAL))
    return np.concatenate(found)


def _with_places(samples: Samples, x_px: Floats, y_px: Floats, method: Method) -> EventArray:
    times, places = _fixations(samples, method)
    events = empty_events(len(times))
    events["kind"] = EventKind.FIXATION
    events["onset_ns"], events["offset_ns"] = times[:, 0], times[:, 1]
    for event, (first, last) in zip(events, places, strict=True):
        raw = samples.index[first : last + 1]
        event["x_px"], event["y_px"], event["n_samples"] = x_px[raw].mean(), y_px[raw].mean(), len(raw)
    return events


def _fixations(samples: Samples, method: Method) -> tuple[Ints, list[Piece]]:
    """Give times and positions (in the usable samples) of the fixations."""
    found = ivt_pieces(samples) if _is_ivt(samples, method) else still_pieces(samples)
    times: list[Ints] = []
    places: list[Piece] = []
    for (start, stop), pieces in zip(samples.segments, found, strict=True):
        shifted = [(a + start, b + start) for a, b in pieces if b > a]
        bounds = bounds_ns(shifted, samples.time_ns, samples.interval_s, (start, stop))
        long_enough = bounds[:, 1] - bounds[:, 0] >= round(MIN_FIXATION_S * 1e9)
        times.append(bounds[long_enough])
        places += [piece for piece, ok in zip(shifted, long_enough, strict=True) if ok]
    return (np.concatenate(times) if times else np.empty((0, 2), np.int64)), places


def _is_ivt(samples: Samples, method: Method) -> bool:
    if method == "measured":
        return uses_ivt(samples.interval_s, samples.window_noise_deg)
    return method == "ivt"
