"""Saccades where data are fast and precise, and what is too fast for an eye."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.gaze import EventArray, EventKind, empty_events
from gazelab.core.geometry import Screen
from gazelab.processing.degrees import screen_in_degrees
from gazelab.processing.events_edges import bounds_ns
from gazelab.processing.events_ivt import FAST_DEG_S, runs, speed_deg_s
from gazelab.processing.events_samples import (
    SPIKE_SIGMAS,
    Samples,
    lost_samples,
    sample_noise_deg,
    stamp_order,
)

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MIN_SACCADE_S = 0.010
MAX_SPEED_DEG_S = 1000.0
"""The fastest saccades, of 40 degrees and more, stay below some 900 degrees a second."""


def impossible(events: EventArray) -> NDArray[np.bool_]:
    """Flag events faster than 1000 degrees a second: no eye does that, a wrong sample does."""
    out: NDArray[np.bool_] = events["peak_velocity_deg_s"] > MAX_SPEED_DEG_S
    return out


def impossible_mask(
    time_ns: ArrayLike, x_px: ArrayLike, y_px: ArrayLike, screen: Screen | Mapping[str, Any]
) -> Bools:
    """Flag the samples that an eye could not have reached since the last one before that is not flagged.

    Nothing is left out by this: it is for reports. Six SDs of the noise are taken off each step.

    Parameters
    ----------
    time_ns : array, shape (n,), int64
    x_px, y_px : array, shape (n,)
        Screen px, NaN = lost.
    screen : Screen or mapping
        As for `events.detect_fixations`.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
        True where it takes more than 1000 degrees a second. Lost samples and those with bad stamps are False.
    """
    t = np.asarray(time_ns, np.int64)
    x, y = np.asarray(x_px, float), np.asarray(y_px, float)
    x_deg, y_deg = screen_in_degrees(screen).to_deg(x, y)
    in_order, clock = stamp_order(t)
    seen = np.flatnonzero(in_order & ~lost_samples(x, y, x_deg, y_deg))
    place = np.stack([x_deg[seen], y_deg[seen]], axis=-1)
    noise_deg = SPIKE_SIGMAS * sample_noise_deg(*place.T) if len(seen) > 1 else 0.0

    def too_fast(a: int, b: int) -> bool:
        way = float(np.hypot(*(place[b] - place[a])))
        span_s = (t[seen[b]] - t[seen[a]]) / 1e9
        return bool(clock[seen[a]] == clock[seen[b]] and way > noise_deg + MAX_SPEED_DEG_S * span_s)

    flagged = np.zeros(len(t), bool)
    steps_s = np.diff(t[seen]) / 1e9
    way = np.hypot(*np.diff(place, axis=0).T)
    for i in np.flatnonzero(way > noise_deg + MAX_SPEED_DEG_S * steps_s).tolist():
        k = i + 1
        while not flagged[seen[i]] and k < len(seen) and too_fast(i, k):
            flagged[seen[k]] = True
            k += 1
    return flagged


def saccades(samples: Samples, x_px: Floats, y_px: Floats, with_angles: bool) -> EventArray:
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
