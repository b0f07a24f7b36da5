from __future__ import annotations

import json
import math

import pytest

from gazelab.core.geometry import Screen
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.reporting import both, exclusion_text, reporting_lines, validation_rows, validation_text
from gazelab.pipeline.session_quality import assess

from .quality_session import lose, reading, session_of
from .scripted import record_two_charts

TARGET = {
    "index": 0, "x_px": 200.0, "y_px": 300.0, "accuracy_px": 48.0, "accuracy_deg": 0.79, "rms_s2s_px": 24.0,
    "rms_s2s_deg": 0.41, "sd_px": 21.0, "sd_deg": 0.34, "data_loss": 0.0, "n_samples": 22,
}  # fmt: skip
NO_DATA = {name: None for name in TARGET} | {"n_samples": 0, "data_loss": 1.0}
OVERALL = {"accuracy_px": 60.9, "accuracy_deg": 1.03, "rms_s2s_px": 23.0, "rms_s2s_deg": 0.39, "sd_px": 20.9,
           "sd_deg": 0.35, "data_loss": 0.5, "rate_hz": 30.0}  # fmt: skip


def calibrated(root, validation) -> Replay:
    header = {"calibrated": True, "profile": {"id": "P1_now", "accuracy_deg": 1.03, "accuracy_px": 60.9}}
    path = session_of(root, reading(), header=header)
    (path / "calibration" / "P1_now").mkdir(parents=True)
    profile = {"record": {"state": "valid"}, "validation": validation}
    (path / "calibration" / "P1_now" / "profile.json").write_text(json.dumps(profile))
    return Replay.open(path)


def test_the_validation_is_told_per_target_and_overall_in_degrees_and_px(tmp_path):
    quality = assess(calibrated(tmp_path, {**OVERALL, "targets": [TARGET, NO_DATA]}))
    assert validation_rows(quality.calibration) == [
        ["1", "0.79° (48 px)", "0.41° (24 px)", "0.34° (21 px)", "0 %", "22"],
        ["2", "no data", "no data", "no data", "100 %", "0"],
        ["overall", "1.03° (61 px)", "0.39° (23 px)", "0.35° (21 px)", "50 %", "22"],
    ]
    assert validation_text(quality.calibration) == (
        "On 2 separate validation targets the calibration's accuracy was 1.03° (61 px), its precision"
        " 0.39° (23 px) RMS-S2S and 0.35° (21 px) SD, its data loss 50 %, at 30.0 Hz."
    )


@pytest.mark.parametrize(
    "validation",
    [None, [], {}, {"targets": 3}, {"targets": ["x", {"accuracy_px": "12"}, {"n_samples": True}]}],
)
def test_figures_that_cannot_be_read_are_no_data(tmp_path, validation):
    quality = assess(calibrated(tmp_path, validation))
    said = " ".join(reporting_lines(calibrated(tmp_path / "again", validation), quality))
    rows = validation_rows(quality.calibration)
    assert "0.00" not in said
    assert all(row[1:4] == ["no data"] * 3 for row in rows)
    json.dumps(quality.to_json(), allow_nan=False)


def test_the_sentences_hold_the_guidelines_points(tmp_path):
    replay = calibrated(tmp_path, {**OVERALL, "targets": [TARGET]})
    said = " ".join(reporting_lines(replay, assess(replay)))
    for point in (
        "from scripted (a test), 50 Hz promised, 50.0 Hz measured",
        "1920 x 1080 px, 345 x 194 mm at 600 mm from the eyes (known from: card)",
        "0 % of the samples were lost",
        "RMS-S2S",
        "None of 1 trials is excluded",
    ):
        assert point in said


@pytest.mark.filterwarnings("ignore::gazelab.processing.degrees.NominalGeometry")
def test_G13_of_a_screen_of_unknown_size_no_degrees_are_told(tmp_path):
    replay = Replay.open(session_of(tmp_path, reading(), screen=Screen("bare", 1920, 1080)))
    said = " ".join(reporting_lines(replay, assess(replay)))
    assert "its size or distance is unknown, so there are no degrees." in said
    assert "°" not in said
    assert "No calibration of gazelab's was in force." in said
    assert "2 px RMS-S2S" in said


def test_what_is_excluded_is_told_with_the_criterion(tmp_path):
    _, path = record_two_charts(tmp_path)
    assert exclusion_text(assess(Replay.open(path))) == (
        "1 of 2 trials are excluded (trial 2: 47.5 % of the samples are lost (limit 40 %));"
        " 1 are to be looked at."
    )


def test_no_gaze_is_no_data_in_every_sentence(tmp_path):
    replay = Replay.open(session_of(tmp_path, lose(reading(), slice(None))))
    said = " ".join(reporting_lines(replay, assess(replay)))
    assert "precision within fixations was no data RMS-S2S and no data SD" in said
    assert "100 % of the samples were lost" in said


def test_a_length_is_told_in_what_is_known():
    assert both(1.234, 50.4) == "1.23° (50 px)"
    assert both(math.nan, 50.4) == "50 px"
    assert both(1.0, math.nan) == "1.00°"
    assert both(math.nan, math.nan) == "no data"
