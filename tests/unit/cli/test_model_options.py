"""How a model is opened, from the command line or from gazelab.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.cli import main
from gazelab.cli.model_options import Fetching, options_of
from gazelab.pipeline.doctor import Check

SETTINGS = '[model]\nname = "./tiny"\ndevice = "mps"\ndtype = "float16"\nquant = "8bit"\n'


def test_what_is_not_given_comes_from_the_settings(tmp_path):
    (tmp_path / "gazelab.toml").write_text(SETTINGS)
    assert options_of(tmp_path, None, None, None, None, None) == ModelOptions("mps", "float16", quant="8bit")
    given = options_of(tmp_path, "cpu", "float32", "4bit", "main", Path("mine.py"), True, True)
    assert given == ModelOptions("cpu", "float32", True, True, Path("mine.py"), "main", "4bit")


def test_the_settings_are_for_checkpoints_and_not_for_the_embedded_model(tmp_path):
    (tmp_path / "gazelab.toml").write_text(SETTINGS)
    assert options_of(tmp_path, None, None, None, None, None, name="chartreader") == ModelOptions()
    asked = options_of(tmp_path, "cuda", None, None, None, None, name="chartreader")
    assert asked == ModelOptions("cuda")  # which opening it then refuses


def test_without_settings_it_is_the_cpu_as_the_checkpoint_says(tmp_path):
    assert options_of(tmp_path, None, None, None, None, None) == ModelOptions()


def test_the_window_does_not_take_how_a_model_is_opened(tmp_path, capsys):
    assert main(["replay", "sample-synthetic", "--device", "cuda"]) != 0
    told = capsys.readouterr().err
    assert "for a report only" in told
    assert "[model] in gazelab.toml" in told


def test_a_download_is_told_by_tenths_and_not_by_the_byte(capsys):
    fetching = Fetching()
    for done in range(0, 1001):
        fetching("downloading tiny", done * 1_000_000, 1_000_000_000)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 11
    assert told[0].startswith("downloading tiny: 0 ")
    assert told[-1].endswith("1.0 GB of 1.0 GB")


@pytest.mark.parametrize("as_json", [False, True])
def test_the_doctor_opens_the_model_as_it_was_told_and_tells_each_line(monkeypatch, capsys, as_json):
    asked = {}

    def checked(name, options, tell):
        asked.update(name=name, options=options)
        found = [Check("opens", True, "yes"), Check("tap = eager", False, "far\n\x1bapart")]
        for line in found:
            tell(line)
        return found

    monkeypatch.setattr("gazelab.pipeline.doctor.check_model", checked)
    words = ["doctor", "--model", "./tiny", "--dtype", "bfloat16", "--revision", "v2"]
    assert main([*words, *(["--json"] if as_json else [])]) == 1
    assert asked == {"name": "./tiny", "options": ModelOptions(dtype="bfloat16", revision="v2")}
    told = capsys.readouterr().out
    if as_json:
        rows = json.loads(told)["checks"]
        assert [row["ok"] for row in rows if row["check"] in ("opens", "tap = eager")] == [True, False]
    else:
        assert told.count("tap = eager: far \N{REPLACEMENT CHARACTER}apart\n") == 1
