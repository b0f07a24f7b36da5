"""One token of an answer: text, probability, its own small map, and how much of it fell on a patch."""

from __future__ import annotations

import math

from PyQt6.QtCore import QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QImage, QKeyEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QAbstractButton, QWidget

from gazelab.ui import theme
from gazelab.ui.colours import DARK_MODEL_RGB, MODEL_RGB

THUMBNAIL = QSize(64, 46)
"""Logical px that the small chart is fitted in."""
HEIGHT_PX = 58
_PAD = 6
_TEXT_PX = 44, 92
"""Least and largest width of the text beside the map."""
_BAR_PX = 4


class TokenTile(QAbstractButton):
    """A button that shows one token.

    Parameters
    ----------
    text : str
        As it is to be read, blanks made visible.
    below : str
        What stands below it, such as the probability.
    """

    def __init__(self, text: str, below: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._below = below
        self._map: QImage | None = None
        self._share = math.nan

    @property
    def share(self) -> float:
        """The share that the bar shows; NaN for none."""
        return self._share

    def set_map(self, image: QImage | None) -> None:
        """Show a small map, or none."""
        grew = (image is None) != (self._map is None)
        self._map = image
        if grew:
            self.updateGeometry()
        self.update()

    def set_below(self, text: str) -> None:
        """Show another line below the text."""
        if text != self._below:
            self._below = text
            self.updateGeometry()
            self.update()

    def set_share(self, share: float) -> None:
        """Show how much of this token's attention on the chart fell on a patch, 0..1; NaN takes it away."""
        if share != self._share and not (math.isnan(share) and math.isnan(self._share)):
            self._share = share
            self.update()

    def sizeHint(self) -> QSize:
        """Give the size: the map, and beside it the text."""
        widest = max(
            QFontMetrics(self._big()).horizontalAdvance(self.text()),
            self.fontMetrics().horizontalAdvance(self._below),
        )
        width = min(max(widest, _TEXT_PX[0]), _TEXT_PX[1]) + 2 * _PAD
        if self._map is not None:
            width += self._map_width() + _PAD
        return QSize(width, HEIGHT_PX)

    def minimumSizeHint(self) -> QSize:
        """Give the same as `sizeHint`."""
        return self.sizeHint()

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Leave the arrow keys to the strip: Qt would move the focus only."""
        if a0 is not None and a0.key() in (
            Qt.Key.Key_Left,
            Qt.Key.Key_Right,
            Qt.Key.Key_Home,
            Qt.Key.Key_End,
        ):
            a0.ignore()
        else:
            super().keyPressEvent(a0)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the tile in the theme's colours."""
        tokens = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = self.isChecked()
        strong = chosen or self.hasFocus()
        width = 2.0 if strong else 1.0
        painter.setPen(QPen(QColor(tokens.accent if strong else tokens.border), width))
        painter.setBrush(QColor(tokens.accent_soft if chosen or self.underMouse() else tokens.surface))
        frame = QRectF(self.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
        painter.drawRoundedRect(frame, 7, 7)
        left = float(_PAD)
        if self._map is not None:
            left = self._draw_map(painter, left)
        room = QRectF(left, 4, self.width() - left - _PAD, self.height() - 8)
        self._draw_text(painter, room, tokens)

    def _draw_map(self, painter: QPainter, left: float) -> float:
        assert self._map is not None
        ratio = self._map.devicePixelRatio()
        size = QSize(round(self._map.width() / ratio), round(self._map.height() / ratio))
        top = (self.height() - size.height()) / 2
        painter.drawImage(QRectF(left, top, size.width(), size.height()), self._map)
        return left + size.width() + _PAD

    def _draw_text(self, painter: QPainter, room: QRectF, tokens: theme.Tokens) -> None:
        lines = room.height() / 2
        big = self._big()
        text = QFontMetrics(big).elidedText(self.text(), Qt.TextElideMode.ElideRight, int(room.width()))
        painter.setFont(big)
        painter.setPen(QColor(tokens.text))
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(room.left(), room.top() + 1, room.width(), lines), align, text)
        painter.setFont(self.font())
        below = QRectF(room.left(), room.top() + lines, room.width(), lines - _BAR_PX)
        if math.isnan(self._share):
            painter.setPen(QColor(tokens.muted))
            said = self.fontMetrics().elidedText(
                self._below, Qt.TextElideMode.ElideRight, int(room.width()) + 1
            )
            painter.drawText(below, align, said)
            return
        orange = QColor(*(DARK_MODEL_RGB if tokens is theme.DARK else MODEL_RGB))
        painter.setPen(orange)
        painter.drawText(below, align, f"{self._share:.1%}" if self._share < 0.1 else f"{self._share:.0%}")
        bar = QRectF(room.left(), room.bottom() - _BAR_PX + 1, room.width(), _BAR_PX)
        painter.fillRect(bar, QColor(tokens.border))
        bar.setWidth(room.width() * min(self._share, 1.0))
        painter.fillRect(bar, orange)

    def _big(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(15)
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def _map_width(self) -> int:
        return 0 if self._map is None else round(self._map.width() / self._map.devicePixelRatio())
