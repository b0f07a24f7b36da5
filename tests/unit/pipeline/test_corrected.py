from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from gazelab.calibration.profile import load_profile
from gazelab.core.errors import CalibrationError, ConfigError, SessionError
from gazelab.pipeline.blur import sigma_of
from gazelab.pipeline.compare import compare_trial, trace_for
from gazelab.pipeline.corrected import corrected_gaze, corrections_in_force
from gazelab.pipeline.correcting import recalibrate, shift
from gazelab.pipeline.keep import fixation_inputs, keep_fixations
from gazelab.pipeline.map_choice import MapChoice
from gazelab.pipeline.quality_text import quality_text
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.report import report_data, score_table
from gazelab.pipeline.reporting import reporting_lines
from gazelab.pipeline.session_concerns import trials_text
from gazelab.pipeline.session_quality import assess
from gazelab.sessions.correction_entries import ShiftEntry, UndoEntry
from gazelab.sessions.corrections import append_correction
from gazelab.sessions.derived import load_arrays
from gazelab.sessions.reader import Session
from gazelab.sessions.sections import Section
from gazelab.sources.recorded import Recorded

from .eyes import Camera, record, save_calibration
from .scripted import record_two_charts
from .test_compare import FixedModel

LOOKS = [(500.0, 400.0), (1300.0, 700.0)]


@pytest.fixture
def session(tmp_path) -> Session:
    """Two charts by a source that measures gaze itself."""
    _, path = record_two_charts(tmp_path)
    return Session.open(path)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """A session of a head that has moved by 150 px's worth since its calibration, and two profiles."""
    root = tmp_path_factory.mktemp("filmed")
    first, after = save_calibration(root), save_calibration(root, moved_px=150.0)
    path = record(root, Camera(load_profile(first).mapping, moved_px=150.0), LOOKS)
    return path, first, after


@pytest.fixture
def moved(tmp_path, filmed):
    """A copy of it, that a test may correct."""
    path, first, after = filmed
    shutil.copytree(path, tmp_path / "sessions" / "reading")
    return Session.open(tmp_path / "sessions" / "reading"), first, after


def move(session, dx, dy=0.0, unit="px", **section):
    return shift(session, ShiftEntry(Section(**section), dx, dy, unit), "why", "me")


def error_px(gaze, session):
    """Median distance from where the eyes were directed, over both trials."""
    found = []
    for trial in session.trials():
        rows = gaze[(gaze["time_ns"] > trial.onset_ns) & (gaze["time_ns"] < trial.offset_ns)]
        places = np.repeat(LOOKS, 15, axis=0)[: len(rows)]
        found.append(np.hypot(rows["x_px"] - places[:, 0], rows["y_px"] - places[:, 1]))
    return float(np.nanmedian(np.concatenate(found)))


def test_without_corrections_every_layer_is_what_was_recorded(session):
    for layers in ("all", "live", "raw"):
        gaze = corrected_gaze(session, layers)
        assert gaze.tobytes() == session.gaze().tobytes()
        assert gaze is not session.gaze()
        assert corrections_in_force(session, layers) == []


def test_other_layers_are_refused(session):
    with pytest.raises(ConfigError, match="no gaze 'both'"):
        corrected_gaze(session, "both")
    with pytest.raises(ConfigError, match="no gaze 'both'"):
        Replay(session, "both")


def test_a_shift_moves_its_section_alone_and_leaves_the_files_as_they_were(session):
    before = {p.name: p.read_bytes() for p in session.path.iterdir() if p.is_file()}
    second = session.trials()[1]
    move(session, 12.0, -30.0, trials=(1, 1))
    gaze, raw = corrected_gaze(session), session.gaze()
    inside = (raw["time_ns"] >= second.onset_ns) & (raw["time_ns"] < second.offset_ns)
    seen = raw["valid"]
    assert (gaze["x_px"] - raw["x_px"])[inside & seen].tolist() == [12.0] * int((inside & seen).sum())
    assert (gaze["y_px"] - raw["y_px"])[inside & seen].tolist() == [-30.0] * int((inside & seen).sum())
    assert gaze[~inside].tobytes() == raw[~inside].tobytes()
    assert {name: (session.path / name).read_bytes() for name in before} == before
    assert corrected_gaze(session, "live").tobytes() == raw.tobytes()


def test_overlapping_shifts_add_up_and_an_undo_takes_one_out(session):
    first = move(session, 10.0)
    move(session, 5.0, trials=(0, 0))
    raw = session.gaze()["x_px"]
    trial = session.trials()[0]
    row = int(np.flatnonzero(session.gaze()["time_ns"] >= trial.onset_ns)[3])
    assert corrected_gaze(session)["x_px"][row] == raw[row] + 15
    undo = append_correction(session.path, UndoEntry(first.number), "no", "me")
    assert corrected_gaze(session)["x_px"][row] == raw[row] + 5
    append_correction(session.path, UndoEntry(undo.number), "yes", "me")
    assert corrected_gaze(session)["x_px"][row] == raw[row] + 15


def test_a_shift_in_degrees_needs_millimetres(session):
    from dataclasses import replace

    session.header = replace(session.header, screen=replace(session.header.screen, width_mm=float("nan")))
    with pytest.raises(SessionError, match="no degrees"):
        move(session, 1.0, unit="deg")


def test_a_shift_in_degrees_moves_by_that_angle(session):
    move(session, 1.0, 0.5, unit="deg")
    gaze, raw = corrected_gaze(session), session.gaze()
    screen = session.header.screen
    for axis, wanted in ((0, 1.0), (1, -0.5)):
        now, then = (screen.to_deg(g["x_px"], g["y_px"])[axis] for g in (gaze, raw))
        assert (now - then)[raw["valid"]] == pytest.approx(wanted, abs=1e-4)


def test_a_section_that_the_session_has_not_is_refused_before_it_is_written(session):
    with pytest.raises(SessionError, match="no trial 3: the session has 2"):
        move(session, 1.0, trials=(0, 2))
    assert not (session.path / "corrections.jsonl").exists()


def test_derived_results_of_other_corrections_count_as_absent(session):
    before = Replay(session)
    keep_fixations(before)
    assert load_arrays(session.derived, "fixations", fixation_inputs(before)) is not None
    entry = move(session, 40.0)
    after = Replay(session)
    assert load_arrays(session.derived, "fixations", fixation_inputs(after)) is None
    assert after.fixations(after.trials[0])["x_px"][0] == before.fixations(before.trials[0])["x_px"][0] + 40
    append_correction(session.path, UndoEntry(entry.number), "no", "me")
    again = Replay(session)
    assert load_arrays(session.derived, "fixations", fixation_inputs(again)) is not None


def test_scores_and_report_say_what_the_gaze_was_corrected_by(session):
    move(session, 40.0, trials=(0, 0))
    model = FixedModel(0, 0)
    for layers, said in (("all", True), ("raw", False)):
        replay = Replay(session, layers)
        result = compare_trial(
            replay, replay.trials[0], trace_for(replay, replay.trials[0], model), MapChoice()
        )
        how = json.loads(json.dumps(result.to_json()))["how"]
        assert how["gaze"] == layers
        assert bool(how["corrections"]) is said
        assert ("shift by +40 px right" in score_table(result.agreement).note) is said
        assert ("shift by +40 px right" in report_data(replay, [result], "t")["quality_note"]) is said


def test_a_replay_goes_by_the_corrections_that_it_names(session):
    replay = Replay(session)
    named = replay.corrections
    move(session, 40.0)
    assert replay.corrections == named == ()
    assert replay.gaze().tobytes() == session.gaze().tobytes()


def test_a_broken_audit_file_stops_what_depends_on_it_and_nothing_else(session):
    (session.path / "corrections.jsonl").write_text("garbage\n")
    with pytest.raises(SessionError, match="line 1 of the corrections"):
        corrected_gaze(session)
    for layers in ("live", "raw"):
        assert len(Replay(session, layers).fixations(session.trials()[0]))
    assert any("line 1 of the corrections" in note for note in session.report)


def test_R1_T11_bad_stamps_and_leaps_are_corrected_where_they_lie(tmp_path):
    from gazelab.core.gaze import empty_gaze
    from gazelab.sessions.writer import SessionWriter

    _, path = record_two_charts(tmp_path)
    rows = empty_gaze(6)
    rows["time_ns"] = [74_700, 74_701, 34, 34, 33, 40]
    rows["x_px"], rows["valid"] = 100.0, True
    with SessionWriter.create(tmp_path, "leaps", Session.open(path).header) as writer:
        writer.gaze(rows)
    session = Session.open(writer.path)
    move(session, 5.0, until_ns=1000)
    gaze = corrected_gaze(session)
    assert gaze["time_ns"].tolist() == rows["time_ns"].tolist()
    assert gaze["x_px"].tolist() == [100, 100, 105, 105, 105, 105]


def test_a_recalibration_predicts_the_section_from_its_features(moved):
    session, _, after = moved
    before = error_px(session.gaze(), session)
    recalibrate(session, after, Section(), "the head had moved", "me")
    gaze = corrected_gaze(session)
    assert before > 120
    assert error_px(gaze, session) < before / 3
    assert gaze.tobytes() == np.array([r.sample for r in readings(session, after)]).tobytes(), (
        "as a new recording"
    )
    assert [p.name for p in session.calibrations()] == [after.name]


def readings(session, profile):
    loaded = load_profile(profile)
    first_ns = int(session.gaze()["time_ns"][0])
    source = Recorded(
        session, paced=False, mapping=loaded.mapping, head_box=loaded.head_box, clock=lambda: first_ns
    )
    with source:
        found = []
        while source.state.value == "ok":
            found += source.read()
    return found


def test_a_recalibration_begins_its_section_anew_and_later_shifts_add(moved):
    session, _, after = moved
    move(session, 500.0)
    recalibrate(session, after, Section(trials=(1, 1)), "better", "me")
    move(session, 7.0)
    gaze, raw = corrected_gaze(session), session.gaze()
    first, second = (
        (raw["time_ns"] >= t.onset_ns) & (raw["time_ns"] < t.offset_ns) for t in session.trials()
    )
    new = np.array([r.sample for r in readings(session, after)])
    assert gaze["x_px"][first] == pytest.approx(raw["x_px"][first] + 507, abs=1e-3)
    assert gaze["x_px"][second] == pytest.approx(new["x_px"][second] + 7, abs=1e-3)


def test_a_comparison_names_only_the_corrections_of_its_own_trial(session):
    move(session, 12.0, trials=(1, 1))
    replay = Replay(session)
    first, second = (
        compare_trial(replay, trial, trace_for(replay, trial, FixedModel(0, 0)), MapChoice(), 5).agreement.how
        for trial in replay.trials
    )
    assert first["corrections"] == []
    (named,) = second["corrections"]
    assert named == "correction 1: shift by +12 px right, +0 px down, trial 2 (why)"


def test_a_shift_that_was_recalibrated_away_is_not_named_under_the_trial(moved):
    session, _, after = moved
    move(session, 500.0)
    recalibrate(session, after, Section(trials=(1, 1)), "better", "me")
    replay = Replay(session)
    first, second = (replay.corrections_in(trial) for trial in replay.trials)
    assert [said[:13] for said in first] == ["correction 1:"]
    assert [said[:13] for said in second] == ["correction 2:"]
    assert "replaced by 2 in trial 2" in replay.corrections[0]
    assert "replaced" not in replay.corrections[1]


def test_the_same_profile_is_copied_into_the_session_once(moved):
    session, _, after = moved
    for index in range(2):
        recalibrate(session, after, Section(trials=(index, index)), "better", "me")
    assert len(session.calibrations()) == 1


def test_G9_another_persons_or_cameras_profile_is_refused_and_leaves_nothing(moved, tmp_path):
    session, *_ = moved
    for wrong, words in (
        ({"participant": "P2"}, "participant P2, not P1"),
        ({"device": "other"}, "the device"),
    ):
        profile = save_calibration(tmp_path, **wrong)
        with pytest.raises(CalibrationError, match=words):
            recalibrate(session, profile, Section(), "why", "me")
    assert session.calibrations() == []
    assert not (session.path / "corrections.jsonl").exists()


def test_without_features_nothing_can_be_recalibrated(session, tmp_path):
    with pytest.raises(SessionError, match="no eye features"):
        recalibrate(session, save_calibration(tmp_path), Section(), "why", "me")


def test_G17_a_profile_that_was_swapped_in_the_session_is_refused(moved, tmp_path):
    session, first, after = moved
    recalibrate(session, after, Section(), "why", "me")
    (copy,) = session.calibrations()
    shutil.rmtree(copy)
    shutil.copytree(first, copy)
    with pytest.raises(SessionError, match="not the calibration that the correction was made with"):
        corrected_gaze(session)
    assert corrected_gaze(session, "live").tobytes() == session.gaze().tobytes()


def test_G17_a_profile_of_another_version_is_told_with_what_to_do_and_can_be_undone(moved):
    session, _, after = moved
    entry = recalibrate(session, after, Section(), "why", "me")
    (copy,) = session.calibrations()
    values = json.loads((copy / "profile.json").read_text())
    (copy / "profile.json").write_text(json.dumps(values | {"schema_version": 99}))
    with pytest.raises(CalibrationError, match="Undo the correction"):
        corrected_gaze(session)
    replay = Replay.open_or_live(session.path, detector="ivt")
    assert (replay.layers, replay.detector.name) == ("live", "ivt")
    assert "version 99" in replay.problem
    append_correction(session.path, UndoEntry(entry.number), "new version", "me")
    assert corrected_gaze(session).tobytes() == session.gaze().tobytes()
    assert Replay.open_or_live(session.path).problem == ""


def test_a_recalibrated_trial_is_blurred_by_the_error_of_its_own_calibration(moved, tmp_path):
    session, *_ = moved
    coarse = save_calibration(tmp_path, moved_px=150.0, accuracy_deg=3.0)
    recalibrate(session, coarse, Section(trials=(1, 1)), "why", "me")
    replay = Replay(session)
    blurs = [sigma_of(replay, trial)[1]["sigma_deg"] for trial in replay.trials]
    assert blurs == [1.0, 3.0]
    assert [sigma_of(Replay(session, "live"), trial)[1]["sigma_deg"] for trial in replay.trials] == [1.0, 1.0]


def test_quality_judges_each_trial_by_the_calibration_that_its_gaze_comes_from(moved, tmp_path):
    session, _, _ = moved
    poor = save_calibration(tmp_path / "poor", moved_px=150.0, accuracy_deg=4.2)
    recalibrate(session, poor, Section(trials=(1, 1)), "why")
    quality = assess(Replay(session))
    first, second = quality.calibrations
    assert (first["trials"], first["calibrated"], first["recalibrated"]) == ([0], False, False)
    assert (second["trials"], second["calibrated"], second["recalibrated"]) == ([1], True, True)
    assert second["accuracy_deg"] == 4.2
    assert second["profile"] == poor.name
    assert quality.concerns[0].startswith("trial 1: recorded without a valid calibration")
    assert "trial 2: the calibration's accuracy is 4.20° (limit 3°)" in quality.concerns
    said = quality_text(quality)
    assert "Calibration of trial 1: none of gazelab's was in force." in said
    assert "Calibration of trial 2: in force, of a recalibration afterwards, accuracy 4.20°" in said
    told = " ".join(reporting_lines(Replay(session), quality))
    assert "In trial 1: No calibration of gazelab's was in force." in told
    summary = quality.to_json()["summary"]
    assert [c["trials"] for c in summary["calibrations"]] == [[0], [1]]
    data = report_data(Replay(session), [], "title")
    assert "no data / 4.20°" in json.dumps(data, ensure_ascii=False)


def test_quality_of_a_session_recalibrated_as_a_whole_speaks_of_that_calibration_alone(moved, tmp_path):
    session, _, _ = moved
    fine = save_calibration(tmp_path / "fine", moved_px=150.0, accuracy_deg=0.9)
    recalibrate(session, fine, Section(), "why")
    quality = assess(Replay(session))
    assert len(quality.calibrations) == 1
    assert quality.calibration["accuracy_deg"] == 0.9
    assert not any("without a valid calibration" in concern for concern in quality.concerns)
    as_recorded = assess(Replay(session, "live"))
    assert as_recorded.calibration["accuracy_deg"] is None
    assert any("without a valid calibration" in concern for concern in as_recorded.concerns)


@pytest.mark.parametrize(
    ("indices", "text"),
    [([0], "trial 1"), ([0, 1, 2, 5], "trials 1-3, 6"), ([1, 3], "trials 2, 4"), ([], "trials ")],
)
def test_trials_are_named_as_ranges(indices, text):
    assert trials_text(indices) == text


def test_P5_a_profile_is_not_copied_through_a_link_out_of_the_session(moved, tmp_path):
    session, _, after = moved
    away = tmp_path / "away"
    away.mkdir()
    shutil.rmtree(session.path / "calibration", ignore_errors=True)
    (session.path / "calibration").symlink_to(away)
    with pytest.raises(SessionError, match="a link, not a folder"):
        recalibrate(session, after, Section(), "why")
    assert list(away.iterdir()) == []
    assert not (session.path / "corrections.jsonl").exists()


def test_P5_what_is_no_profile_in_the_session_hinders_nothing(moved):
    session, _, after = moved
    junk = session.path / "calibration" / after.name
    junk.mkdir(parents=True)
    (junk / "mapping.npz").symlink_to(after / "mapping.npz")
    (junk.parent / f"{after.name}-9").symlink_to(after)
    made = recalibrate(session, after, Section(), "why")
    assert made.change.profile == f"calibration/{after.name}-2"
    assert error_px(Replay(session).gaze(), session) < 50


def test_a_drift_check_from_before_a_recalibration_excludes_no_trial_but_is_told(moved):
    session, _, after = moved
    far = {"decision": "overridden", "target_px": [1, 1], "correction_px": [0, 0], "offset_deg": 6.0}
    first = session.trials()[0].onset_ns
    line = json.dumps({"kind": "drift_check", "time_ns": first - 1, **far})
    with (session.path / "markers.jsonl").open("a") as file:
        file.write(line + "\n")
    session = Session.open(session.path)
    before = assess(Replay(session)).trials[0]
    assert before.verdict == "exclude"
    recalibrate(session, after, Section(trials=(0, 0)), "why")
    trial = assess(Replay(session)).trials[0]
    assert trial.verdict == "review"
    told = "the drift check before it found 6.0° (limit 5°), of the gaze before it was recalibrated"
    assert told in trial.reasons
    assert not any("asked for a new calibration" in reason for reason in trial.reasons)
    assert trial.to_json()["figures"]["drift_before"]["superseded"] is True
    assert assess(Replay(session, "live")).trials[0].verdict == "exclude"
