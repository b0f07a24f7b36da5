"""What the verbs make of their options and of gazelab.toml; the work behind them is tested elsewhere."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gazelab.cli import main
from gazelab.cli.options import parse_screen, profile_folder
from gazelab.cli.record import Wanted, _screen
from gazelab.core.errors import CalibrationError, ConfigError
from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Screen
from gazelab.sessions.reader import Session
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import DEFAULT_ASK, CameraAsk

SCREEN = Screen("Panel 7", 2560, 1440, 597.0, 336.0, 650.0, "card")


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """Arguments with which the window would have been opened."""
    arguments: list[str] = []
    monkeypatch.setattr("gazelab.app.main", lambda given: arguments.extend(given) or 0)
    return arguments


def after(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


@pytest.fixture
def session(tmp_path) -> Session:
    rows = empty_gaze(5)
    rows["time_ns"], rows["x_px"], rows["y_px"] = np.arange(5) * 33_000_000, 2000.0, 1200.0
    rows["valid"] = True
    with SessionWriter.create(
        tmp_path, "first", SessionHeader("P1", SCREEN, SourceRecord("lsl", "tracker"))
    ) as writer:
        writer.gaze(rows)
    return Session.open(writer.path)


def test_a_recorded_session_keeps_its_screen_and_is_found_by_its_id(tmp_path, session):
    words = ["record", "--source", "recorded", "--device", "first", "--seconds", "5", "--session", "again"]
    assert main([*words, "--data", str(tmp_path)]) == 0
    again = Session.open(tmp_path / "sessions" / "again")
    assert again.header.screen == SCREEN
    assert not again.header.for_dataset
    np.testing.assert_array_equal(again.gaze()["x_px"], session.gaze()["x_px"])


def test_the_screen_is_the_profiles_unless_another_is_given():
    profile = SimpleNamespace(screen=SCREEN)
    webcam = Wanted("webcam", "", DEFAULT_ASK)
    assert _screen(None, profile, webcam) == SCREEN
    given = _screen("1920x1080:597x336@500", profile, webcam)
    assert given == replace(parse_screen("1920x1080:597x336@500"), name="Panel 7")


def test_G13_of_a_screen_that_nobody_described_no_millimetres_are_made_up():
    assert not _screen(None, None, Wanted("webcam", "", DEFAULT_ASK)).has_degrees
    assert _screen(None, None, Wanted("synthetic", "", DEFAULT_ASK)).has_degrees


@pytest.mark.parametrize("text", ["0x0", "0x1080:345x194@600", "1920x0", "19201080", "1920x1080:34x19@60"])
def test_a_screen_that_cannot_be_is_refused(text):
    with pytest.raises(ConfigError):
        parse_screen(text)


@pytest.mark.parametrize(
    "words",
    [
        ["demo", "--seed", "-1"],
        ["calibrate", "--source", "synthetic", "--seed", "-1"],
        ["train-chartreader", "--out", "x", "--minutes", "-1"],
    ],
)
def test_numbers_out_of_range_are_wrong_arguments(words, capsys):
    assert main(words) == 2
    assert "Invalid value" in capsys.readouterr().err


def test_a_code_that_cannot_be_is_refused_before_anybody_calibrates(tmp_path, capsys):
    words = ["calibrate", "--source", "synthetic", "--participant", "é", "--data", str(tmp_path)]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "participant code" in said
    assert "target" not in said


def test_a_file_in_the_place_of_a_folder_is_said_before_the_work(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["train-chartreader", "--out", str(tmp_path / "file")]) == 1
    assert main(["demo", "--out", str(tmp_path / "file"), "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count(f"gazelab: {tmp_path / 'file'}: the folder cannot be made") == 2


def test_what_only_a_recording_without_a_window_takes_is_not_passed_over(tmp_path, opened, capsys):
    assert main(["record", "--session", "x", "--data", str(tmp_path)]) == 1
    assert "--session: only a recording without a window takes this" in capsys.readouterr().err
    assert opened == []


def test_the_app_takes_no_recorded_session_as_a_source(tmp_path, opened, capsys):
    assert main(["calibrate", "--source", "recorded", "--device", "x", "--data", str(tmp_path)]) == 1
    assert "gazelab replay" in capsys.readouterr().err
    assert opened == []


def test_the_window_gets_what_the_verbs_were_told(tmp_path, opened, session):
    data = ["--data", str(tmp_path)]
    assert main(["calibrate", "--source", "webcam", "--points", "13", *data]) == 0
    assert (after(opened, "--source"), after(opened, "--points")) == ("webcam", "13")
    opened.clear()
    assert main(["calibrate", "--source", "webcam", "--style", "pursuit", "--head-phase", *data]) == 0
    assert after(opened, "--style") == "pursuit"
    assert "--head-phase" in opened
    opened.clear()
    assert main(["replay", "first", "--model", "some/folder", *data]) == 0
    assert after(opened, "--model") == "some/folder"
    assert "--detector" not in opened
    assert main(["replay", "first", "--detector", "ivt", *data]) == 0
    assert after(opened, "--detector") == "ivt"
    assert main(["replay", "first", "--gaze", "raw", *data]) == 1


def test_gazelab_toml_is_asked_where_no_option_is_given(tmp_path, opened, monkeypatch, capsys):
    (tmp_path / "gazelab.toml").write_text(
        '[source]\nname = "webcam"\ncamera = "Front"\nlatency_ms = 80\nwidth_px = 640\nheight_px = 480\n'
        '[calibration]\npoints = 16\n[model]\nname = "a/model"\n'
    )
    data = ["--data", str(tmp_path)]
    main(["calibrate", *data])
    assert (after(opened, "--source"), after(opened, "--points")) == ("webcam", "16")

    asked: dict[str, object] = {}

    def refuse(name: str, **wanted: object) -> None:
        asked.update(wanted, name=name)
        raise ConfigError("no camera in a test.")

    monkeypatch.setattr("gazelab.sources.registry.open_source", refuse)
    assert main(["record", "--seconds", "1", *data]) == 1
    assert (asked["name"], asked["device"]) == ("webcam", "Front")
    assert asked["ask"] == CameraAsk((640, 480), 30.0, 80_000_000)

    monkeypatch.setattr("gazelab.attention.base.open_model", refuse)
    assert main(["compare", "x", *data]) == 1
    assert asked["name"] == "a/model"

    (tmp_path / "gazelab.toml").write_text("[source]\nnam = 1\n")
    assert main(["record", "--seconds", "1", *data]) == 1
    assert "Did you mean source.name?" in capsys.readouterr().err


def test_no_number_is_null_in_json(monkeypatch, capsys, tmp_path):
    made = {"layout": "laptop", "median_px": math.nan, "block_median_px": {"1": math.nan, "2": 3.5}}
    monkeypatch.setattr("gazelab.pipeline.evaluate.evaluate_gaze", lambda *_args, **_more: made)
    assert main(["evaluate", "gaze", str(tmp_path), "--layout", "laptop", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["median_px"] is None
    assert said["block_median_px"] == {"1": None, "2": 3.5}


def test_the_chart_readers_figures_can_be_measured_again(capsys):
    assert main(["evaluate", "chartreader", "--charts", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["charts"] == 2
    assert said["by_kind"]["all"]["n"] == sum(
        row["n"] for kind, row in said["by_kind"].items() if kind != "all"
    )
    assert main(["evaluate", "chartreader", "--weights", "nowhere.safetensors"]) == 1
    assert "gazelab: " in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["calibrate", "record"])
def test_a_misspelt_source_is_told_before_a_window_opens(tmp_path, capsys, opened, verb):
    assert main([verb, "--source", "webcm", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "gazelab: webcm: there is no such source. Did you mean 'webcam'?\n"
    assert opened == []


@pytest.mark.parametrize("points", ["7", "0"])
@pytest.mark.parametrize("source", ["synthetic", "webcam"])
def test_a_layout_that_there_is_not_is_told_before_anything_starts(tmp_path, capsys, opened, source, points):
    words = ["calibrate", "--source", source, "--points", points, "--data", str(tmp_path)]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said == f"gazelab: there is no layout of {points} points. Choose 5, 9, 13 or 16.\n"
    assert opened == []


def test_a_choice_that_there_is_not_is_told_without_the_parsers_own_words(capsys):
    assert main(["calibrate", "--style", "persuit"]) == 2
    said = capsys.readouterr().err
    assert "Invalid value for '--style': 'persuit' is not one of" in said


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("fisrt", "Did you mean first?"), ("irs", "Did you mean first?"), ("xyz", "sessions list")],
)
def test_a_session_of_a_wrong_name_is_told_with_the_nearest(tmp_path, capsys, session, typed, hint):
    assert main(["sessions", "show", typed, "--data", str(tmp_path)]) == 1
    assert hint in capsys.readouterr().err


def test_a_profile_is_found_by_its_path_in_the_data_folder_or_its_name(tmp_path):
    folder = tmp_path / "calibration" / "P1_2026-03-14T10-22-05Z"
    folder.mkdir(parents=True)
    (folder / "profile.json").write_text("{}")
    for given in (folder, Path("calibration") / folder.name, Path(folder.name)):
        assert profile_folder(given, tmp_path) == folder
    with pytest.raises(CalibrationError, match="Did you mean P1_2026-03-14T10-22-05Z"):
        profile_folder(Path("P1_2026-03-14T10-22-06Z"), tmp_path)
    with pytest.raises(CalibrationError, match="they lie in"):
        profile_folder(Path("nothing"), tmp_path)


def test_the_app_opens_on_a_session_by_its_id_or_its_folder(tmp_path, opened, session):
    for given in ("first", str(session.path)):
        opened.clear()
        assert main(["app", "--session", given, "--data", str(tmp_path)]) == 0
        assert after(opened, "--session") == str(session.path)


def test_without_an_answer_nothing_is_deleted_and_so_it_says(tmp_path, capsys, monkeypatch, session):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["sessions", "delete", "first", "--data", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("gazelab: nothing was deleted.\n")
    assert (session.path / "session.json").is_file()


def test_a_figure_of_the_evaluation_is_told_with_what_it_is(tmp_path, capsys, monkeypatch):
    made = {"layout": "headposes", "unseen_pose_deg": 1.184, "n_pictures": 72}
    monkeypatch.setattr("gazelab.pipeline.evaluate.evaluate_gaze", lambda *_args, **_more: made)
    assert main(["evaluate", "gaze", str(tmp_path), "--layout", "headposes"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "layout: headposes",
        "unseen_pose_deg: 1.184  (mean error at each head pose, calibrated on all others)",
        "n_pictures: 72",
    ]
