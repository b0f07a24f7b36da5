"""Measure one trial's gaze: time, blinks, places, precision, speed, and what happened meanwhile."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import GazeArray
from gazelab.pipeline.drift_marks import drift_marks
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.trial_quality import TrialQuality
from gazelab.processing import quality, time_loss
from gazelab.processing.blinks import PAD_S, blink_mask
from gazelab.processing.degrees import screen_in_degrees
from gazelab.processing.detectors import DEFAULT
from gazelab.processing.events import uses_ivt
from gazelab.processing.events_ivt import runs
from gazelab.processing.events_saccades import impossible_mask
from gazelab.processing.events_samples import usable_samples
from gazelab.sessions.markers import Marker, MarkerKind
from gazelab.sessions.stamps import FORWARD_LEAP_NS
from gazelab.sessions.trials import Trial

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MIN_FIXATION_SAMPLES = 3
"""With fewer, a fixation's spread says nothing of the noise."""
IVT, SEGMENTATION = "I-VT", "likelihood segmentation"
LOST_STATES = ("lost", "error")


def measure_trial(
    replay: Replay, trial: Trial, low_confidence: float, has_head_box: bool = True
) -> TrialQuality:
    """Measure one trial.

    Parameters
    ----------
    replay : Replay
    trial : Trial
    low_confidence : float
        Samples below it count in `low_confidence_share`.
    has_head_box : bool
        Whether the calibration knows in which head poses it holds.
    """
    samples = replay.samples(trial)
    seen = samples["valid"] & np.isfinite(samples["x_px"]) & np.isfinite(samples["y_px"])
    spoilt = _spoilt_by_blinks(replay, trial)
    drift = drift_marks(replay.session.markers(), replay.layers != "raw")
    if replay.recalibrated(trial):
        drift = [dataclasses.replace(mark, superseded=True) for mark in drift]
    before = [mark for mark in drift if mark.time_ns <= trial.onset_ns]
    after = [mark for mark in drift if mark.time_ns >= trial.offset_ns]
    return TrialQuality(
        trial=trial.index,
        chart_id=trial.chart_id,
        duration_s=(trial.offset_ns - trial.onset_ns) / 1e9,
        n_samples=len(samples),
        **_times(samples, seen, trial),
        **_blinks(samples, seen, spoilt),
        **_places(replay, samples, seen & ~spoilt, trial),
        **_precision(replay, samples, seen & ~spoilt, trial),
        **_speeds(replay, samples, seen & ~spoilt),
        repeated_share=_repeated(replay, samples, seen),
        **_stamps(replay, trial),
        **_happenings(replay.session.markers(), trial),
        drift_before=before[-1] if before else None,
        drift_after=after[0] if after else None,
        outside_box_share=_share(samples["outside_head_box"][seen]) if has_head_box else math.nan,
        low_confidence_share=_low(samples["confidence"][seen], low_confidence),
        n_focus_lost=trial.n_focus_lost,
        two_faces_share=_two_faces(replay, trial),
        answered=trial.given is not None,
        skipped=trial.skipped,
        complete=trial.complete,
    )


def _times(samples: GazeArray, seen: Bools, trial: Trial) -> dict[str, Any]:
    forward = time_loss.forward_rows(samples["time_ns"])
    t, has_gaze = samples["time_ns"][forward], seen[forward]
    stretch = (trial.onset_ns, trial.offset_ns)
    interval_ns = time_loss.typical_interval_ns(t)
    return {
        "rate_hz": 1e9 / interval_ns,
        "uneven_share": time_loss.uneven_share(t),
        "longest_gap_s": time_loss.longest_gap_s(t, has_gaze, *stretch),
        "data_loss": _share(~seen),
        "time_loss": time_loss.time_loss(t, has_gaze, *stretch),
    }


def _spoilt_by_blinks(replay: Replay, trial: Trial) -> Bools:
    """Tell which of the trial's samples lie in a blink or its padding, a blink just outside included."""
    gaze, pad_ns = replay.session.gaze(), round(PAD_S * 1e9)
    times = gaze["time_ns"]
    near = gaze[(times >= trial.onset_ns - pad_ns) & (times < trial.offset_ns + pad_ns)]
    inside = (near["time_ns"] >= trial.onset_ns) & (near["time_ns"] < trial.offset_ns)
    return blink_mask(near["time_ns"], near["blink"])[inside]


def _blinks(samples: GazeArray, seen: Bools, spoilt: Bools) -> dict[str, Any]:
    return {
        "n_blinks": len(runs(samples["blink"].astype(bool))),
        "blink_share": _share(spoilt),
        "blink_loss": _share(spoilt & ~seen),
    }


def _places(replay: Replay, samples: GazeArray, seen: Bools, trial: Trial) -> dict[str, Any]:
    x, y = samples["x_px"][seen].astype(float), samples["y_px"][seen].astype(float)
    on_chart = np.zeros(len(x), bool)
    times = samples["time_ns"][seen]
    for start_ns, placement in [(trial.onset_ns, trial.placement), *trial.moves]:
        since = times >= start_ns
        on_chart[since] = placement.contains(x[since], y[since])
    xy, _ = replay.fixations_on_picture(trial)
    width, height = trial.placement.picture_width_px, trial.placement.picture_height_px
    n_on = int(((xy >= 0).all(axis=1) & (xy[:, 0] < width) & (xy[:, 1] < height)).sum())
    return {
        "off_screen_share": _share(~replay.screen.contains(x, y)),
        "off_chart_share": _share(~on_chart),
        "n_fixations": len(xy),
        "n_on_chart": n_on,
    }


def _precision(replay: Replay, samples: GazeArray, seen: Bools, trial: Trial) -> dict[str, Any]:
    """Measure the noise within fixations; neither a lost sample nor one that never came is bridged."""
    forward = time_loss.forward_rows(samples["time_ns"])
    t = samples["time_ns"][forward]
    interval_ns = time_loss.typical_interval_ns(t)
    px = [np.where(seen, samples[name], np.nan)[forward].astype(float) for name in ("x_px", "y_px")]
    places = np.stack([*px, *replay.screen.to_deg(*px)], -1)
    found: dict[str, list[float]] = {name: [] for name in ("rms_s2s_px", "sd_px", "rms_s2s_deg", "sd_deg")}
    for event in replay.fixations(trial):
        first, end = np.searchsorted(t, [event["onset_ns"], event["offset_ns"] + 1])
        if np.isfinite(places[first:end, 0]).sum() < MIN_FIXATION_SAMPLES:
            continue
        rows = time_loss.split_at_gaps(t[first:end], places[first:end], interval_ns)
        for unit, x, y in (("px", rows[:, 0], rows[:, 1]), ("deg", rows[:, 2], rows[:, 3])):
            found[f"rms_s2s_{unit}"].append(quality.precision_rms_s2s_deg(x, y))
            found[f"sd_{unit}"].append(quality.precision_sd_deg(x, y))
    return {name: _median(values) for name, values in found.items()}


def _speeds(replay: Replay, samples: GazeArray, seen: Bools) -> dict[str, Any]:
    x, y = (np.where(seen, samples[name], np.nan).astype(float) for name in ("x_px", "y_px"))
    usable = usable_samples(samples["time_ns"], x, y, screen_in_degrees(replay.screen))
    detector = IVT if uses_ivt(usable.interval_s, usable.window_noise_deg) else SEGMENTATION
    if replay.detector.name != DEFAULT:
        detector = replay.detector.name
    if not replay.screen.has_degrees:
        return {"detector": detector, "n_impossible": None, "impossible_share": math.nan}
    flagged = impossible_mask(samples["time_ns"], x, y, replay.screen)
    return {
        "detector": detector,
        "n_impossible": int(flagged.sum()),
        "impossible_share": _share(flagged[seen]),
    }


def _repeated(replay: Replay, samples: GazeArray, seen: Bools) -> float:
    if not replay.session.header.feature_version:
        return math.nan
    return time_loss.repeated_share(*(np.where(seen, samples[name], np.nan) for name in ("x_px", "y_px")))


def _stamps(replay: Replay, trial: Trial) -> dict[str, Any]:
    """Count bad stamps and leaps; a leap over the trial's edge is one if its part within the trial is."""
    times, check = replay.session.gaze()["time_ns"], replay.session.stamps
    rows = np.flatnonzero((times >= trial.onset_ns) & (times < trial.offset_ns))
    leaps = check.starts[1:]
    within = (leaps > rows[0]) & (leaps <= rows[-1]) if len(rows) else np.zeros(len(leaps), bool)
    until, since = (np.clip(times[at], trial.onset_ns, trial.offset_ns) for at in (leaps, leaps - 1))
    within |= until - since > FORWARD_LEAP_NS
    return {"n_bad_stamps": int(check.bad[rows].sum()), "n_leaps": int(within.sum())}


def _happenings(markers: list[Marker], trial: Trial) -> dict[str, Any]:
    """Count what happened in the trial; a source that was away when it began counts too."""
    inside = [m for m in markers if trial.onset_ns <= m["time_ns"] < trial.offset_ns]
    kinds = [m["kind"] for m in inside]
    earlier = [m for m in markers if m["kind"] == MarkerKind.SOURCE_STATE and m["time_ns"] < trial.onset_ns]
    states = [m.get("state") for m in (*earlier[-1:], *inside) if m["kind"] == MarkerKind.SOURCE_STATE]
    dropped = [m for m in inside if m["kind"] == MarkerKind.GAP and m.get("stream") == "gaze"]
    return {
        "n_pauses": kinds.count(MarkerKind.PAUSE),
        "n_source_lost": sum(state in LOST_STATES for state in states),
        "n_dropped": sum(n for m in dropped if isinstance(n := m.get("n_rows"), int)),
    }


def _two_faces(replay: Replay, trial: Trial) -> float:
    features = replay.session.features()
    times = features["time_ns"]
    inside = features[(times >= trial.onset_ns) & (times < trial.offset_ns)]
    return _share(inside["n_faces"] > 1)


def _low(confidence: Floats, limit: float) -> float:
    return _share(confidence[np.isfinite(confidence)] < limit)


def _share(mask: NDArray[Any]) -> float:
    return float(mask.mean()) if len(mask) else math.nan


def _median(values: list[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return float(np.median(finite)) if finite else math.nan
