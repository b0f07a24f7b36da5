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

from gazelab.pipeline.drift_marks import DriftMark


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
    detector : str
        What found them, by the trial's rate and noise.
    drift_before, drift_after : DriftMark or None
        The last drift check before the trial and the first after it.
    outside_box_share : float
        Of the samples with gaze: the head was outside the calibrated box. NaN where no box is known.
    low_confidence_share : float
        Of the samples with gaze and a confidence.
    n_impossible : int or None
        Samples that an eye could not have reached: faster than 1000 degrees a second. None where there are
        no degrees.
    impossible_share : float
        The same, of the samples with gaze that no blink spoils.
    repeated_share : float
        Of the steps between samples with gaze: exactly the same place again, as from a picture that came
        twice. NaN for sources without pictures.
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
    detector: str
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


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
