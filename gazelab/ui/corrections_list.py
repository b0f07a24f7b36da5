"""The corrections of a session in their order: the drift checks' first, then those made afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPalette
from PyQt6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from gazelab.sessions.correction_entries import Correction, UndoEntry
from gazelab.sessions.correction_states import counts, states
from gazelab.sessions.corrections import CorrectionLog
from gazelab.sessions.trials import Trial
from gazelab.ui import theme


class CorrectionsList(QListWidget):
    """One line a correction with its state; what counts nowhere any more is struck out.

    Signals
    -------
    looked_at
        Another line is current.
    """

    looked_at = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Corrections of the session"))
        self.setWordWrap(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.currentRowChanged.connect(lambda _row: self.looked_at.emit())
        self._log = CorrectionLog()

    def show_log(self, live: list[str], log: CorrectionLog, trials: Sequence[Trial]) -> None:
        """List the drift checks' corrections and the session's entries; the newest becomes current."""
        self._log = log
        self.clear()
        for text in live:
            self._add(text)
        found = states(log, trials)
        for entry in log.entries:
            if not isinstance(entry.change, UndoEntry):
                state = found[entry.number]
                self._add(f"{entry.number}. {entry.change.text()} ({state})", entry, state)
        self.setCurrentRow(self.count() - 1)

    @property
    def chosen(self) -> Correction | None:
        """The entry that is current; None for a drift check, or where there is none."""
        item = self.currentItem()
        return None if item is None else item.data(Qt.ItemDataRole.UserRole)

    def undo_of(self, entry: Correction) -> Correction | None:
        """Find what took an entry back, which undone in turn puts it in force again."""
        for other in reversed(self._log.entries):
            change = other.change
            if other.in_force and isinstance(change, UndoEntry) and change.reverts == entry.number:
                return other
        return None

    def paintEvent(self, event: QPaintEvent | None) -> None:
        """Say that there is nothing yet, where an empty box would leave it open."""
        super().paintEvent(event)
        if self.count() or (ground := self.viewport()) is None:
            return
        painter = QPainter(ground)
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        around = ground.rect().adjusted(12, 10, -12, -10)
        flags = Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
        painter.drawText(around, flags.value, self.tr("No corrections: the gaze is as measured."))
        painter.end()

    def _add(self, text: str, entry: Correction | None = None, state: str = "") -> None:
        item = QListWidgetItem(text)
        item.setData(Qt.ItemDataRole.UserRole, entry)
        if entry is None:
            item.setForeground(QColor(theme.current().muted))
        elif not counts(entry, state):
            font = QFont(self.font())
            font.setStrikeOut(True)
            item.setFont(font)
            item.setForeground(QColor(theme.current().muted))
        if entry is not None:
            item.setToolTip(entry.text(state))
        self.addItem(item)
