"""Beyond which figures a trial's data are to be looked at, or left out of means.

No standard says when a trial is to be left out: the reporting guideline asks that the criteria and what they
left out be told. The limits below are gazelab's own choice unless a line says otherwise; they are written
beside every verdict, and the `[quality]` table of gazelab.toml changes them.

References
----------
Dunn, Alexander, Amiebenomo et al. (2023). Minimal reporting guideline for research involving eye tracking.
Behavior Research Methods. 10.3758/s13428-023-02187-1
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QualityLimits:
    """Beyond which figures a trial is to be looked at (`review_…`) or left out of means (`exclude_…`).

    Shares are 0..1. What could not be measured is beyond no limit, and is told as "no data".

    Attributes
    ----------
    review_loss, exclude_loss : float
        Of the samples or of the time, whichever lost more, blinks included. Published studies and packages
        leave trials out at anything from 20 to 50 %.
    review_gap_s : float
        Longest time without gaze. A reader makes three or four fixations in a second; a look down at the
        keyboard for the answer takes one or two.
    review_rate_hz, exclude_rate_hz : float
        Below them a fixation of 100 ms holds fewer than two samples, one of 200 ms no more than two.
    review_uneven : float
        Steps between samples that are off by more than half the typical one.
    review_off_screen, exclude_off_screen : float
        Of the samples with gaze. Nothing is to be read there: the gaze or the calibration went astray.
    review_rms_s2s_deg : float
        Within fixations. Above it, looks at neighbouring labels of a chart cannot be told apart.
    review_drift_deg, exclude_drift_deg : float
        Offset in a drift check just before or after the trial, where it was not corrected.
    review_outside_box, exclude_outside_box : float
        Of the samples with gaze: the head is where the calibration knows nothing.
    low_confidence, review_low_confidence : float
        A sample below the first counts; the second is how many of those with gaze may. A webcam's confidence
        is the chance that the error is at most twice the calibration's own: one half means that an error
        twice as large is as likely as not.
    review_two_faces : float
        Of the pictures: another face might have been taken for the participant's.
    review_impossible : float
        Of the samples with gaze: reached faster than 1000 degrees a second, which no eye is.
    review_repeated, exclude_repeated : float
        Of the steps: exactly the same place again. A camera that gives 15 new pictures a second and calls
        them 30 has one half; one that stands still has nearly all.
    review_bad_stamps : float
        Of the samples: equal to an earlier stamp, or before it.
    exclude_duration_s : float
        A trial shorter than this was not read.
    exclude_fixations, review_fixations : int
        On the chart; with fewer there is little or nothing to compare.
    review_accuracy_deg : float
        Of the calibration on its validation targets; a concern about the session, no trial's verdict.
    """

    review_loss: float = 0.20
    exclude_loss: float = 0.40
    review_gap_s: float = 2.0
    review_rate_hz: float = 20.0
    exclude_rate_hz: float = 10.0
    review_uneven: float = 0.20
    review_off_screen: float = 0.20
    exclude_off_screen: float = 0.50
    review_rms_s2s_deg: float = 1.5
    review_drift_deg: float = 2.0
    exclude_drift_deg: float = 5.0
    review_outside_box: float = 0.20
    exclude_outside_box: float = 0.60
    low_confidence: float = 0.50
    review_low_confidence: float = 0.30
    review_two_faces: float = 0.05
    review_impossible: float = 0.02
    review_repeated: float = 0.20
    exclude_repeated: float = 0.60
    review_bad_stamps: float = 0.02
    exclude_duration_s: float = 0.5
    exclude_fixations: int = 1
    review_fixations: int = 3
    review_accuracy_deg: float = 3.0
