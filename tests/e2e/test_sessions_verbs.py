"""A lab looks after its recordings: list, show, delete, for people and for programs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .pictures import face_video
from .program import gazelab


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with one recording of a short face video."""
    root = tmp_path_factory.mktemp("root")
    video = face_video(root / "face.mp4", 15)
    gazelab(
        *("record", "--source", "video", "--device", video, "--seconds", "5", "--session", "first"),
        *("--participant", "P01", "--screen", "1920x1080:345x194@600", "--data", root),
    ).worked()
    return root


@pytest.fixture
def root(tmp_path: Path, recorded: Path) -> Path:
    """Two recordings, and one whose header is broken."""
    for name in ("first", "second", "third"):
        shutil.copytree(recorded / "sessions" / "first", tmp_path / "sessions" / name)
    (tmp_path / "sessions" / "third" / "session.json").write_text("{")
    return tmp_path


def test_an_empty_data_folder_says_what_to_do(tmp_path):
    told = gazelab("sessions", "list", "--data", tmp_path).worked()
    assert told == "No session yet. `gazelab demo` makes one without a camera.\n"
    assert gazelab("sessions", "list", "--json", "--data", tmp_path).worked() == "[]\n"
    assert list(tmp_path.iterdir()) == []


def test_list_gives_a_line_each_and_names_what_is_broken(root):
    first, second, third = gazelab("sessions", "list", "--data", root).worked().splitlines()
    assert first.startswith("first  P01  video  0.5 s  0 trials, 15 samples, 100.0% lost")
    assert second.replace("second", "first") == first
    assert third.startswith("third  ?  ?")
    assert "the session's header is broken" in third


def test_list_json_is_one_line_with_a_row_each(root):
    out = gazelab("sessions", "list", "--json", "--data", root).worked()
    assert out.count("\n") == 1
    rows = json.loads(out)
    assert [row["session_id"] for row in rows] == ["first", "second", "third"]
    assert [row["n_samples"] for row in rows] == [15, 15, 0]
    assert [bool(row["problem"]) for row in rows] == [False, False, True]
    assert rows[0]["path"] == str(root / "sessions" / "first")
    assert rows[0]["closed"]
    assert 0.4 < rows[0]["duration_s"] < 0.5  # 15 frames of a thirtieth: 14 steps


def test_show_by_id_and_by_path(root):
    by_id = gazelab("sessions", "show", "first", "--data", root).worked()
    assert "not calibrated" in by_id
    assert "screen screen: 1920 x 1080 px, 345.0 x 194.0 mm at 600.0 mm" in by_id
    assert gazelab("sessions", "show", root / "sessions" / "first").worked() == by_id


def test_show_json(root):
    shown = json.loads(gazelab("sessions", "show", "first", "--json", "--data", root).worked())
    assert shown["session_id"] == "first"
    assert shown["participant"] == "P01"
    assert shown["n_samples"] == 15
    assert shown["trials"] == []
    assert shown["report"] == []
    assert shown["screen"]["width_px"] == 1920


def test_delete_asks_first(root):
    folder = root / "sessions" / "first"
    asked = gazelab("sessions", "delete", "first", "--data", root, stdin="n\n")
    assert str(folder) in asked.out
    assert asked.refusal(code=130) == "nothing was deleted."
    assert (folder / "gaze.bin").is_file()
    no_answer = gazelab("sessions", "delete", "first", "--data", root)
    assert no_answer.code == 130
    assert (folder / "gaze.bin").is_file()
    told = gazelab("sessions", "delete", "first", "--data", root, stdin="y\n").worked()
    assert f"Deleted {folder}." in told
    assert not folder.exists()
    assert (root / "sessions" / "second" / "gaze.bin").is_file()


def test_delete_without_asking_takes_the_broken_one_too(root):
    assert gazelab("sessions", "delete", "--yes", "third", "--data", root).worked() == (
        f"Deleted {root / 'sessions' / 'third'}.\n"
    )
    rows = json.loads(gazelab("sessions", "list", "--json", "--data", root).worked())
    assert [row["session_id"] for row in rows] == ["first", "second"]


@pytest.mark.parametrize("name", ["..", "../..", "."])
def test_delete_takes_nothing_but_sessions(root, name):
    before = sorted(root.rglob("*"))
    assert gazelab("sessions", "delete", "--yes", name, "--data", root).refusal()
    assert sorted(root.rglob("*")) == before


def test_a_data_folder_that_is_a_file(tmp_path):
    file = tmp_path / "data"
    file.write_text("")
    sentence = gazelab("sessions", "list", "--data", file).refusal()
    assert sentence == f"{file}: the data folder is a file. Give a folder to --data."


def test_a_session_is_shifted_listed_and_put_back(root):
    samples = (root / "sessions" / "first" / "gaze.bin").read_bytes()
    words = ("--dx", "12", "--dy", "-30", "--reason", "the chair slid", "--author", "RA2", "--data", root)
    told = gazelab("sessions", "shift", "first", *words).worked()
    assert "shift by +12 px right, -30 px down, the whole session" in told
    assert "as measured" in told
    gazelab("sessions", "undo", "first", "1", "--reason", "it had not", "--data", root).worked()
    rows = json.loads(gazelab("sessions", "corrections", "first", "--json", "--data", root).worked())
    assert [(row["number"], row["in_force"]) for row in rows["corrections"]] == [(1, False), (2, True)]
    assert rows["corrections"][0]["author"] == "RA2"
    assert (root / "sessions" / "first" / "gaze.bin").read_bytes() == samples


def test_an_audit_file_with_garbage_is_told_by_its_line(root):
    (root / "sessions" / "first" / "corrections.jsonl").write_bytes(b"\x00garbage\n")
    told = gazelab("sessions", "corrections", "first", "--data", root).refusal()
    assert "line 1 of the corrections" in told
    assert "line 1 of the corrections" in gazelab("sessions", "show", "first", "--data", root).worked()
