"""The figures that say how good one trial's gaze is; nothing is judged here.

Angles are in degrees as `Screen.to_deg` gives them, and NaN where the screen's size is unknown. What was not
measured is NaN or None, never 0.

References
----------
Dunn, Alexander, Amiebenomo et al. (2023). Minimal reporting guideline for research involving eye tracking.
Behavior Research Methods. 10.3758/s13428-023-02187-1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import GazeArray
from gazelab.pipeline.drift_marks import DriftMark, drift_marks
from gazelab.pipeline.replay import Replay
from gazelab.processing import quality, time_loss
from gazelab.processing.blinks import PAD_S, blink_mask
from gazelab.processing.events_ivt import runs
from gazelab.sessions.markers import Marker, MarkerKind
from gazelab.sessions.trials import Trial

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MIN_FIXATION_SAMPLES = 3
"""With fewer, a fixation's spread says nothing of the noise."""
LOST_STATES = ("lost", "error")


@dataclass(frozen=True, slots=True)
class TrialQuality:
    """One trial's figures. Shares are 0..1; NaN where there was nothing to measure.

    Attributes
    ----------
    trial : int
        Its place in the session, from 0.
    chart_id : str
    duration_s : float
    n_samples : int
    rate_hz : float
        From the median step between stamps.
    uneven_share : float
        Of the steps: off by more than half the median one.
    longest_gap_s : float
        From one sample with gaze to the next, the trial's ends included.
    data_loss : float
        Of the samples.
    time_loss : float
        Of the trial's time: lost samples, and frames that never came.
    blink_loss : float
        Of the samples: those lost in a blink or its padding.
    n_blinks : int
        Runs of shut lids.
    blink_share : float
        Of the samples: lids shut, or within the padding.
    off_screen_share, off_chart_share : float
        Of the samples with gaze that no blink spoils, edges half-open. Reading the question is off the chart.
    rms_s2s_deg, rms_s2s_px, sd_deg, sd_px : float
        Precision within fixations: the median over those of three samples or more.
    n_fixations, n_on_chart : int
        Offline fixations, and those of them on the chart.
    drift_before, drift_after : DriftMark or None
        The last drift check before the trial and the first after it.
    outside_box_share : float
        Of the samples with gaze: the head was outside the calibrated box. NaN where no box is known.
    low_confidence_share : float
        Of the samples with gaze and a confidence.
    n_impossible : int or None
        Steps faster than 1000 degrees a second; None where there are no degrees.
    impossible_share : float
        The same, of the steps between samples with gaze.
    repeated_share : float
        Of the same steps: exactly the same place again, as from a picture that came twice. NaN for sources
        without pictures.
    n_bad_stamps, n_leaps : int
        Stamps that do not go forward; leaps of the clock.
    n_focus_lost, n_pauses, n_source_lost, n_dropped : int
        Another window had the keyboard; the study stood still; the source was away; samples that could not
        be stored.
    two_faces_share : float
        Of the pictures; NaN where the source has none.
    answered, skipped, complete : bool
    """

    trial: int
    chart_id: str
    duration_s: float
    n_samples: int
    rate_hz: float
    uneven_share: float
    longest_gap_s: float
    data_loss: float
    time_loss: float
    blink_loss: float
    n_blinks: int
    blink_share: float
    off_screen_share: float
    off_chart_share: float
    rms_s2s_deg: float
    rms_s2s_px: float
    sd_deg: float
    sd_px: float
    n_fixations: int
    n_on_chart: int
    drift_before: DriftMark | None
    drift_after: DriftMark | None
    outside_box_share: float
    low_confidence_share: float
    n_impossible: int | None
    impossible_share: float
    repeated_share: float
    n_bad_stamps: int
    n_leaps: int
    n_focus_lost: int
    n_pauses: int
    n_source_lost: int
    n_dropped: int
    two_faces_share: float
    answered: bool
    skipped: bool
    complete: bool

    @property
    def loss(self) -> float:
        """The greater of both losses; NaN without either."""
        return max((v for v in (self.data_loss, self.time_loss) if math.isfinite(v)), default=math.nan)

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values: what was not measured is None."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


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
        **_precision(replay, samples, seen, trial),
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
    good = seen & time_loss.forward_rows(samples["time_ns"])
    t = samples["time_ns"][good]
    px = [samples[name][good].astype(float) for name in ("x_px", "y_px")]
    places = np.stack([*px, *replay.screen.to_deg(*px)], -1)
    found: dict[str, list[float]] = {name: [] for name in ("rms_s2s_px", "sd_px", "rms_s2s_deg", "sd_deg")}
    for event in replay.fixations(trial):
        first, end = np.searchsorted(t, [event["onset_ns"], event["offset_ns"] + 1])
        if end - first < MIN_FIXATION_SAMPLES:
            continue
        rows = time_loss.split_at_gaps(t[first:end], places[first:end])
        for unit, x, y in (("px", rows[:, 0], rows[:, 1]), ("deg", rows[:, 2], rows[:, 3])):
            found[f"rms_s2s_{unit}"].append(quality.precision_rms_s2s_deg(x, y))
            found[f"sd_{unit}"].append(quality.precision_sd_deg(x, y))
    return {name: _median(values) for name, values in found.items()}


def _speeds(replay: Replay, samples: GazeArray, seen: Bools) -> dict[str, Any]:
    if not replay.screen.has_degrees:
        return {"n_impossible": None, "impossible_share": math.nan}
    forward = time_loss.forward_rows(samples["time_ns"])
    x, y = (np.where(seen, samples[name], np.nan)[forward].astype(float) for name in ("x_px", "y_px"))
    x_deg, y_deg = replay.screen.to_deg(x, y)
    n = time_loss.impossible_steps(samples["time_ns"][forward], x_deg, y_deg)
    n_steps = int(np.isfinite(np.diff(x_deg) + np.diff(y_deg)).sum())
    return {"n_impossible": n, "impossible_share": n / n_steps if n_steps else math.nan}


def _repeated(replay: Replay, samples: GazeArray, seen: Bools) -> float:
    if not replay.session.header.feature_version:
        return math.nan
    return time_loss.repeated_share(*(np.where(seen, samples[name], np.nan) for name in ("x_px", "y_px")))


def _stamps(replay: Replay, trial: Trial) -> dict[str, Any]:
    times, check = replay.session.gaze()["time_ns"], replay.session.stamps
    rows = np.flatnonzero((times >= trial.onset_ns) & (times < trial.offset_ns))
    leaps = check.starts[1:]
    within = (leaps > rows[0]) & (leaps <= rows[-1]) if len(rows) else np.zeros(len(leaps), bool)
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


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
