from __future__ import annotations

import sys

from gazelab.cli.pictures import draw_validation


def test_without_qt_the_program_says_so_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gazelab.ui.result_png", None)
    draw_validation(tmp_path, None)
    assert "No picture of the validation: Qt cannot be loaded" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
