from __future__ import annotations

import pytest
from PyQt6.QtWidgets import QWidget

from gazelab.ui import theme
from gazelab.ui.theme import Theme


@pytest.mark.parametrize("folder", ["a b é", "日本 (2)", "it's"])
def test_M8_the_theme_is_read_in_a_folder_of_any_name(folder, tmp_path, monkeypatch, qapp, qtlog):
    monkeypatch.setattr(theme, "PICTURES", tmp_path / folder)
    theme.apply(qapp, Theme.DARK)
    QWidget().ensurePolished()  # a sheet is read when the first widget needs it
    said = [record.message for record in qtlog.records]
    monkeypatch.undo()
    theme.apply(qapp, Theme.LIGHT)
    assert not [text for text in said if "stylesheet" in text]
