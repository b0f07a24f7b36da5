"""The program's icon, drawn: an eye's iris over a bar chart."""

from __future__ import annotations

from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPen, QPixmap

from gazelab.ui.colours import GAZE_RGB, MODEL_RGB

SIDE = 128


def app_icon() -> QPixmap:
    """Draw the icon."""
    pixmap = QPixmap(SIDE, SIDE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(255, 255, 255))
    painter.drawRoundedRect(QRectF(4, 4, 120, 120), 24, 24)
    painter.setBrush(QColor(*MODEL_RGB))
    for left, height in ((24, 34), (54, 58), (84, 82)):
        painter.drawRect(QRectF(left, 108 - height, 20, height))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*GAZE_RGB), 10))
    painter.drawEllipse(QPointF(64, 54), 30, 30)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(*GAZE_RGB))
    painter.drawEllipse(QPointF(64, 54), 11, 11)
    painter.end()
    return pixmap
