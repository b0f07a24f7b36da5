from __future__ import annotations

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from gazelab.core.errors import SessionError
from gazelab.core.geometry import Screen
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.quality_text import quality_text, write_csv
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.session_quality import (
    BLINKS,
    QUALITY,
    assess,
    decide_trial,
    keep_quality,
    quality_inputs,
)
from gazelab.sessions.derived import load_json
from gazelab.sessions.exclusions import FILE_NAME

from .quality_session import lose, reading, session_of
from .scripted import record_two_charts


@pytest.fixture
def two(tmp_path) -> Replay:
    """Chart a read well; half of chart b's gaze is lost."""
    _, path = record_two_charts(tmp_path)
    return Replay.open(path)


def test_a_session_says_what_to_exclude_and_why(two):
    quality = assess(two)
    assert [r.verdict for r in quality.trials] == ["review", "exclude"]
    assert quality.trials[1].reasons[0] == "47.5 % of the samples are lost (limit 40 %)"
    summary = quality.summary()
    assert (summary["n_keep"], summary["n_review"], summary["n_exclude"]) == (0, 1, 1)
    assert [r.trial.chart_id for r in quality.trials if r.excluded] == ["b"]


def test_a_calibration_of_which_no_state_is_kept_is_told_as_in_force(tmp_path):
    path = session_of(tmp_path, reading(), header={"calibrated": True})
    assert "Calibration: in force, accuracy no data" in quality_text(assess(Replay.open(path)))


def test_the_limits_decide_and_stand_in_the_report(two):
    lax = replace(
        QualityLimits(), review_loss=0.9, exclude_loss=0.95, exclude_fixations=0, review_fixations=1
    )
    assert assess(two, lax).summary()["n_keep"] == 2
    assert assess(two, lax).to_json()["limits"]["exclude_loss"] == 0.95


def test_a_persons_decision_stands_over_the_limits_and_can_be_taken_back(two):
    found = assess(two)
    decided = decide_trial(two, found, 1, "keep", "the half that is there is enough")
    assert decided.trials[1].verdict == "keep"
    assert decided.trials[1].reasons[0] == (
        "decided by hand (the limits say exclude): the half that is there is enough"
    )
    assert len(decided.trials[1].reasons) == 1 + len(found.trials[1].reasons), "the figures' reasons stay"
    assert assess(Replay.open(two.session.path)).trials[1].verdict == "keep"
    row = decided.to_json()["trials"][1]
    assert (row["verdict"], row["judged"], row["overridden"]) == ("keep", "exclude", True)
    back = decide_trial(two, decided, 1, None, "")
    assert back.trials[1].verdict == "exclude"
    assert len((two.session.path / FILE_NAME).read_text().splitlines()) == 2


def test_a_decision_without_a_reason_is_refused(two):
    with pytest.raises(SessionError, match="needs a reason"):
        decide_trial(two, assess(two), 0, "exclude", " ")


def test_the_report_is_kept_and_stale_after_a_change(two):
    quality = assess(two)
    keep_quality(two, quality)
    derived = two.session.derived
    kept = load_json(derived, QUALITY, quality_inputs(two, quality))
    assert kept == json.loads(json.dumps(quality.to_json()))
    assert kept["gazelab"]
    for other in (
        assess(two, replace(QualityLimits(), exclude_loss=0.6)),
        decide_trial(two, quality, 0, "exclude", "why"),
    ):
        assert load_json(derived, QUALITY, quality_inputs(two, other)) is None
    for file in derived.iterdir():
        file.unlink()
    derived.rmdir()
    assert assess(Replay.open(two.session.path)).trials[1].verdict == "exclude", "derived/ may be deleted"


def test_the_report_of_gaze_as_measured_lies_beside_the_one_of_corrected_gaze(two):
    raw = Replay.open(two.session.path, "raw")
    keep_quality(raw, assess(raw))
    keep_quality(two, assess(two))
    kept = {file.name for file in two.session.derived.iterdir()}
    assert {"quality.json", "quality_raw.json"} <= kept


def test_the_blinks_of_every_sample_are_kept_with_their_padding(tmp_path):
    path = session_of(tmp_path, lose(reading(), slice(100, 108), blink=True))
    replay = Replay.open(path)
    keep_quality(replay, assess(replay))
    with np.load(path / "derived" / f"{BLINKS}.npz") as kept:
        assert np.flatnonzero(kept["shut"]).tolist() == list(range(100, 108))
        assert np.flatnonzero(kept["spoilt"]).tolist() == list(range(95, 113))
        assert float(kept["pad_s"]) == 0.1


def test_medians_leave_out_what_was_not_measured(tmp_path):
    path = session_of(tmp_path, lose(reading(), slice(None)))
    quality = assess(Replay.open(path))
    assert math.isnan(quality.median("rms_s2s_deg"))
    assert quality.summary()["median"]["rms_s2s_deg"] is None
    assert "no data RMS-S2S" in quality_text(quality)
    assert "0.00°" not in quality_text(quality)


@pytest.mark.filterwarnings("ignore::gazelab.processing.degrees.NominalGeometry")
def test_what_a_reader_of_the_session_must_know_is_told(tmp_path):
    header = {
        "feature_version": "1",
        "note": "recorded on a train",
        "profile": {"id": "../x", "accuracy_deg": 4.2, "accuracy_px": 160.0},
    }
    path = session_of(tmp_path, reading(), header=header, screen=Screen("bare", 1920, 1080))
    quality = assess(Replay.open(path))
    assert quality.concerns[:3] == (
        "recorded without a valid calibration: recorded on a train",
        "the calibration's accuracy is 4.20° (limit 3°)",
        "the screen's size or distance is unknown: there are no degrees",
    )
    assert quality.word == "review"
    json.dumps(quality.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("content", "state", "note"),
    [
        (
            '{"record": {"state": "valid", "note": "small screen, accepted"}}',
            "valid",
            "small screen, accepted",
        ),
        ('{"record": {"state": 7, "note": null}}', None, ""),
        ('{"record": []}', None, ""),
        ("[]", None, ""),
        ("{", None, ""),
    ],
)
def test_a_calibration_that_was_accepted_with_a_note_is_a_concern(tmp_path, content, state, note):
    path = session_of(tmp_path, reading(), header={"calibrated": True, "profile": {"id": "P1_now"}})
    (path / "calibration" / "P1_now").mkdir(parents=True)
    (path / "calibration" / "P1_now" / "profile.json").write_text(content)
    quality = assess(Replay.open(path))
    assert quality.calibration["state"] == state
    assert quality.calibration["accepted_with"] == note
    assert any("accepted with a note" in concern for concern in quality.concerns) == bool(note)


def test_G1_without_a_head_box_nothing_is_said_of_the_head(tmp_path):
    unknown = assess(Replay.open(session_of(tmp_path / "a", reading())))
    assert unknown.to_json()["trials"][0]["figures"]["outside_box_share"] is None
    rows = reading()
    rows["outside_head_box"][:60] = True
    known = assess(Replay.open(session_of(tmp_path / "b", rows)))
    assert known.trials[0].quality.outside_box_share == pytest.approx(0.25)
    assert known.trials[0].verdict == "review"
    boxed = session_of(tmp_path / "c", reading(), header={"profile": {"id": "P1_now"}})
    (boxed / "calibration" / "P1_now").mkdir(parents=True)
    (boxed / "calibration" / "P1_now" / "profile.json").write_text('{"head_box": {"yaw_deg": [-3, 3]}}')
    assert assess(Replay.open(boxed)).trials[0].quality.outside_box_share == 0.0


def test_a_session_of_good_trials_is_good(tmp_path):
    header = {"calibrated": True, "profile": {"accuracy_deg": 0.8}}
    quality = assess(Replay.open(session_of(tmp_path, reading(), header=header)))
    assert (quality.word, quality.concerns) == ("good", ())


def test_a_session_without_a_trial_has_a_report_too(tmp_path):
    path = session_of(tmp_path, reading())
    lines = (path / "markers.jsonl").read_text().splitlines()
    (path / "markers.jsonl").write_text("\n".join(x for x in lines if "stimulus" not in x) + "\n")
    quality = assess(Replay.open(path))
    assert (quality.trials, quality.word) == ((), "review")
    assert "no trial" in quality_text(quality)
    assert write_csv(tmp_path / "t.csv", quality).read_text().startswith("session,verdict,judged,trial,")


def test_the_table_for_a_spreadsheet_has_every_figure_and_leaves_no_data_empty(two, tmp_path):
    path = write_csv(tmp_path / "out" / "t.csv", assess(two))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["review", "exclude"]
    assert float(rows[1]["data_loss"]) == pytest.approx(0.5, abs=0.03)
    assert rows[0]["two_faces_share"] == ""
    assert rows[0]["drift_after_deg"] == ""
    assert "%" in rows[1]["reasons"]


def test_a_table_that_cannot_be_written_says_where(two, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="cannot be written"):
        write_csv(tmp_path / "file" / "t.csv", assess(two))


def test_every_reason_is_in_the_text(two):
    quality = assess(two)
    text = quality_text(quality)
    for report in quality.trials:
        for reason in report.reasons:
            assert reason in text
    assert "2 trials: 0 to keep, 1 to review, 1 to exclude." in text
