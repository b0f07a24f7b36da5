"""A calibration's result as a picture in which a target can be chosen, to be redone."""

from __future__ import annotations

import math

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.calibration.overview import Overview, ShownTarget
from gazelab.calibration.targets import Target
from gazelab.ui.result_picture import NONE, Layout, draw_result

HIT_PX = 22.0
WAYS = {
    Qt.Key.Key_Left: QPointF(-1, 0),
    Qt.Key.Key_Right: QPointF(1, 0),
    Qt.Key.Key_Up: QPointF(0, -1),
    Qt.Key.Key_Down: QPointF(0, 1),
}


class ResultView(QWidget):
    """The screen, scaled down; a calibration target can be chosen by mouse or keys.

    Signals
    -------
    chosen : int
        Index of the calibration target, or `NONE`.
    redo_asked : int
        That target is to be shown again.
    """

    chosen = pyqtSignal(int)
    redo_asked = pyqtSignal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(240, 180)
        self.setAccessibleName(self.tr("Calibration result"))
        self.setToolTip(self.tr("Click a target, or use the arrow keys, to choose one; R redoes it."))
        self._shown: Overview | None = None
        self._chosen = NONE

    def sizeHint(self) -> QSize:
        """Give the size that a layout starts from."""
        return QSize(560, 340)

    @property
    def current(self) -> int:
        """The chosen calibration target, or `NONE`."""
        return self._chosen

    @property
    def shown(self) -> Overview | None:
        """What is drawn."""
        return self._shown

    def show_overview(self, shown: Overview | None) -> None:
        """Show another result, or none."""
        self._shown = shown
        self._choose(NONE)

    def place(self, target: Target | ShownTarget) -> QPointF:
        """Tell where a target is drawn, in this widget's px."""
        layout = self._layout()
        return QPointF() if layout is None else layout.place(target.x_px, target.y_px)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the result, and a frame while the keys come here."""
        if self._shown is None:
            return
        painter = QPainter(self)
        palette = self.palette()
        draw_result(painter, QRectF(self.rect()), self._shown, self._chosen, palette.windowText().color())
        layout = self._layout()
        if self.hasFocus() and layout is not None:
            s = layout.screen
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(palette.highlight().color(), 2))
            painter.drawRect(QRectF(s.left_px, s.top_px, s.width_px, s.height_px))

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Choose the target under the pointer."""
        if a0 is None or self._shown is None:
            return
        near = [t for t in self._shown.targets if _length(self.place(t) - a0.position()) < HIT_PX]
        self._choose(near[0].index if near else NONE)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Arrows choose a target, R redoes it, Esc chooses none."""
        if a0 is None or self._shown is None or not self._shown.targets:
            super().keyPressEvent(a0)
            return
        way = WAYS.get(Qt.Key(a0.key()))
        if way is not None:
            self._choose(self._next(way))
        elif a0.key() == Qt.Key.Key_R and self._chosen != NONE:
            self.redo_asked.emit(self._chosen)
        elif a0.key() == Qt.Key.Key_Escape and self._chosen != NONE:
            self._choose(NONE)
        else:
            super().keyPressEvent(a0)

    def focusInEvent(self, a0: QFocusEvent | None) -> None:
        """Show the frame."""
        super().focusInEvent(a0)
        self.update()

    def focusOutEvent(self, a0: QFocusEvent | None) -> None:
        """Show no frame."""
        super().focusOutEvent(a0)
        self.update()

    def _next(self, way: QPointF) -> int:
        """Give the nearest target that way, seen from the chosen one; the first one if none is."""
        targets = [] if self._shown is None else list(self._shown.targets)
        here = next((t for t in targets if t.index == self._chosen), None)
        if here is None:
            return targets[0].index

        def cost(t: ShownTarget) -> float:
            step = QPointF(t.x_px - here.x_px, t.y_px - here.y_px)
            along = QPointF.dotProduct(step, way)
            aside = abs(step.x() * way.y()) + abs(step.y() * way.x())
            return along + 2 * aside if along > aside / 2 and along > 1 else math.inf

        best = min(targets, key=cost)
        return best.index if math.isfinite(cost(best)) else here.index

    def _choose(self, index: int) -> None:
        self._chosen = index
        self.chosen.emit(index)
        self.update()

    def _layout(self) -> Layout | None:
        return None if self._shown is None else Layout.of(self._shown.screen, QRectF(self.rect()))


def _length(p: QPointF) -> float:
    return math.hypot(p.x(), p.y())
