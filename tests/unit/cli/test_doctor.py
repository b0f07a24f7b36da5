from __future__ import annotations

import json

import pytest

from gazelab.cli import main


@pytest.fixture
def settings_row(tmp_path, monkeypatch, capsys):
    """Run doctor, with the machine's own checks left out, and give its exit code and the settings' row."""
    monkeypatch.setattr("gazelab.pipeline.doctor.check_machine", lambda root: [])

    def do() -> tuple[int, dict]:
        code = main(["doctor", "--json", "--data", str(tmp_path)])
        (row,) = json.loads(capsys.readouterr().out)["checks"]
        return code, row

    return do


@pytest.mark.parametrize("text", ["[source]\nname = 'webcm'\n", "[source"])
def test_settings_that_stop_every_other_verb_are_found(settings_row, tmp_path, text):
    (tmp_path / "gazelab.toml").write_text(text)
    code, row = settings_row()
    assert code == 1
    assert row["check"] == "settings"
    assert not row["ok"]
    assert "gazelab.toml" in row["detail"]


def test_sound_settings_and_none_pass(settings_row, tmp_path):
    assert settings_row() == (
        0, {"check": "settings", "ok": True, "detail": "no gazelab.toml: all by default"}
    )  # fmt: skip
    (tmp_path / "gazelab.toml").write_text("[source]\nname = 'webcam'\n")
    code, row = settings_row()
    assert (code, row["ok"]) == (0, True)
