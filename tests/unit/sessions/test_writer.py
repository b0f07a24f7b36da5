from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gazelab
from gazelab.core.errors import ConfigError, SessionError
from gazelab.core.gaze import SourceState, empty_features
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter

from .conftest import PLACEMENT, gaze_rows, picture, stimulus_on

NEVER = 3600.0
"""A flush that never comes by itself: rows wait until the session is closed."""


def test_round_trip_of_a_whole_session(tmp_path, header):
    rows = gaze_rows(np.arange(100) * 16_666_667)
    features = empty_features(3)
    features["time_ns"] = [1, 2, 3]
    features["patches"][1] = 200
    chart = picture()
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        name = writer.stimulus(chart)
        writer.marker(stimulus_on(10, picture_sha256=chart.sha256))
        writer.gaze(rows[:60])
        for row in rows[60:]:
            writer.gaze(row)
        writer.features(features)
        writer.marker({"time_ns": 30, "kind": "stimulus_off"})
        writer.marker({"time_ns": 31, "kind": "answer", "given": "rot", "reaction_s": np.float32("nan")})

    session = Session.open(tmp_path / "sessions" / "s1")
    assert name == f"{chart.sha256}.png"
    assert session.gaze().tobytes() == rows.tobytes()
    assert session.features().tobytes() == features.tobytes()
    assert session.stimulus(chart.sha256).rgb.tobytes() == chart.rgb.tobytes()
    assert [m["kind"] for m in session.markers()] == [
        "session_start",
        "stimulus_on",
        "stimulus_off",
        "answer",
        "session_end",
    ]
    assert session.markers()[3]["reaction_s"] is None
    (trial,) = session.trials()
    assert (trial.chart_id, trial.answer, trial.given) == ("chart0", "red", "rot")
    assert (trial.onset_ns, trial.offset_ns, trial.complete) == (10, 30, True)
    assert trial.placement == PLACEMENT
    assert session.header.closed
    assert session.header.participant == "007"
    assert session.header.screen == header.screen
    assert session.header.summary.n_trials == 1
    assert session.header.summary.n_valid == 100
    assert session.report == []


def test_an_empty_session_can_be_read(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header):
        pass
    session = Session.open(tmp_path / "sessions" / "s1")
    assert (len(session.gaze()), len(session.features()), session.trials()) == (0, 0, [])
    assert session.report == []


def test_R3_both_clock_anchors_and_a_wall_clock_that_jumps(tmp_path, header):
    clock = iter([5_000, 9_000])
    utc = iter([1_700_000_000_000_000_000, 1_700_000_000_000_004_000 - 3_600_000_000_000])
    with SessionWriter.create(
        tmp_path, "s1", header, clock=lambda: next(clock), utc_clock=lambda: next(utc)
    ) as writer:
        writer.gaze(gaze_rows([5_100, 8_100]))
    session = Session.open(tmp_path / "sessions" / "s1")
    assert session.header.started.clock_ns == 5_000
    assert session.header.ended.clock_ns == 9_000
    assert session.header.started.utc_ns - session.header.ended.utc_ns == 3_600_000_000_000 - 4_000
    assert np.diff(session.gaze()["time_ns"]).tolist() == [3_000]
    assert session.utc_ns(5_100) == 1_700_000_000_000_000_100
    assert session.header.started.utc.isoformat() == "2023-11-14T22:13:20+00:00"


def test_R3_no_wall_clock_in_timing_code():
    package = Path(gazelab.__file__).parent / "sessions"
    for file in package.glob("*.py"):
        assert not re.search(r"time\.time\(|datetime\.now\(\)|utcnow", file.read_text("utf-8")), file


def test_R4_nanoseconds_survive_exactly(tmp_path, header):
    times = [2**62 + 1, 2**62 + 3, 2**53 + 2**62 + 7]
    with SessionWriter.create(tmp_path, "s1", header, utc_clock=lambda: 1_790_000_000_123_456_789) as writer:
        writer.gaze(gaze_rows(times))
        writer.marker({"time_ns": np.int64(2**62 + 1), "kind": "note", "text": "exact"})
    session = Session.open(tmp_path / "sessions" / "s1")
    assert session.gaze()["time_ns"].tolist() == times
    assert session.markers()[1]["time_ns"] == 2**62 + 1
    assert session.header.started.utc_ns == 1_790_000_000_123_456_789


def test_R1_equal_and_backward_stamps_are_kept_counted_and_told(tmp_path, header, caplog):
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        writer.gaze(gaze_rows([10, 20, 20, 30]))
        writer.gaze(gaze_rows([25, 40]))
    session = Session.open(tmp_path / "sessions" / "s1")
    assert session.gaze()["time_ns"].tolist() == [10, 20, 20, 30, 25, 40]
    assert session.stamps.bad.tolist() == [False, False, True, False, True, False]
    assert session.header.totals["gaze"].n_bad_stamps == 2
    assert session.report == ["2 bad stamps: equal to or before an earlier one"]
    assert "2 bad stamps" in caplog.text


def test_R1_the_case_with_a_duplicate_and_a_backward_stamp(tmp_path, header, cases):
    table = np.genfromtxt(cases / "gaze_duplicate_and_backward_stamp.csv", delimiter=",", names=True)
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        for time_s in table["t_s"]:
            writer.gaze(gaze_rows([round(time_s * 1e9)]))
    session = Session.open(tmp_path / "sessions" / "s1")
    assert len(session.gaze()) == len(table)
    assert session.report == ["2 bad stamps: equal to or before an earlier one"]


def test_R10_overflow_is_counted_and_marked_as_a_gap(tmp_path, header, caplog):
    n, block = 1_000_000, 1_000
    rows = gaze_rows(np.arange(block))
    with SessionWriter.create(tmp_path, "s1", header, flush_s=NEVER, queue_bytes=2**20) as writer:
        for start in range(0, n, block):
            rows["time_ns"] = np.arange(start, start + block)
            writer.gaze(rows)
    session = Session.open(tmp_path / "sessions" / "s1")
    (gap,) = [m for m in session.markers() if m["kind"] == "gap"]
    totals = session.header.totals["gaze"]
    assert totals.n_in == n
    assert totals.n_out == len(session.gaze()) == 11_000
    assert totals.n_in == totals.n_out + totals.n_dropped
    assert gap["n_rows"] == totals.n_dropped
    assert (gap["stream"], gap["time_ns"], gap["until_ns"]) == ("gaze", 11_000, n - 1)
    assert f"{totals.n_dropped} rows of gaze were dropped" in session.report[0]
    assert "did not keep up" in caplog.text


def test_R10_rows_of_another_type_are_refused_and_counted(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        for wrong in ([None, "x"], np.zeros(3), empty_features(1), None):
            with pytest.raises(SessionError, match="gaze rows must be"):
                writer.gaze(wrong)
        writer.gaze(gaze_rows([1]))
        for marker in (
            {"kind": "note", "text": "no time"},
            {"time_ns": 1.5, "kind": "note", "text": ""},
            {"time_ns": 1, "kind": "note", "text": object()},
            {"time_ns": 1, "kind": "answer"},
            {"time_ns": 1, "kind": "stimulus_moved", "placement": {"left_px": 0}},
        ):
            with pytest.raises(SessionError):
                writer.marker(marker)
    totals = Session.open(tmp_path / "sessions" / "s1").header.totals
    assert (totals["gaze"].n_in, totals["gaze"].n_out, totals["gaze"].n_refused) == (1, 1, 4)
    assert (totals["markers"].n_in, totals["markers"].n_out, totals["markers"].n_refused) == (2, 2, 5)


def test_an_unknown_marker_names_its_neighbour(tmp_path, header):
    with (
        SessionWriter.create(tmp_path, "s1", header) as writer,
        pytest.raises(SessionError, match="Did you mean stimulus_on"),
    ):
        writer.marker({"time_ns": 1, "kind": "stimulus-on"})


def test_nothing_is_overwritten_by_a_second_writer_of_one_id(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header) as first:
        first.gaze(gaze_rows([1, 2]))
        with pytest.raises(SessionError, match="already a session"):
            SessionWriter.create(tmp_path, "s1", header)
        first.gaze(gaze_rows([3]))
    assert len(Session.open(tmp_path / "sessions" / "s1").gaze()) == 3
    with pytest.raises(SessionError, match="already a session"):
        SessionWriter.create(tmp_path, "s1", header)


def test_session_json_is_there_before_the_first_sample_and_sealed_at_close(tmp_path, header):
    writer = SessionWriter.create(tmp_path, "s1", header)
    before = json.loads((writer.path / "session.json").read_text("utf-8"))
    assert before["closed"] is False
    assert before["ended"] is None
    writer.close()
    after = json.loads((writer.path / "session.json").read_text("utf-8"))
    assert after["closed"] is True
    assert after["ended"]["clock_ns"] >= before["started"]["clock_ns"]
    assert sorted(p.name for p in writer.path.iterdir()) == ["gaze.bin", "markers.jsonl", "session.json"]


def test_close_may_be_called_twice_and_ends_the_session(tmp_path, header):
    writer = SessionWriter.create(tmp_path, "s1", header)
    assert writer.state is SourceState.OK
    writer.close()
    writer.close()
    assert writer.state is SourceState.ENDED
    with pytest.raises(SessionError, match="closed"):
        writer.gaze(gaze_rows([1]))


def test_a_fault_in_the_with_block_is_not_hidden(tmp_path, header):
    def record() -> None:
        with SessionWriter.create(tmp_path, "s1", header) as writer:
            writer.gaze(gaze_rows([1]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record()
    assert len(Session.open(tmp_path / "sessions" / "s1").gaze()) == 1


def test_a_picture_is_stored_once(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        names = [writer.stimulus(p) for p in (picture(0), picture(0), picture(1))]
        stored = [p.name for p in (writer.path / "stimuli").iterdir()]
    assert names[0] == names[1] != names[2]
    assert sorted(stored) == sorted(set(names))


def test_profiles_are_copied_and_never_written_over(tmp_path, header):
    profile = tmp_path / "calibration" / "p1"
    profile.mkdir(parents=True)
    (profile / "profile.json").write_text("{}")
    (profile / "mapping.npz").write_bytes(b"\x00\x01")
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        assert writer.calibration(profile) == "calibration/p1"
        (profile / "profile.json").write_text('{"later": 1}')
        assert writer.calibration(profile) == "calibration/p1-2"
    session = Session.open(tmp_path / "sessions" / "s1")
    assert [p.name for p in session.calibrations()] == ["p1", "p1-2"]
    assert (session.calibrations()[0] / "profile.json").read_text() == "{}"
    assert (session.calibrations()[1] / "mapping.npz").read_bytes() == b"\x00\x01"


def test_a_profile_with_a_link_in_it_is_refused(tmp_path, header):
    profile = tmp_path / "calibration" / "p1"
    profile.mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    (profile / "profile.json").symlink_to(tmp_path / "secret")
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        with pytest.raises(SessionError, match="not a plain file"):
            writer.calibration(profile)
        with pytest.raises(SessionError, match="no such calibration"):
            writer.calibration(tmp_path / "calibration" / "p2")
        (tmp_path / "calibration" / "p3").symlink_to(profile)
        with pytest.raises(SessionError, match=r"p3: a link, not a calibration profile\. Name the folder"):
            writer.calibration(tmp_path / "calibration" / "p3")


@pytest.mark.parametrize("code", ["A/B", "..", "CON", "", "a b", "ä1", "x" * 33, "a\n", "com1"])
def test_R12_participant_codes_that_are_refused(tmp_path, header, code):
    with pytest.raises(ConfigError, match="participant code"):
        SessionWriter.create(tmp_path, "s1", replace(header, participant=code))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", ["007", "1e5", "NA", "null", "x" * 32])
def test_R12_participant_codes_stay_text(tmp_path, header, code):
    with SessionWriter.create(tmp_path, "s1", replace(header, participant=code)):
        pass
    assert Session.open(tmp_path / "sessions" / "s1").header.participant == code


@pytest.mark.parametrize("bad", ["..", "../x", "/etc", "a/b", "a\\b", "", ".", "-x", "nul", "x" * 81, "a:b"])
def test_R12_session_ids_stay_inside_the_data_folder(tmp_path, header, bad):
    with pytest.raises(SessionError, match="cannot name a session"):
        SessionWriter.create(tmp_path, bad, header)
    assert list(tmp_path.iterdir()) == []
