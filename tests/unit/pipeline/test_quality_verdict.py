from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.pipeline.drift_marks import DriftMark
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.quality_verdict import Verdict, judge, percent
from gazelab.pipeline.trial_quality import TrialQuality

from .quality_session import judged, lose, reading

NAN = math.nan
GOOD = TrialQuality(
    trial=0,
    chart_id="c",
    duration_s=4.0,
    n_samples=120,
    rate_hz=30.0,
    uneven_share=0.0,
    longest_gap_s=0.03,
    data_loss=0.0,
    time_loss=0.0,
    blink_loss=0.0,
    n_blinks=0,
    blink_share=0.0,
    off_screen_share=0.0,
    off_chart_share=0.3,
    rms_s2s_deg=0.4,
    rms_s2s_px=20.0,
    sd_deg=0.3,
    sd_px=18.0,
    n_fixations=12,
    n_on_chart=9,
    detector="I-VT",
    drift_before=None,
    drift_after=None,
    outside_box_share=0.0,
    low_confidence_share=0.0,
    n_impossible=0,
    impossible_share=0.0,
    repeated_share=0.0,
    n_bad_stamps=0,
    n_leaps=0,
    n_focus_lost=0,
    n_pauses=0,
    n_source_lost=0,
    n_dropped=0,
    two_faces_share=0.0,
    answered=True,
    skipped=False,
    complete=True,
)
LIMITS = QualityLimits()
ORDER = [Verdict.KEEP, Verdict.REVIEW, Verdict.EXCLUDE]


def test_a_good_trial_is_kept_without_a_reason():
    assert judge(GOOD, LIMITS).verdict is Verdict.KEEP
    assert judge(GOOD, LIMITS).reasons == ()


@pytest.mark.parametrize(
    ("change", "verdict", "said"),
    [
        ({"data_loss": 0.62}, "exclude", "62 % of the samples are lost (limit 40 %)"),
        (
            {"data_loss": 0.1, "time_loss": 0.253, "blink_loss": 0.05},
            "review",
            "25.3 % of the time has no gaze (frames that never came count), 5 % in blinks (limit 20 %)",
        ),
        ({"longest_gap_s": 2.27}, "review", "the longest time without gaze is 2.27 s (limit 2 s)"),
        ({"rate_hz": 14.96}, "review", "the rate is 15.0 Hz (at least 20 Hz)"),
        ({"rate_hz": 7.5}, "exclude", "the rate is 7.5 Hz (at least 10 Hz)"),
        (
            {"uneven_share": 0.5},
            "review",
            "50 % of the steps between samples are off by more than half an interval (limit 20 %)",
        ),
        ({"n_leaps": 1}, "exclude", "the clock leapt once in the trial"),
        (
            {"n_bad_stamps": 12},
            "review",
            "10 % of the samples have a stamp that does not go forward (12) (limit 2 %)",
        ),
        ({"off_screen_share": 0.204}, "review", "20.4 % of the gaze lies off the screen (limit 20 %)"),
        ({"off_screen_share": 0.8}, "exclude", "80 % of the gaze lies off the screen (limit 50 %)"),
        (
            {"outside_box_share": 0.7},
            "exclude",
            "70 % of the gaze was measured with the head outside the calibrated box (limit 60 %)",
        ),
        ({"rms_s2s_deg": 2.345}, "review", "the precision is 2.35° RMS-S2S (limit 1.5°)"),
        ({"low_confidence_share": 0.4}, "review", "40 % of the gaze has a confidence below 0.5 (limit 30 %)"),
        (
            {"n_impossible": 6, "impossible_share": 0.05},
            "review",
            "5 % of the gaze moves faster than an eye (6 samples, over 1000°/s) (limit 2 %)",
        ),
        (
            {"repeated_share": 0.5},
            "review",
            "50 % of the steps end where they began, as from the same picture twice (limit 20 %)",
        ),
        ({"two_faces_share": 0.1}, "review", "10 % of the pictures show two faces (limit 5 %)"),
        ({"n_on_chart": 0}, "exclude", "no fixation on the chart (at least 1)"),
        ({"n_on_chart": 2}, "review", "2 fixations on the chart (at least 3)"),
        ({"n_focus_lost": 2}, "review", "another window took the keyboard twice"),
        ({"n_pauses": 1}, "review", "the study was paused once in the trial"),
        ({"n_source_lost": 3}, "review", "the source was lost 3 times"),
        ({"n_dropped": 7}, "review", "7 samples could not be stored"),
        ({"skipped": True}, "review", "the chart was taken off without an answer"),
        ({"complete": False}, "review", "the recording was cut off in the trial"),
        ({"n_samples": 0, "data_loss": NAN, "time_loss": 1.0}, "exclude", "no sample lies in the trial"),
        ({"data_loss": 1.0, "time_loss": 1.0}, "exclude", "all 120 samples are lost"),
        ({"duration_s": 0.21}, "exclude", "the trial lasted 0.21 s (at least 0.5 s)"),
        (
            {"drift_after": DriftMark(0, "fine", 200.0, 3.21)},
            "review",
            "the drift check after it found 3.2° (limit 2°)",
        ),
        (
            {"drift_before": DriftMark(0, "overridden", 900.0, 6.0)},
            "exclude",
            "the drift check before it found 6.0° (limit 5°)",
        ),
    ],
)
def test_each_reason_is_a_sentence_with_its_numbers(change, verdict, said):
    judgement = judge(replace(GOOD, **change), LIMITS)
    assert judgement.verdict == verdict
    assert judgement.words[0] == said


def test_an_offset_that_was_corrected_before_the_trial_is_none_of_it():
    found = DriftMark(0, "corrected", 200.0, 3.2, corrected=True)
    assert judge(replace(GOOD, drift_before=found), LIMITS).verdict is Verdict.KEEP
    assert judge(replace(GOOD, drift_after=found), LIMITS).verdict is Verdict.REVIEW
    raw = replace(found, corrected=False)
    assert judge(replace(GOOD, drift_before=raw), LIMITS).verdict is Verdict.REVIEW


def test_a_check_that_asked_for_a_calibration_is_told_even_without_an_offset():
    words = judge(replace(GOOD, drift_before=DriftMark(0, "recalibrate")), LIMITS).words
    assert words == ("the drift check before it asked for a new calibration",)


def test_the_gravest_reason_comes_first_and_all_are_told():
    judgement = judge(replace(GOOD, n_focus_lost=1, rate_hz=15.0, data_loss=0.9), LIMITS)
    assert [v for v, _ in judgement.reasons] == ["exclude", "review", "review"]
    assert judgement.words[0].startswith("90 % of the samples")


def test_what_was_not_measured_is_beyond_no_limit():
    unknown = {
        "rms_s2s_deg": NAN,
        "low_confidence_share": NAN,
        "two_faces_share": NAN,
        "impossible_share": NAN,
    }
    assert judge(replace(GOOD, **unknown), LIMITS).verdict is Verdict.KEEP


def test_a_figure_at_the_limit_is_within_it():
    at = {"data_loss": LIMITS.review_loss, "rate_hz": LIMITS.review_rate_hz, "n_on_chart": 3}
    assert judge(replace(GOOD, **at), LIMITS).verdict is Verdict.KEEP


def test_a_share_just_above_its_limit_does_not_read_like_the_limit():
    assert [percent(v) for v in (0.0, 0.2, 0.204, 0.996, 1.0, 0.0004)] == [
        "0 %", "20 %", "20.4 %", "99.6 %", "100 %", "0 %",
    ]  # fmt: skip


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_loss_never_makes_a_better_verdict(less, more):
    less, more = sorted((less, more))
    for name in ("data_loss", "time_loss", "off_screen_share", "outside_box_share"):
        verdicts = [judge(replace(GOOD, **{name: share}), LIMITS).verdict for share in (less, more)]
        assert ORDER.index(verdicts[0]) <= ORDER.index(verdicts[1])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 240), st.integers(0, 240))
def test_a_trial_that_lost_more_samples_is_never_judged_better(tmp_path_factory, a, b):
    few, many = sorted((a, b))
    verdicts = []
    for n in (few, many):
        root = tmp_path_factory.mktemp("s")
        verdicts.append(judged(root, lose(reading(), slice(0, n))).verdict)
    assert ORDER.index(verdicts[0]) <= ORDER.index(verdicts[1])


def test_the_limits_stand_in_order():
    """What excludes lies beyond what asks for a look."""
    names = {f.name for f in fields(LIMITS)}
    pairs = [n.removeprefix("exclude_") for n in names if n.startswith("exclude_")]
    for name in pairs:
        if f"review_{name}" in names:
            review, exclude = getattr(LIMITS, f"review_{name}"), getattr(LIMITS, f"exclude_{name}")
            assert (exclude < review) if name in ("rate_hz", "fixations") else (review < exclude), name


def test_a_measured_trial_is_judged_by_its_figures(tmp_path):
    assert judged(tmp_path / "good", reading()).verdict is Verdict.KEEP
    bad = judged(tmp_path / "bad", lose(reading(), np.arange(240) % 2 == 0))
    assert bad.verdict is Verdict.EXCLUDE
    assert bad.words[0] == "50 % of the samples are lost (limit 40 %)"
