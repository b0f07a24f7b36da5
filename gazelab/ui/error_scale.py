"""The colours of an error map, and the scale that explains them."""

from __future__ import annotations

from PyQt6.QtCore import QCoreApplication, QRectF, Qt
from PyQt6.QtGui import QBrush, QColor, QPainter, QPen

from gazelab.core.geometry import Screen
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.target_art import INK, PAPER, px_per_deg

LIMITS_DEG = (1.0, 2.0, 3.0, 4.0)
"""Bounds of the classes; from the last on a calibration is a concern (`Limits.max_accuracy_deg`)."""
CLASS_RGB = ((240, 236, 244), (214, 200, 222), (194, 170, 206), (166, 130, 182), (112, 70, 130))
TEXT_PX, SMALL_PX = 12, 11


def class_of(error_deg: float) -> int:
    """Tell which colour an error has, from 0 (small) on: by the number that is written, one decimal."""
    return sum(round(error_deg, 1) >= limit for limit in LIMITS_DEG)


def draw_scale(painter: QPainter, box: QRectF, screen: Screen, words: QColor) -> None:
    """Draw the scale with its numbers in it, and below it what the signs of the picture mean."""
    tr = QCoreApplication.translate
    names = scale_names(screen)
    width = min(104.0, box.width() / (len(names) + 1))
    top, height = box.top(), 18.0
    left = box.center().x() - width * (len(names) + 1) / 2
    set_size(painter, SMALL_PX)
    for k, name in enumerate((*names, tr("ResultPicture", "no data"))):
        part = QRectF(left + k * width, top, width, height)
        rgb = CLASS_RGB[k] if k < len(names) else NEUTRAL_RGB
        painter.setPen(QPen(QColor(90, 96, 106), 1))
        painter.setBrush(QColor(*rgb))
        painter.drawRect(part)
        if k == len(names):
            painter.fillRect(part, QBrush(QColor(150, 156, 166), Qt.BrushStyle.BDiagPattern))
        painter.setPen(PAPER if k == len(names) - 1 else INK)
        painter.drawText(part, Qt.AlignmentFlag.AlignCenter, name)
    signs = tr(
        "ResultPicture",
        "V1 →  validation target and estimate    ○  calibration target    dashed, ( )  its error when left"
        " out, often larger    ✕  to be redone",
    )
    painter.setPen(words)
    flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
    painter.drawText(box.adjusted(0, height + 4, 0, 0), flags, signs)


def scale_names(screen: Screen) -> list[str]:
    """Name the classes: degrees, or px where the screen's size is unknown."""
    tr = QCoreApplication.translate
    if screen.has_degrees:
        bounds = [f"{limit:.0f}" for limit in LIMITS_DEG]
        pattern, last = tr("ResultPicture", "{low}–{high}°"), tr("ResultPicture", "over {low}°")
    else:
        bounds = [f"{limit * px_per_deg(screen):.0f}" for limit in LIMITS_DEG]
        pattern, last = tr("ResultPicture", "{low}–{high} px"), tr("ResultPicture", "over {low} px")
    lows = ["0", *bounds]
    named = [pattern.format(low=low, high=high) for low, high in zip(lows, bounds, strict=False)]
    return [*named, last.format(low=bounds[-1])]


def set_size(painter: QPainter, px: int, *, bold: bool = False) -> None:
    """Take letters of so many px."""
    font = painter.font()
    font.setPixelSize(px)
    font.setBold(bold)
    painter.setFont(font)
