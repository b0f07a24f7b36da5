"""gazelab sessions corrections, shift, recalibrate, undo: what they print, and what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gazelab.cli import main
from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.pipeline.corrected import corrected_gaze
from gazelab.sessions.correction_entries import RecalibrateEntry, ShiftEntry
from gazelab.sessions.corrections import append_correction
from gazelab.sessions.reader import Session
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.sections import Section
from gazelab.sessions.writer import SessionWriter

SCREEN = Screen("Panel 7", 1920, 1080, 345.0, 194.0, 600.0, "card")
PLACE = Placement(10, 20, 400, 300, 40, 30)


@pytest.fixture
def session(tmp_path) -> Session:
    """Three trials of ten samples, the last sample of each lost; a drift check before the third."""
    header = SessionHeader("P1", SCREEN, SourceRecord("lsl", "tracker"))
    with SessionWriter.create(tmp_path, "first", header) as writer:
        for index in range(3):
            rows = empty_gaze(10)
            rows["time_ns"] = index * 1000 + np.arange(10)
            rows["x_px"], rows["y_px"], rows["valid"] = 960.0, 540.0, True
            rows["x_px"][9], rows["valid"][9] = np.nan, False
            writer.gaze(rows)
            if index == 2:
                check = {"decision": "corrected", "target_px": [960, 540], "correction_px": [100.0, 0.0]}
                writer.marker({"kind": "drift_check", "time_ns": 1500, **check})
            said = {"chart_id": "c", "question": "q", "answer": "1", "picture_sha256": "0" * 64}
            on = {"kind": "stimulus_on", "time_ns": index * 1000, "order": index, "placement": PLACE}
            writer.marker({**on, **said})
            writer.marker({"kind": "stimulus_off", "time_ns": index * 1000 + 10})
    return Session.open(writer.path)


@pytest.fixture
def verb(session, capsys):
    """Run `gazelab sessions …` on that session; gives (exit code, stdout, stderr)."""

    def do(name: str, *words: str) -> tuple[int, str, str]:
        code = main(["sessions", name, str(session.path), *words])
        out, err = capsys.readouterr()
        return code, out, err

    return do


def test_a_shift_tells_what_it_moved_and_that_nothing_is_lost(session, verb):
    before = (session.path / "gaze.bin").read_bytes()
    code, out, _ = verb("shift", "--dx", "30", "--dy", "-40", "--trials", "1-2", "--reason", "sat lower")
    assert code == 0
    first, second, third = out.splitlines()
    assert first.startswith("1. shift by +30 px right, -40 px down, trials 1 to 2")
    assert first.endswith("sat lower]")
    assert second == "18 of 30 samples moved, by 50.0 px (0.86 deg) on average."
    assert "as measured" in third
    assert (session.path / "gaze.bin").read_bytes() == before
    assert corrected_gaze(session)["x_px"][[0, 10, 20]].tolist() == [990, 990, 1060]


def test_the_list_has_the_drift_checks_and_the_state_of_each_correction(verb):
    assert "from there on +100 px right" in verb("corrections")[1]
    verb("shift", "--dx", "30", "--reason", "a")
    verb("undo", "1", "--reason", "b")
    text = verb("corrections")[1].splitlines()
    assert len(text) == 3
    assert "(undone)" in text[1]
    assert "undo of 1" in text[2]
    listed = json.loads(verb("corrections", "--json")[1])
    assert listed["live"] == [{"from_ns": 1500, "dx_px": 100.0, "dy_px": 0.0, "state": "in force"}]
    assert [(c["number"], c["kind"], c["in_force"]) for c in listed["corrections"]] == [
        (1, "shift", False),
        (2, "undo", True),
    ]


def test_the_list_says_what_a_recalibration_replaced(session, verb):
    for change in (
        ShiftEntry(Section(), 5.0, 0.0),
        ShiftEntry(Section(trials=(1, 1)), 5.0, 0.0),
        RecalibrateEntry(Section(trials=(1, 2)), "calibration/p", "0" * 64),
    ):
        append_correction(session.path, change, "why")
    states = ["replaced by 3 in trials 2–3", "replaced by 3", "in force"]
    live, *lines = verb("corrections")[1].splitlines()
    assert live.endswith("(replaced by 3 in trial 3)")
    assert [state for state, line in zip(states, lines, strict=True) if f"({state})" in line] == states
    listed = json.loads(verb("corrections", "--json")[1])
    assert [c["state"] for c in listed["corrections"]] == states
    assert listed["live"][0]["state"] == "replaced by 3 in trial 3"
    assert [c["in_force"] for c in listed["corrections"]] == [True, True, True]


def test_a_session_without_any_says_so(tmp_path, capsys):
    with SessionWriter.create(
        tmp_path, "second", SessionHeader("P1", SCREEN, SourceRecord("lsl", "x"))
    ) as writer:
        pass
    assert main(["sessions", "corrections", str(writer.path)]) == 0
    assert capsys.readouterr().out == "No corrections: the gaze is as measured.\n"


def test_undo_and_redo_as_json(session, verb):
    verb("shift", "--dx", "1", "--unit", "deg", "--reason", "a")
    undone = json.loads(verb("undo", "1", "--reason", "b", "--json")[1])
    assert undone["made"]["reverts"] == 1
    assert undone["changed"]["n_samples"] == 27
    assert undone["changed"]["mean_deg"] == pytest.approx(1.0, abs=0.01)
    redone = json.loads(verb("undo", "2", "--reason", "c", "--json")[1])
    assert redone["changed"]["n_samples"] == 27
    assert corrected_gaze(session)["x_px"][0] > 960


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("shift", "--reason", "a"), "a shift by nothing"),
        (("shift", "--dx", "5", "--reason", " "), "needs a reason"),
        (("shift", "--dx", "nan", "--reason", "a"), "cannot be"),
        (("shift", "--dx", "5", "--unit", "cm", "--reason", "a"), "no unit"),
        (("shift", "--dx", "5", "--trials", "0", "--reason", "a"), "no section"),
        (("shift", "--dx", "5", "--trials", "3-2", "--reason", "a"), "no section"),
        (("shift", "--dx", "5", "--trials", "2-4", "--reason", "a"), "no trial 4: the session has 3"),
        (("shift", "--dx", "5", "--trials", "4-", "--reason", "a"), "no trial 4: the session has 3"),
        (("shift", "--dx", "5", "--from-ns", "9" * 25, "--reason", "a"), "in the section"),
        (("shift", "--dx", "5", "--from-ns", "5000", "--reason", "a"), "samples are from 0 to 2009 ns"),
        (("shift", "--dx", "5", "--trials", "1,2", "--reason", "a"), "Write them as 3-7"),
        (("shift", "--dx", "5", "--trials", "1", "--from-ns", "5", "--reason", "a"), "exclude each other"),
        (("undo", "1", "--reason", "a"), "no correction 1"),
        (("recalibrate", "--profile", "nowhere", "--reason", "a"), "there is no such profile"),
    ],
)
def test_a_mistake_is_told_in_a_sentence_and_writes_nothing(session, verb, words, told):
    code, out, err = verb(*words)
    assert code == 1
    assert out == ""
    assert told in err
    assert not (session.path / "corrections.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "x"),
    [
        (("--trials", "2-"), [960, 965, 1065]),
        (("--trials", "2"), [960, 965, 1060]),
        (("--from-ns", "2000"), [960, 960, 1065]),
        (("--until-ns", "1005"), [965, 965, 1060]),
    ],
)
def test_sections(session, verb, words, x):
    assert verb("shift", "--dx", "5", *words, "--reason", "a", "--author", "RA")[0] == 0
    assert corrected_gaze(session)["x_px"][[0, 10, 20]].tolist() == x


def test_show_tells_how_often_the_gaze_was_corrected(session, verb):
    verb("shift", "--dx", "5", "--reason", "a")
    verb("shift", "--dx", "7", "--reason", "b")
    verb("undo", "1", "--reason", "c")
    assert "gaze corrected: by drift checks 1, afterwards 1" in verb("show")[1]
    shown = json.loads(verb("show", "--json")[1])
    assert (shown["n_live_corrections"], shown["n_corrections"]) == (1, 1)
    (session.path / "corrections.jsonl").write_text("garbage\n")
    shown = json.loads(verb("show", "--json")[1])
    assert shown["n_corrections"] is None
    assert any("line 1 of the corrections" in note for note in shown["report"])


def test_what_cannot_be_followed_any_more_can_still_be_undone(session, verb):
    entry = {"kind": "recalibrate", "section": {}, "profile": "calibration/gone", "mapping_sha256": "ab" * 32}
    entry |= {"author": "a", "reason": "r", "utc": "2026-01-01T00:00:00Z"}
    (session.path / "corrections.jsonl").write_text(json.dumps(entry) + "\n")
    code, _, err = verb("shift", "--dx", "5", "--reason", "a")
    assert code == 1
    assert "gazelab sessions corrections" in err
    code, out, err = verb("undo", "1", "--reason", "its profile is gone")
    assert code == 0
    assert "undo of 1" in out
    assert "note: " in err
    assert corrected_gaze(session)["x_px"][0] == 960
