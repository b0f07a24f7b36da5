"""REMoDNaV, where it is installed: adaptive velocities, made for 200 Hz and more."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
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
    {"savgol_length": 0.019, "min_fixation_duration": 0.060, "labels": "FIXA PURS"}
)
"""Defaults of the package but for the least duration. On a picture that stands still, what it labels as
pursuit is a fixation that drifts."""
LEAST_RATE_HZ = 3 / 0.019
"""Below it the smoothing of 19 ms spans fewer than three samples."""


def remodnav_fixations(time_ns: Ints, x_px: Floats, y_px: Floats, screen: Screen) -> EventArray:
    """Find fixations as REMoDNaV does, on gaze put on an even grid.

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
        The gaze is slower than 158 Hz, or the package cannot use it.

    References
    ----------
    Dar, Wagner, Hanke (2021). Behavior Research Methods 53, 399-414. 10.3758/s13428-020-01428-x
    """
    found = [empty_events()]
    for stretch in even_stretches(time_ns, x_px, y_px):
        if stretch.rate_hz < LEAST_RATE_HZ:
            raise GazelabError(
                f"REMoDNaV cannot read gaze at {stretch.rate_hz:.0f} Hz: it smooths over 19 ms and takes"
                f" saccades by their speed, which needs {LEAST_RATE_HZ:.0f} samples a second or more.",
                todo="Choose the detector gazelab.",
            )
        if stretch.has_gaze():
            found += _fixations(stretch, screen)
    return np.concatenate(found)


def _fixations(stretch: Stretch, screen: Screen) -> list[EventArray]:
    from remodnav import EyegazeClassifier

    # Its import turns a running commentary on, hundreds of lines a recording.
    logging.getLogger("remodnav.clf").setLevel(logging.ERROR)
    data = np.empty(len(stretch.x_px), [("x", float), ("y", float)])
    data["x"], data["y"] = stretch.x_px, stretch.y_px
    window = 2 * (int(PARAMETERS["savgol_length"] * stretch.rate_hz - 1) // 2) + 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier = EyegazeClassifier(
                px2deg=1 / screen.px_per_deg(),
                sampling_rate=stretch.rate_hz,
                min_fixation_duration=PARAMETERS["min_fixation_duration"],
            )
            events = classifier(classifier.preproc(data, savgol_length=(window + 0.5) / stretch.rate_hz))
    except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError) as fault:
        raise GazelabError(
            f"REMoDNaV cannot use this gaze ({str(fault).strip()}).", todo="Choose the detector gazelab."
        ) from fault
    return [stretch.event(first, last) for first, last in _joined(events, stretch)]


def _joined(events: Sequence[Mapping[str, Any]], stretch: Stretch) -> list[tuple[int, int]]:
    """Give first and last sample of the fixations; one that goes on as pursuit is one."""
    labels, last_sample = PARAMETERS["labels"].split(), len(stretch.x_px) - 1
    out: list[tuple[int, int]] = []
    for event in events:
        first, stop = (round(event[key] * stretch.rate_hz) for key in ("start_time", "end_time"))
        if event["label"] not in labels or stop <= first + 1:
            continue
        last = min(stop - 1, last_sample)
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return out
