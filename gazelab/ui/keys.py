"""Every key that does something, in one table: for the help window and for the documentation."""

from __future__ import annotations

from PyQt6.QtCore import QCoreApplication
from PyQt6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from gazelab.ui.parts import label

Table = list[tuple[str, list[tuple[str, str]]]]


def key_table() -> Table:
    """Give (where, [(key, what it does)])."""
    tr = QCoreApplication.translate
    return [
        (
            tr("Keys", "Everywhere"),
            [
                ("Ctrl+1 … Ctrl+5", tr("Keys", "Setup, Calibrate, Record, Replay, Explore")),
                ("Tab, Shift+Tab", tr("Keys", "Next and previous control")),
                ("Space, Enter", tr("Keys", "Press the button in focus")),
                ("Ctrl+Enter", tr("Keys", "The page's next step")),
                ("Ctrl+O", tr("Keys", "Open a session's folder")),
                ("F1", tr("Keys", "This list")),
                ("Ctrl+Q", tr("Keys", "Save and quit")),
            ],
        ),
        (
            tr("Keys", "Calibration targets"),
            [
                ("Space", tr("Keys", "Begin; then: I am looking at the target")),
                ("Esc", tr("Keys", "Stop; no calibration is in force afterwards")),
            ],
        ),
        (
            tr("Keys", "Calibration result"),
            [
                ("Left, Right, Up, Down", tr("Keys", "Choose a target")),
                ("R", tr("Keys", "Redo the chosen target")),
            ],
        ),
        (
            tr("Keys", "While a participant reads"),
            [
                ("Space", tr("Keys", "Show the next question and chart; go on after a pause")),
                (tr("Keys", "letters, digits"), tr("Keys", "Type the answer")),
                ("Enter", tr("Keys", "Give the answer")),
                ("Shift+Enter", tr("Keys", "Go on without an answer")),
                ("D", tr("Keys", "Between two charts: check for drift (look at the dot)")),
                ("R, Space", tr("Keys", "When the gaze no longer fits: check once more, or go on")),
                ("Esc", tr("Keys", "Skip this chart and pause; once more: stop and save")),
            ],
        ),
        (
            tr("Keys", "Replay"),
            [
                ("Space", tr("Keys", "Play or stop")),
                ("Left, Right", tr("Keys", "0.1 s back or on; with Shift: 1 s")),
                ("Home, End", tr("Keys", "Start or end of the trial")),
                ("Page Up, Page Down", tr("Keys", "Previous or next trial")),
                ("Ctrl+Left, Ctrl+Right", tr("Keys", "Previous or next token")),
                ("F2", tr("Keys", "Show or hide what stands beside the charts")),
                ("Up, Down, Enter", tr("Keys", "In Quality: another trial's reasons; show that trial")),
            ],
        ),
        (
            tr("Keys", "Where the model looks (Replay, Explore)"),
            [
                ("Left, Right", tr("Keys", "On a token: previous or next; Home: the whole answer")),
                ("Arrow keys", tr("Keys", "On the model's chart: from patch to patch; Esc leaves them")),
                ("Arrow keys", tr("Keys", "On the matrix: layer and head; Home or Esc: all")),
            ],
        ),
        (
            tr("Keys", "Corrections: the field with the arrow"),
            [("Arrow keys", tr("Keys", "Move the gaze by 1 px; with Shift: 10 px"))],
        ),
        (
            tr("Keys", "Bank card"),
            [
                ("Left, Right", tr("Keys", "Narrower or wider by one px; with Shift: ten")),
                ("Enter", tr("Keys", "The outline fits the card")),
                ("Esc", tr("Keys", "Leave the size as it was")),
            ],
        ),
    ]


class KeysDialog(QDialog):
    """Help → Keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keys"))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(24, 20, 24, 16)
        sides = QHBoxLayout()
        sides.setSpacing(40)
        for groups in _halves(key_table()):
            sides.addLayout(_lay_out(groups))
        outer.addLayout(sides)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        outer.addWidget(buttons)


def _halves(table: Table) -> tuple[Table, Table]:
    """Share the groups out to two columns, in order: one column would be higher than a small screen."""
    lines = [len(keys) + 2 for _where, keys in table]
    split = min(range(len(table)), key=lambda k: abs(sum(lines[:k]) - sum(lines[k:])))
    return table[:split], table[split:]


def _lay_out(groups: Table) -> QVBoxLayout:
    column = QVBoxLayout()
    grid = QGridLayout()
    grid.setHorizontalSpacing(24)
    grid.setVerticalSpacing(4)
    line = 0
    for where, keys in groups:
        grid.addWidget(label(where, "heading"), line, 0, 1, 2)
        for offset, (key, what) in enumerate(keys, 1):
            grid.addWidget(label(key, "muted"), line + offset, 0)
            grid.addWidget(label(what), line + offset, 1)
        line += len(keys) + 1
        grid.setRowMinimumHeight(line, 10)
        line += 1
    column.addLayout(grid)
    column.addStretch(1)
    return column
