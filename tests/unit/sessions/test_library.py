from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gazelab.core.errors import SessionError
from gazelab.core.geometry import Screen
from gazelab.sessions.library import delete_session, describe, list_sessions
from gazelab.sessions.writer import SessionWriter

from .conftest import gaze_rows, stimulus_on

S = 1_000_000_000


def record(root, session_id, header, n_lost=1):
    with SessionWriter.create(root, session_id, header, utc_clock=lambda: 1_790_000_000 * S) as writer:
        writer.marker(stimulus_on(0))
        rows = gaze_rows(np.arange(4) * S)
        rows["valid"][:n_lost] = False
        writer.gaze(rows)
    return writer.path


def test_a_list_says_what_was_recorded(tmp_path, header):
    record(tmp_path, "b", header)
    record(tmp_path, "a", replace(header, participant="p2"), n_lost=0)
    first, second = list_sessions(tmp_path)
    assert (first.session_id, second.session_id) == ("a", "b")
    assert (first.participant, second.participant) == ("p2", "007")
    assert second.started_utc == "2026-09-21T14:13:20+00:00"
    assert (second.source, second.n_trials, second.n_samples) == ("synthetic", 1, 4)
    assert (second.duration_s, second.data_loss, second.closed, second.problem) == (3.0, 0.25, True, "")
    assert first.data_loss == 0.0


def test_G18_a_screen_of_unknown_size_is_said_to_have_no_degrees(tmp_path, header):
    path = record(tmp_path, "bare", replace(header, screen=Screen("panel", 800, 600)))
    text = describe(path).text()
    assert "screen panel: 800 x 600 px, size or distance unknown, so no degrees" in text
    assert "None" not in text


def test_a_session_that_was_cut_off_is_listed_by_its_samples(tmp_path, header):
    path = record(tmp_path, "cut", header)
    text = (path / "session.json").read_text("utf-8").replace('"closed": true', '"closed": false')
    (path / "session.json").write_text(text)
    (line,) = list_sessions(tmp_path)
    assert (line.closed, line.n_samples, line.n_trials, line.duration_s) == (False, 4, 1, 3.0)
    assert line.data_loss == 0.25


def test_a_broken_session_is_listed_with_its_problem(tmp_path, header):
    path = record(tmp_path, "broken", header)
    record(tmp_path, "sound", header)
    (path / "session.json").write_text("{")
    lines = list_sessions(tmp_path)
    assert [line.session_id for line in lines] == ["broken", "sound"]
    assert "broken" in lines[0].problem
    assert lines[1].problem == ""


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("summary", "n_valid", None),
        ("summary", "n_trials", -4),
        ("summary", "n_valid", 10**40),
        ("summary", "last_ns", True),
    ],
)
def test_counts_that_cannot_be_are_one_sessions_problem(tmp_path, header, part, key, value):
    """A list of a hundred sessions must not end at the one whose session.json was edited by hand."""
    path = record(tmp_path, "edited", header)
    record(tmp_path, "sound", header)
    content = json.loads((path / "session.json").read_text("utf-8"))
    content[part][key] = value
    (path / "session.json").write_text(json.dumps(content))
    edited, sound = list_sessions(tmp_path)
    assert key in edited.problem
    assert str(path) in edited.problem
    assert sound.problem == ""


def test_an_empty_session_is_listed(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header):
        pass
    (line,) = list_sessions(tmp_path)
    assert (line.n_samples, line.duration_s, line.data_loss) == (0, None, None)


def test_without_a_folder_there_are_no_sessions(tmp_path):
    assert list_sessions(tmp_path / "none") == []


def test_other_things_in_the_folder_are_not_listed(tmp_path, header):
    path = record(tmp_path, "s1", header)
    (path.parent / "README.md").write_text("x")
    (path.parent / "pictures").mkdir()
    (path.parent / "link").symlink_to(path)
    assert [line.session_id for line in list_sessions(tmp_path)] == ["s1"]


def test_a_line_and_its_json_say_the_same(tmp_path, header):
    path = record(tmp_path, "s1", header)
    (line,) = list_sessions(tmp_path)
    assert line.line() == "s1  007  synthetic  3.0 s  1 trial, 4 samples, 25.0% lost"
    assert json.loads(json.dumps(line.to_json()))["path"] == str(path)
    (path / "session.json").write_text("{")
    assert "broken" in list_sessions(tmp_path)[0].line()


def test_a_description_tells_the_trials_and_what_is_odd(tmp_path, header):
    path = record(tmp_path, "s1", header)
    with (path / "gaze.bin").open("ab") as file:
        file.write(b"torn")
    shown = describe(path)
    assert json.loads(json.dumps(shown.to_json()))["trials"][0]["chart_id"] == "chart0"
    assert shown.report == ("gaze: torn tail of 4 bytes cut",)
    text = shown.text()
    assert "laptop: 1920 x 1080 px, 344.0 x 194.0 mm at 600.0 mm" in text
    assert "not calibrated" in text
    assert "chart0" in text
    assert "(cut off)  Which bar is tallest?  -> no answer (gold: red)" in text
    assert text.endswith("note: gaze: torn tail of 4 bytes cut")
    with pytest.raises(SessionError, match="no session"):
        describe(tmp_path / "none")


def test_a_session_is_deleted_whole(tmp_path, header):
    path = record(tmp_path, "s1", header)
    other = record(tmp_path, "s2", header)
    (path / "derived").mkdir()
    (path / "derived" / "more.json").write_text("{}")
    assert delete_session(tmp_path / "sessions" / "s1") == path
    assert not path.exists()
    assert other.exists()
    with pytest.raises(SessionError, match="no such session"):
        delete_session(tmp_path / "sessions" / "s1")


@pytest.mark.parametrize("broken", ["session.json", "gaze.bin"])
def test_a_broken_session_can_be_deleted(tmp_path, header, broken):
    path = record(tmp_path, "s1", header)
    (path / broken).unlink()
    delete_session(tmp_path / "sessions" / "s1")
    assert not path.exists()


def test_a_deletion_that_failed_can_be_done_again(tmp_path, header, monkeypatch):
    path = record(tmp_path, "s1", header)
    (path / "derived").mkdir()

    def refuse(folder):
        raise PermissionError(13, "in use", str(folder))

    with monkeypatch.context() as patch:
        patch.setattr("gazelab.sessions.library.shutil.rmtree", refuse)
        with pytest.raises(SessionError, match=r"could not be deleted whole \(in use.*delete it again"):
            delete_session(tmp_path / "sessions" / "s1")
    delete_session(tmp_path / "sessions" / "s1")
    assert not path.exists()


@pytest.mark.parametrize("bad", ["..", ".", "", "../..", "/", "s1/..", "a b", "a\\b"])
def test_R12_nothing_but_a_session_is_deleted(tmp_path, header, bad):
    path = record(tmp_path, "s1", header)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SessionError):
        delete_session(path.parent / bad)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_is_no_session_is_not_deleted(tmp_path):
    folder = tmp_path / "sessions" / "thesis"
    folder.mkdir(parents=True)
    (folder / "chapter1.tex").write_text("x")
    with pytest.raises(SessionError, match="nothing was deleted"):
        delete_session(tmp_path / "sessions" / "thesis")
    assert (folder / "chapter1.tex").exists()
    (tmp_path / "sessions" / "file").write_text("x")
    with pytest.raises(SessionError, match="no such session"):
        delete_session(tmp_path / "sessions" / "file")


def test_links_are_never_followed(tmp_path, header):
    path = record(tmp_path, "s1", header)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "session.json").write_text("{}")
    (precious / "data").write_text("x")
    (tmp_path / "sessions" / "link").symlink_to(precious)
    with pytest.raises(SessionError, match="a link"):
        delete_session(tmp_path / "sessions" / "link")
    (path / "stimuli").symlink_to(precious)
    (path / "note").symlink_to(precious / "data")
    delete_session(tmp_path / "sessions" / "s1")
    assert not path.exists()
    assert (precious / "data").read_text() == "x"
    assert (precious / "session.json").exists()
