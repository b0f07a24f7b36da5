"""One trial as a participant sees it: where question, chart and answer field lie, and their drawing."""

from __future__ import annotations

from PyQt6.QtCore import QPointF, QRect, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPixmap

from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.pipeline.layout import reading_layout
from gazelab.ui.canvas import rgb_image

INK = QColor(20, 24, 30)
ANSWER_SHARE = 0.26
LARGEST_FONT, SMALLEST_FONT = 30, 12


class TrialView:
    """The chart scaled to whole physical px, and the places of question and answer.

    Parameters
    ----------
    picture : Picture
    question : str
    window : Screen
        The window's own extent in physical px.
    corner : QPointF
        Its upper-left corner on the monitor, physical px.
    dpr : float
        Physical px per logical px.
    """

    def __init__(self, picture: Picture, question: str, window: Screen, corner: QPointF, dpr: float) -> None:
        layout = reading_layout(window, picture.width_px, picture.height_px)
        self.placement = _whole_px(layout.chart, corner)
        self._question = question
        self._dpr = dpr
        left, top, width, height = layout.question_px
        self._question_box = QRectF(left, top, width * (1 - ANSWER_SHARE) - 16 * dpr, height)
        self._answer_box = QRectF(left + width * (1 - ANSWER_SHARE), top, width * ANSWER_SHARE, height)
        size = QRectF(0, 0, self.placement.width_px, self.placement.height_px).toRect().size()
        smooth = Qt.TransformationMode.SmoothTransformation
        image = rgb_image(picture.rgb).scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth)
        self._pixmap = QPixmap.fromImage(image)
        self._chart_corner = QPointF(self.placement.left_px, self.placement.top_px) - corner

    def answer_box(self, height: int) -> QRect:
        """Give the answer field's rectangle in logical px of the window."""
        box = QRectF(self._answer_box.topLeft() / self._dpr, self._answer_box.size() / self._dpr).toRect()
        return QRect(box.left(), box.center().y() - height // 2, box.width(), height)

    def draw(self, painter: QPainter, base: QFont) -> None:
        """Draw chart and question; the painter is in logical px of the window."""
        painter.scale(1 / self._dpr, 1 / self._dpr)
        painter.drawPixmap(self._chart_corner, self._pixmap)
        painter.setFont(_fitting_font(base, self._question, self._question_box, self._dpr))
        painter.setPen(INK)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
        painter.drawText(self._question_box, flags, self._question)


def _whole_px(chart: Placement, corner: QPointF) -> Placement:
    """Round a rectangle to whole px, so that what is logged is what is drawn, and add the window's corner."""
    return Placement(
        round(chart.left_px) + corner.x(),
        round(chart.top_px) + corner.y(),
        max(1, round(chart.width_px)),
        max(1, round(chart.height_px)),
        chart.picture_width_px,
        chart.picture_height_px,
    )


def _fitting_font(base: QFont, text: str, box: QRectF, dpr: float) -> QFont:
    """Take the largest font in which a question fits its box."""
    font = QFont(base)
    for size in range(LARGEST_FONT, SMALLEST_FONT - 1, -2):
        font.setPixelSize(max(1, round(size * dpr)))
        needed = QFontMetricsF(font).boundingRect(box, int(Qt.TextFlag.TextWordWrap), text)
        if needed.height() <= box.height() and needed.width() <= box.width():
            break
    return font
