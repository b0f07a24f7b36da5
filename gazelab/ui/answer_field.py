"""The field into which a participant types the answer."""

from __future__ import annotations

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QLineEdit, QWidget


class AnswerField(QLineEdit):
    """Takes Enter and Esc for itself, and nothing at all until the chart is on.

    Attributes
    ----------
    armed : bool
        Whether keys count: not what was typed before the chart was on.

    Signals
    -------
    given : str
        Enter was pressed on an answer.
    skipped
        Shift+Enter: no answer.
    escaped
        Esc.
    """

    given = pyqtSignal(str)
    skipped = pyqtSignal()
    escaped = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.armed = False
        self.setStyleSheet(
            "QLineEdit { background: white; color: #14181e; border: 2px solid #14181e; border-radius: 6px;"
            " padding: 4px 10px; font-size: 22px; placeholder-text-color: #545c66; }"
        )
        self.setPlaceholderText(self.tr("Your answer, then Enter"))
        self.setAccessibleName(self.tr("Your answer"))
        self.hide()

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Take Enter and Esc; everything else is typed."""
        if a0 is None:
            return
        if a0.key() == Qt.Key.Key_Escape:
            if not a0.isAutoRepeat():
                self.escaped.emit()
        elif not self.armed:
            return
        elif a0.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not a0.isAutoRepeat():
                self.give(skip=bool(a0.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(a0)

    def give(self, *, skip: bool) -> None:
        """Give what was typed; without anything, say how to go on without an answer."""
        text = self.text().strip()
        if skip:
            self.skipped.emit()
        elif text:
            self.given.emit(text)
        else:
            self.setPlaceholderText(self.tr("Shift+Enter: no answer"))
