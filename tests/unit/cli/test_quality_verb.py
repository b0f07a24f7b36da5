"""`gazelab quality`: what it prints, writes and refuses; the figures behind it are tested elsewhere."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys

import numpy as np
import pytest

from gazelab.cli import main
from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter

SCREEN = Screen("laptop", 1920, 1080, 345.0, 194.0, 600.0, "card")
CHART = Placement(460.0, 140.0, 1000.0, 800.0, 100, 80)
PICTURE = Picture.from_rgb(np.full((80, 100, 3), 200, np.uint8))


@pytest.fixture
def data(tmp_path) -> list[str]:
    """Two trials of 2 s with two looks each; of the second, 19 of 40 samples are lost."""
    rows = empty_gaze(80)
    rows["time_ns"] = np.arange(80) * 50_000_000
    rows["x_px"], rows["y_px"], rows["valid"] = np.repeat([700.0, 1200.0] * 2, 20), 500.0, True
    rows["x_px"][61:], rows["valid"][61:] = np.nan, False
    facts = {"question": "How high?", "answer": "12", "picture_sha256": PICTURE.sha256, "placement": CHART}
    header = SessionHeader("P1", SCREEN, SourceRecord("scripted", "a test"))
    with SessionWriter.create(tmp_path, "reading", header, clock=lambda: 0) as writer:
        writer.stimulus(PICTURE)
        for k in range(2):
            on, off = k * 2_000_000_000, (k + 1) * 2_000_000_000
            writer.marker({"kind": "stimulus_on", "time_ns": on, "order": k, "chart_id": f"c{k}", **facts})
            writer.marker({"kind": "answer", "time_ns": off, "given": "12"})
            writer.marker({"kind": "stimulus_off", "time_ns": off})
        writer.gaze(rows)
    return ["--data", str(tmp_path)]


def test_the_report_says_what_to_exclude_and_why_and_is_no_failure(data, capsys):
    assert main(["quality", "reading", *data]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].split()[:3] == ["verdict", "trial", "chart"]
    assert "trial 2, exclude: 47.5 % of the samples are lost (limit 40 %)" in said
    assert "2 trials: 0 to keep, 1 to review, 1 to exclude." in said


def test_json_and_the_kept_report_say_the_same(data, tmp_path, capsys):
    assert main(["quality", "reading", "--json", *data]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [t["verdict"] for t in said["trials"]] == ["review", "exclude"]
    assert said["limits"]["exclude_loss"] == 0.4
    kept = json.loads((tmp_path / "sessions/reading/derived/quality.json").read_text())
    assert kept["data"] == said
    assert len(kept["inputs_sha256"]) == 64


def test_the_limits_are_those_of_gazelab_toml(data, tmp_path, capsys):
    (tmp_path / "gazelab.toml").write_text("[quality]\nexclude_loss = 0.6\nreview_loss = 0.5\n")
    assert main(["quality", "reading", "--json", *data]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["trials"][1]["verdict"] == "review"
    assert said["limits"]["exclude_loss"] == 0.6
    (tmp_path / "gazelab.toml").write_text("[quality]\nexclude_loss = 60\n")
    assert main(["quality", "reading", *data]) == 1
    assert "quality.exclude_loss = 60.0 cannot be. Use 0 to 1." in capsys.readouterr().err


def test_gaze_as_measured_can_be_judged_too(data, tmp_path):
    assert main(["quality", "reading", "--gaze", "raw", *data]) == 0
    assert (tmp_path / "sessions/reading/derived/quality_raw.json").exists()
    assert not (tmp_path / "sessions/reading/derived/quality.json").exists()


def test_a_spreadsheet_of_every_figure(data, tmp_path, capsys):
    assert main(["quality", "reading", "--csv", str(tmp_path / "t.csv"), *data]) == 0
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == ["review", "exclude"]


def test_a_decision_needs_a_reason_and_can_be_taken_back(data, tmp_path, capsys):
    file = tmp_path / "sessions/reading/exclusions.jsonl"
    assert main(["quality", "reading", "--decide", "2=keep", *data]) == 1
    assert "needs a reason" in capsys.readouterr().err
    assert not file.exists()
    assert main(["quality", "reading", "--decide", "2=keep", "--reason", "enough is there", *data]) == 0
    assert "decided by hand (the limits say exclude): enough is there" in capsys.readouterr().out
    assert main(["quality", "reading", "--decide", "2=limits", *data]) == 0
    assert "decided by hand" not in capsys.readouterr().out
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize("text", ["2", "two=keep", "2=good", "0=keep", "3=keep", "=keep", "²=keep"])
def test_what_is_no_decision_is_refused(data, text, capsys):
    assert main(["quality", "reading", "--decide", text, "--reason", "why", *data]) == 1
    assert capsys.readouterr().err.startswith("gazelab: ")


def test_a_session_that_is_not_there_is_said(tmp_path, capsys):
    assert main(["quality", "nowhere", "--data", str(tmp_path)]) == 1
    assert "there is no session" in capsys.readouterr().err


def test_where_nothing_can_be_written_the_report_is_still_given(data, tmp_path, capsys):
    (tmp_path / "sessions/reading/derived").write_text("in the way")
    assert main(["quality", "reading", "--json", *data]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["summary"]["n_exclude"] == 1
    assert "the report is not kept" in err


def test_compare_leaves_poor_gaze_out_of_the_means_and_says_so(data, capsys):
    assert main(["compare", "reading", *data]) == 0
    said = capsys.readouterr().out
    assert "gaze: exclude, 47.5 % of the samples are lost (limit 40 %)" in said
    assert "Means over 1 of 2 trials; 1 left out. Left out: reading trial 2 (c1): 47.5 %" in said


def test_compare_counts_all_trials_when_asked_and_json_keeps_a_line_a_trial(data, capsys):
    assert main(["compare", "reading", "--json", *data]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["in_means"] for row in rows] == [True, False]
    assert [row["quality"]["verdict"] for row in rows] == ["review", "exclude"]
    assert main(["compare", "reading", "--json", "--means", "--all-trials", *data]) == 0
    *rows, means = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["in_means"] for row in rows] == [True, True]
    assert (means["n_counted"], means["all_trials"], means["left_out"]) == (2, True, [])


def test_compare_tells_a_session_that_cannot_be_followed_and_scores_the_rest(data, tmp_path, capsys):
    shutil.copytree(tmp_path / "sessions/reading", tmp_path / "sessions/broken")
    (tmp_path / "sessions/broken/corrections.jsonl").write_text("[]\n" * 2)
    names = ["broken", "reading", "nowhere"]
    assert main(["compare", *names, *data]) == 1
    out, err = capsys.readouterr()
    assert "Means over 1 of 2 trials; 1 left out; 2 sessions not compared." in out
    assert "Not compared: broken: " in out
    assert "Not compared: nowhere: " in out
    assert "\nbroken: not compared, " in f"\n{err}"
    assert err.splitlines()[-1].startswith("gazelab: nowhere, broken: 2 of 3 sessions were not compared.")

    assert main(["compare", *names, "--json", "--means", *data]) == 1
    *rows, means = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    failed = {row["session"]: row["failed"] for row in rows if "failed" in row}
    assert set(failed) == {"broken", "nowhere"}
    assert "corrections.jsonl" in failed["broken"]
    assert [row["session"] for row in rows if "failed" not in row] == ["reading", "reading"]
    assert (means["n_counted"], len(means["failed_sessions"])) == (1, 2)


def test_compare_of_sessions_that_all_fail_has_no_means(data, capsys):
    assert main(["compare", "nowhere", "neither", *data]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "neither: not compared, " in err
    assert "no trial could be compared" in err


def test_compare_of_one_session_that_fails_tells_its_reason_alone(data, capsys):
    assert main(["compare", "nowhere", *data]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "nowhere: there is no session" in line


ODD = "half a character \ud800, a terminal's command \x1b[2J,\nnext"


def test_reasons_of_any_characters_are_printed_and_written(data, tmp_path, capsys):
    assert main(["quality", "reading", "--decide", "1=exclude", "--reason", ODD, *data]) == 0
    said = capsys.readouterr().out
    assert "half a character \ufffd, a terminal's command \ufffd[2J, next" in said
    assert main(["quality", "reading", "--csv", str(tmp_path / "q.csv"), *data]) == 0
    assert "half a character" in (tmp_path / "q.csv").read_text("utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ["sessions", "show", "reading"],
        ["sessions", "list"],
        ["quality", "reading"],
        ["compare", "reading"],
        ["replay", "reading", "--html", "report.html"],
    ],
)
def test_no_text_of_a_session_commands_the_terminal_or_forges_a_line(
    data, tmp_path, words, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    markers, header = (tmp_path / "sessions/reading" / name for name in ("markers.jsonl", "session.json"))
    text = markers.read_text()
    for there in ('"c0"', '"c1"', '"How high?"', '"12"'):
        text = text.replace(there, json.dumps(f"{there[1:-1]}\x1b[2J\nforged\x9b"))
    markers.write_text(text.replace(PICTURE.sha256, "0" * 64, 1))  # of the first trial there is no picture
    header.write_text(header.read_text().replace('"laptop"', '"lap\\u001b[2J\\nforged"'))
    main([*words, *data])
    said = "".join(capsys.readouterr())
    assert "forged" in said or words[1] == "list"
    assert not [line for line in said.splitlines() if line.startswith("forged")]
    assert [c for c in said if not c.isprintable() and c != "\n"] == []


@pytest.mark.parametrize("chart", ["half \ud800", "座る é"])
def test_what_the_output_has_no_characters_for_is_escaped(data, tmp_path, chart, monkeypatch):
    markers = tmp_path / "sessions/reading/markers.jsonl"
    markers.write_text(markers.read_text().replace('"c0"', json.dumps(chart)))
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "cp1252", write_through=True))
    assert main(["quality", "reading", *data]) == 0
    assert b"\\u" in out.getvalue()


@pytest.mark.parametrize(
    "drift",
    [{"offset_px": [10**400, 0]}, {"offset_deg": 10**400}, {"offset_px": {}, "offset_deg": [None]}],
)
def test_numbers_that_no_float_holds_are_no_data(data, tmp_path, drift, capsys):
    session = tmp_path / "sessions/reading"
    check = {
        "kind": "drift_check",
        "time_ns": -5,
        "decision": "fine",
        "target_px": [1, 1],
        "correction_px": [0, 0],
    }
    with (session / "markers.jsonl").open("a") as file:
        file.write(json.dumps(check | drift) + "\n")
    header = json.loads((session / "session.json").read_text())
    header["profile"] = {"accuracy_deg": 10**400, "accuracy_px": 1e400}
    (session / "session.json").write_text(json.dumps(header))
    assert main(["quality", "reading", "--json", *data]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["summary"]["calibration"]["accuracy_deg"] is None
    assert said["trials"][0]["figures"]["drift_before"]["offset_deg"] is None


@pytest.mark.parametrize("trial", ["9" * 5000, "0", "3", "-1", "²", ""])
def test_a_number_that_is_no_trial_is_refused(data, trial, capsys):
    assert main(["quality", "reading", "--decide", f"{trial}=keep", "--reason", "why", *data]) == 1
    assert capsys.readouterr().err.startswith("gazelab: ")
