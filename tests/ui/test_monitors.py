from __future__ import annotations

import math

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import Screen
from gazelab.ui.card_dialog import CARD_WIDTH_MM, CardDialog, with_card
from gazelab.ui.monitors import load_sizes, save_size, screen_of, trusted_mm


@pytest.mark.parametrize(
    "told",
    [(0, 0), (1, 1), (160, 90), (16, 9), (508, 285.75), (-5, 3)],
    ids=["none", "one mm", "aspect code", "aspect", "96 dpi guess", "negative"],
)
def test_G18_a_system_size_that_cannot_be_is_not_believed(told):
    assert all(math.isnan(v) for v in trusted_mm(1920, 1080, *told))


def test_G18_a_turned_monitor_gets_its_sides_in_the_right_order():
    assert trusted_mm(1080, 1920, 527, 296) == (296, 527)


def test_G18_a_good_system_size_is_taken():
    assert trusted_mm(1920, 1080, 344, 194) == (344, 194)


def test_a_measured_size_is_kept_for_the_same_monitor_only(tmp_path):
    monitor = QGuiApplication.primaryScreen()
    now = screen_of(monitor)
    save_size(tmp_path, Screen(now.name, now.width_px, now.height_px, 345.0, 345.0, 610.0, "card"))
    again = screen_of(monitor, load_sizes(tmp_path), 600.0)
    assert (again.width_mm, again.size_source, again.distance_mm) == (345.0, "card", 600.0)
    other = {now.name: Screen(now.name, 1024, 768, 345.0, 259.0, size_source="card")}
    assert screen_of(monitor, other).size_source != "card"


def test_a_broken_file_of_sizes_is_like_none(tmp_path):
    (tmp_path / "screens.json").write_text("[1, 2")
    assert load_sizes(tmp_path) == {}


def test_a_card_gives_the_size():
    measured = with_card(Screen("s", 1920, 1080), 1920 * CARD_WIDTH_MM / 345)
    assert measured.width_mm == pytest.approx(345)
    assert measured.height_mm == pytest.approx(345 * 1080 / 1920)
    assert measured.size_source == "card"


def test_G13_a_card_as_wide_as_the_screen_is_refused():
    with pytest.raises(ConfigError, match="outside"):
        with_card(Screen("s", 1920, 1080), 1919)


def test_the_card_outline_moves_with_the_keys(qtbot):
    monitor = QGuiApplication.primaryScreen()
    dialog = CardDialog(screen_of(monitor), monitor)
    qtbot.addWidget(dialog)
    dialog.show()
    before = dialog.card_width_px
    qtbot.keyClick(dialog._slider, Qt.Key.Key_Right)
    qtbot.keyClick(dialog, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert dialog.card_width_px == before + 11
    assert dialog.outline().width() == dialog.card_width_px
    assert dialog.outline().height() == pytest.approx(dialog.card_width_px * 53.98 / 85.60)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.measured is not None
    assert dialog.measured.size_source == "card"
