"""A calibration's result as a picture: targets, and arrows to where the gaze was estimated."""

from __future__ import annotations

import math

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.calibration.result import CalibrationResult
from gazelab.calibration.targets import Target
from gazelab.core.geometry import Placement, Screen
from gazelab.ui.colours import GAZE_RGB, NEUTRAL_RGB

NONE = -1
HIT_PX = 22.0
_INK, _BAD, _PAPER = QColor(24, 28, 34), QColor(170, 40, 20), QColor(255, 255, 255)


class ResultView(QWidget):
    """The screen, scaled down; a calibration target can be chosen by mouse or keys, to be redone.

    Signals
    -------
    chosen : int
        Index of the calibration target, or `NONE`.
    """

    chosen = pyqtSignal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Calibration result"))
        self.setToolTip(self.tr("Click a target, or use Left and Right, to choose one to redo."))
        self._screen: Screen | None = None
        self._targets: tuple[Target, ...] = ()
        self._result: CalibrationResult | None = None
        self._chosen = NONE

    def sizeHint(self) -> QSize:
        """Give the size that a layout starts from."""
        return QSize(560, 340)

    @property
    def current(self) -> int:
        """The chosen calibration target, or `NONE`."""
        return self._chosen

    def set_result(
        self, screen: Screen | None, targets: tuple[Target, ...], result: CalibrationResult | None
    ) -> None:
        """Show another result, or none."""
        self._screen, self._targets, self._result = screen, targets, result
        self._choose(NONE)

    def place(self, target: Target) -> QPointF:
        """Tell where a target is drawn, in this widget's px."""
        scaled = self._scaled()
        if scaled is None:
            return QPointF()
        return QPointF(*(float(v) for v in scaled.to_screen(target.x_px, target.y_px)))

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the screen's ground, the targets and the arrows."""
        scaled = self._scaled()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if scaled is None:
            return
        painter.fillRect(
            QRectF(scaled.left_px, scaled.top_px, scaled.width_px, scaled.height_px), QColor(*NEUTRAL_RGB)
        )
        result = self._result
        redo = () if result is None else (*result.redo, *result.suspects)
        for target in self._targets:
            at = self.place(target)
            bad = target.index in redo
            painter.setPen(QPen(_BAD if bad else _INK, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(at, 7, 7)
            if bad:
                painter.drawLine(at + QPointF(-5, -5), at + QPointF(5, 5))
                painter.drawLine(at + QPointF(-5, 5), at + QPointF(5, -5))
            if target.index == self._chosen:
                painter.setPen(QPen(QColor(*GAZE_RGB), 3))
                painter.drawEllipse(at, 14, 14)
        if result is None or result.validation is None:
            return
        for seen in result.validation.targets:
            start = QPointF(*(float(v) for v in scaled.to_screen(seen.x_px, seen.y_px)))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(_INK)
            painter.drawEllipse(start, 4, 4)
            if math.isfinite(seen.gaze_x_px) and math.isfinite(seen.gaze_y_px):
                end = QPointF(*(float(v) for v in scaled.to_screen(seen.gaze_x_px, seen.gaze_y_px)))
                _draw_arrow(painter, start, end)

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Choose the target under the pointer."""
        if a0 is None:
            return
        near = [t for t in self._targets if _length(self.place(t) - a0.position()) < HIT_PX]
        self._choose(near[0].index if near else NONE)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Left and Right go through the targets."""
        if a0 is not None and a0.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and self._targets:
            step = 1 if a0.key() == Qt.Key.Key_Right else -1
            self._choose((max(self._chosen, 0 if step < 0 else NONE) + step) % len(self._targets))
        else:
            super().keyPressEvent(a0)

    def _choose(self, index: int) -> None:
        self._chosen = index
        self.chosen.emit(index)
        self.update()

    def _scaled(self) -> Placement | None:
        if self._screen is None:
            return None
        area = (2.0, 2.0, self.width() - 4.0, self.height() - 4.0)
        return Placement.fit(self._screen.width_px, self._screen.height_px, area)


def _draw_arrow(painter: QPainter, start: QPointF, end: QPointF) -> None:
    along = end - start
    length = _length(along)
    for colour, width in ((_PAPER, 5.0), (QColor(*GAZE_RGB), 2.5)):
        painter.setPen(QPen(colour, width, cap=Qt.PenCapStyle.RoundCap))
        painter.drawLine(start, end)
        if length > 1:
            back = along / length * -min(9.0, length)
            side = QPointF(-back.y(), back.x()) * 0.5
            painter.drawLine(end, end + back + side)
            painter.drawLine(end, end + back - side)


def _length(p: QPointF) -> float:
    return math.hypot(p.x(), p.y())
