from __future__ import annotations

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from gazelab.ui.scores_table import ScoresTable


def test_tab_leaves_the_table_both_ways(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    lines = QVBoxLayout(page)
    before, table, after = QPushButton("before"), ScoresTable(), QPushButton("after")
    for widget in (before, table, after):
        lines.addWidget(widget)
    table.setRowCount(6)
    page.show()
    qtbot.waitUntil(page.isActiveWindow)
    for key, goal in ((Qt.Key.Key_Tab, after), (Qt.Key.Key_Backtab, before)):
        table.setFocus()
        qtbot.keyClick(table, key)
        assert goal.hasFocus()
