"""Eye-movement events: fixations offline (the default for scores), blinks, gaps and saccades.

The method follows the measured data. From 100 Hz up with a noise that leaves 30 degrees a second far above
the speed that noise alone makes, fixations come by I-VT with the defaults of Tobii's white paper. Coarser or
noisier data, such as a webcam's, are cut by penalised likelihood (`events_segmentation`).

An event lasts from the onset to the offset, both inclusive. A sample stands for the time up to midway to its
neighbours, so a fixation of n samples at 30 Hz lasts n/30 s; no event reaches into a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.gaze import EventArray, EventKind, GazeArray, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.blinks import blink_events, blink_mask, gap_events
from gazelab.processing.degrees import NOMINAL, screen_in_degrees
from gazelab.processing.events_edges import Motion, bounds_ns, trim
from gazelab.processing.events_ivt import FAST_DEG_S, WINDOW_S, runs, slow_pieces, speed_deg_s
from gazelab.processing.events_online import OnlineFixations
from gazelab.processing.events_samples import Samples, usable_samples
from gazelab.processing.events_segmentation import BIN_S, MIN_FIXATION_S, Segmentation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Piece = tuple[int, int]

__all__ = [
    "OnlineFixations",
    "detect_events",
    "detect_fixations",
    "fixation_events",
    "impossible",
    "uses_ivt",
]

IVT_RATE_HZ = 100.0
IVT_NOISE_FACTOR = 3.5
"""I-VT is for data whose noise stays this many SDs below the threshold: one sample in 450 is misjudged."""
SACCADE_RATE_HZ = 120.0
"""Below this rate a saccade is one or two samples: no saccades are given."""
MIN_SACCADE_S = 0.010
MAX_SPEED_DEG_S = 1000.0


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
    return _fixations(usable_samples(time_ns, x_px, y_px, screen_in_degrees(screen)))[0]


def uses_ivt(interval_s: float, noise_deg: float) -> bool:
    """Tell whether data are fast and precise enough for a velocity threshold."""
    if not np.isfinite(interval_s) or interval_s > 1 / IVT_RATE_HZ:
        return False
    window_s = max(WINDOW_S, interval_s)
    return bool(IVT_NOISE_FACTOR * noise_deg * np.sqrt(2) / window_s <= FAST_DEG_S)


def fixation_events(
    time_ns: ArrayLike, x_px: ArrayLike, y_px: ArrayLike, screen: Screen | Mapping[str, Any]
) -> EventArray:
    """Find the fixations of a recording, as `detect_fixations`, with their places.

    Returns
    -------
    numpy.ndarray, shape (N,), EVENT_DTYPE
        `x_px, y_px`: mean of the raw samples, those left out as lost, out of order or spikes excepted.
    """
    samples = usable_samples(time_ns, x_px, y_px, screen_in_degrees(screen))
    return _with_places(samples, np.asarray(x_px, float), np.asarray(y_px, float))


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
    found = [_with_places(samples, x, y), blink_events(gaze), gap_events(gaze)]
    if samples.interval_s <= 1 / SACCADE_RATE_HZ and uses_ivt(samples.interval_s, samples.noise_deg):
        found.append(_saccades(samples, x, y, used.size_source != NOMINAL))
    return np.concatenate(found)


def impossible(events: EventArray) -> NDArray[np.bool_]:
    """Flag events faster than 1000 degrees a second: no eye does that, a wrong sample does."""
    out: NDArray[np.bool_] = events["peak_velocity_deg_s"] > MAX_SPEED_DEG_S
    return out


def _with_places(samples: Samples, x_px: Floats, y_px: Floats) -> EventArray:
    times, places = _fixations(samples)
    events = empty_events(len(times))
    events["kind"] = EventKind.FIXATION
    events["onset_ns"], events["offset_ns"] = times[:, 0], times[:, 1]
    for event, (first, last) in zip(events, places, strict=True):
        raw = samples.index[first : last + 1]
        event["x_px"], event["y_px"], event["n_samples"] = x_px[raw].mean(), y_px[raw].mean(), len(raw)
    return events


def _saccades(samples: Samples, x_px: Floats, y_px: Floats, with_angles: bool) -> EventArray:
    """Give the runs of fast samples; the place is where the eye landed."""
    found = []
    for start, stop in samples.segments:
        part = slice(start, stop)
        t = (samples.time_ns[part] - samples.time_ns[start]) / 1e9
        x, y = samples.x_deg[part], samples.y_deg[part]
        speed = speed_deg_s(t, x, y)
        fast = [(a, b) for a, b in runs(speed >= FAST_DEG_S) if t[b] - t[a] >= MIN_SACCADE_S]
        times = bounds_ns(
            [(a + start, b + start) for a, b in fast], samples.time_ns, samples.interval_s, (start, stop)
        )
        for (a, b), (onset, offset) in zip(fast, times, strict=True):
            event = empty_events(1)
            landed = samples.index[start + b]
            event["kind"], event["onset_ns"], event["offset_ns"] = EventKind.SACCADE, onset, offset
            event["x_px"], event["y_px"], event["n_samples"] = x_px[landed], y_px[landed], b - a + 1
            if with_angles:
                event["amplitude_deg"] = np.hypot(x[b] - x[a], y[b] - y[a])
                event["peak_velocity_deg_s"] = speed[a : b + 1].max()
            found.append(event)
    return np.concatenate(found) if found else empty_events()


def _fixations(samples: Samples) -> tuple[Ints, list[Piece]]:
    """Give times and positions (in the usable samples) of the fixations."""
    find = slow_pieces if uses_ivt(samples.interval_s, samples.noise_deg) else None
    times: list[Ints] = []
    places: list[Piece] = []
    for start, stop in samples.segments:
        part = slice(start, stop)
        t = (samples.time_ns[part] - samples.time_ns[start]) / 1e9
        x, y = samples.x_deg[part], samples.y_deg[part]
        pieces = find(t, x, y) if find else _still_pieces(t, x, y, samples)
        shifted = [(a + start, b + start) for a, b in pieces if b > a]
        bounds = bounds_ns(shifted, samples.time_ns, samples.interval_s, (start, stop))
        long_enough = bounds[:, 1] - bounds[:, 0] >= round(MIN_FIXATION_S * 1e9)
        times.append(bounds[long_enough])
        places += [piece for piece, ok in zip(shifted, long_enough, strict=True) if ok]
    return (np.concatenate(times) if times else np.empty((0, 2), np.int64)), places


def _still_pieces(t: Floats, x: Floats, y: Floats, samples: Samples) -> list[Piece]:
    """Cut one segment into fixations; samples faster than 80 Hz are averaged first, to tame their noise."""
    begins = np.arange(len(t))
    if samples.interval_s < BIN_S:
        begins = np.flatnonzero(np.diff(np.floor(t / BIN_S), prepend=-1.0))
    n = np.diff(begins, append=len(t))
    t, x, y = (np.add.reduceat(column, begins) / n for column in (t, x, y))
    noise_deg = samples.noise_deg / np.sqrt(n.mean())
    cut = Segmentation(noise_deg, max(samples.interval_s, BIN_S))
    for now, x_now, y_now in zip(t.tolist(), x.tolist(), y.tolist(), strict=True):
        cut.push(now, x_now, y_now)
    pieces = trim(cut.pieces(ended=True)[0], Motion.between(t, x, y, noise_deg))
    return [(int(begins[first]), int(begins[last] + n[last] - 1)) for first, last in pieces]
