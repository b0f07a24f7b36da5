"""Blinks and losses as events, and the padding that keeps a closing lid out of the gaze."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.gaze import EventArray, EventKind, GazeArray, empty_events
from gazelab.processing.events_ivt import runs
from gazelab.processing.events_samples import longest_bridge_s

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

PAD_S = 0.100
"""Around a blink the lid still covers part of the iris and drags the gaze down; 50 to 100 ms are usual."""


def blink_mask(time_ns: ArrayLike, blink: ArrayLike, pad_s: float = PAD_S) -> Bools:
    """Tell which samples a blink spoils.

    Parameters
    ----------
    time_ns : array, shape (n,), int64
    blink : array of bool, shape (n,)
        The lids are shut.
    pad_s : float
        How long before and after, by the stamps.

    Returns
    -------
    numpy.ndarray of bool, shape (n,)
    """
    t, shut = np.asarray(time_ns, np.int64), np.asarray(blink, bool)
    mask = shut.copy()
    pad = round(pad_s * 1e9)
    for first, last in runs(shut):
        mask |= (t >= t[first] - pad) & (t <= t[last] + pad)
    return mask


def blink_events(gaze: GazeArray) -> EventArray:
    """Give each run of shut lids as an event, without the padding.

    Returns
    -------
    numpy.ndarray, EVENT_DTYPE
        No place, no amplitude; from the first to the last sample with shut lids.
    """
    return _events(EventKind.BLINK, gaze["time_ns"], runs(gaze["blink"].astype(bool)))


def gap_events(gaze: GazeArray) -> EventArray:
    """Give each stretch without gaze that is too long to bridge and holds no blink.

    Returns
    -------
    numpy.ndarray, EVENT_DTYPE
        From the first to the last lost sample, or midway between the samples around one that never came.
    """
    t = gaze["time_ns"].astype(np.int64)
    seen = np.flatnonzero(_has_gaze(gaze))
    steps_s = np.diff(t)[np.diff(t) > 0] / 1e9
    if not steps_s.size:
        return empty_events()
    bridge_ns = longest_bridge_s(steps_s) * 1e9
    found = []
    for before, after in zip([-1, *seen.tolist()], [*seen.tolist(), len(t)], strict=True):
        start = t[before] if before >= 0 else t[0]
        stop = t[after] if after < len(t) else t[-1]
        if stop - start > bridge_ns and not gaze["blink"][before + 1 : after].any():
            found.append((before, after))
    events = empty_events(len(found))
    for event, (before, after) in zip(events, found, strict=True):
        lost = slice(before + 1, after)
        event["kind"], event["n_samples"] = EventKind.GAP, after - before - 1
        if after - before > 1:
            event["onset_ns"], event["offset_ns"] = t[lost][0], t[lost][-1]
        else:
            event["onset_ns"], event["offset_ns"] = t[before] + 1, t[after] - 1
    return events


def _has_gaze(gaze: GazeArray) -> Bools:
    out: Bools = gaze["valid"] & np.isfinite(gaze["x_px"]) & np.isfinite(gaze["y_px"])
    return out


def _events(kind: EventKind, time_ns: Ints, pieces: list[tuple[int, int]]) -> EventArray:
    events = empty_events(len(pieces))
    for event, (first, last) in zip(events, pieces, strict=True):
        event["kind"], event["n_samples"] = kind, last - first + 1
        event["onset_ns"], event["offset_ns"] = time_ns[first], time_ns[last]
    return events
