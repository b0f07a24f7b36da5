"""A small field on which gaze is moved: by the arrow keys, a pixel or ten at a time, or by dragging."""

from __future__ import annotations

from PyQt6.QtCore import QPointF, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QWidget

from gazelab.ui import theme

STEP_PX, LONG_STEP_PX = 1, 10
SIDE_PX = 84
_WAYS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class NudgePad(QWidget):
    """Where the gaze was, and which way it goes.

    Signals
    -------
    nudged : int, int
        So many px more, + right, + down.
    """

    nudged = pyqtSignal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(SIDE_PX, SIDE_PX)
        self.setCursor(Qt.CursorShape.SizeAllCursor)
        self.setAccessibleName(self.tr("Move the gaze"))
        self.setToolTip(self.tr("Arrow keys: 1 px, with Shift 10 px; or drag."))
        self._shift = QPointF()
        self._last: QPointF | None = None

    def set_shift(self, dx_px: float, dy_px: float) -> None:
        """Show which way, and how far."""
        self._shift = QPointF(dx_px, dy_px)
        self.update()

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Arrow keys nudge; a held key repeats."""
        way = _WAYS.get(Qt.Key(a0.key())) if a0 is not None and a0.key() in _WAYS else None
        if a0 is None or way is None:
            super().keyPressEvent(a0)
            return
        step = LONG_STEP_PX if a0.modifiers() & Qt.KeyboardModifier.ShiftModifier else STEP_PX
        self.nudged.emit(way[0] * step, way[1] * step)

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Begin to drag."""
        if a0 is not None:
            self._last = a0.position()

    def mouseMoveEvent(self, a0: QMouseEvent | None) -> None:
        """Nudge by as many px as the pointer moved."""
        if a0 is None or self._last is None:
            return
        by = (a0.position() - self._last).toPoint()
        if by.x() or by.y():
            self._last = self._last + QPointF(by)
            self.nudged.emit(by.x(), by.y())

    def mouseReleaseEvent(self, a0: QMouseEvent | None) -> None:
        """End it."""
        self._last = None

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw a cross where the gaze was, and an arrow to where it goes, no farther than the edge."""
        tokens = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = tokens.accent if self.hasFocus() else tokens.border
        painter.setPen(QPen(QColor(edge), 2 if self.hasFocus() else 1))
        painter.setBrush(QColor(tokens.sunken))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 6, 6)
        middle = QPointF(self.width() / 2, self.height() / 2)
        painter.setPen(QPen(QColor(tokens.muted), 1))
        for way in (QPointF(5, 0), QPointF(0, 5)):
            painter.drawLine(middle - way, middle + way)
        far = max(abs(self._shift.x()), abs(self._shift.y()), 1.0)
        tip = middle + self._shift * min(1.0, (SIDE_PX / 2 - 12) / far)
        painter.setPen(QPen(QColor(tokens.accent), 2))
        painter.setBrush(painter.pen().color())
        if not self._shift.isNull():
            painter.drawLine(middle, tip)
        painter.drawEllipse(tip, 4, 4)
