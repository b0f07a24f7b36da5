from __future__ import annotations

import hashlib

from PyQt6.QtGui import QFontDatabase, QTextLayout

from gazelab.ui.fonts import BUNDLED, install_fallback

TEXT = "图表 ١٢ диаграмма グラフ"


def missing_glyphs(font) -> int:
    layout = QTextLayout(TEXT, font)
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return sum(run.glyphIndexes().count(0) for run in layout.glyphRuns())


def test_I7_no_letter_of_any_script_is_a_box(qapp):
    before = qapp.font()
    install_fallback()
    assert missing_glyphs(qapp.font()) == 0
    assert qapp.font() == before


def test_a_system_that_writes_chinese_keeps_its_own_font(qapp, monkeypatch):
    monkeypatch.setattr(QFontDatabase, "families", lambda *_: ["Some Song"])
    assert install_fallback() == ""


def test_a_font_that_cannot_be_read_is_a_warning(qapp, monkeypatch, caplog, tmp_path):
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    monkeypatch.setattr(QFontDatabase, "families", lambda *_: [])
    monkeypatch.setattr("gazelab.ui.fonts.BUNDLED", broken)
    assert install_fallback() == ""
    assert "cannot be loaded" in caplog.text


def test_the_notice_names_the_file_that_is_there():
    notice = (BUNDLED.parent / "NOTICE.txt").read_text()
    assert hashlib.sha256(BUNDLED.read_bytes()).hexdigest() in notice
    assert "Apache License" in notice
