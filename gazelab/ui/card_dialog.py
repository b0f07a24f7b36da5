"""The monitor's size in mm, by holding a bank card to it.

Every bank card is 85.60 x 53.98 mm (ISO/IEC 7810 ID-1). The user makes an outline as large as the card, and
px per mm follow. Pixels are taken as square.
"""

from __future__ import annotations

from dataclasses import replace

from PyQt6.QtCore import QPointF, QRectF, QSizeF, Qt
from PyQt6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QScreen
from PyQt6.QtWidgets import QDialog, QSlider, QVBoxLayout, QWidget

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import Screen
from gazelab.ui.monitors import cover
from gazelab.ui.parts import button, label, row

CARD_WIDTH_MM = 85.60
CARD_HEIGHT_MM = 53.98
SMALLEST_PX = 100


def with_card(screen: Screen, card_width_px: float) -> Screen:
    """Give a screen its size from the card's width on it.

    Parameters
    ----------
    screen : Screen
    card_width_px : float
        Physical px.

    Raises
    ------
    ConfigError
        No screen is that large or small.
    """
    mm_per_px = CARD_WIDTH_MM / card_width_px
    measured = replace(
        screen,
        width_mm=screen.width_px * mm_per_px,
        height_mm=screen.height_px * mm_per_px,
        size_source="card",
    )
    measured.check_plausible()
    return measured


class CardDialog(QDialog):
    """Full screen on the monitor to be measured.

    Parameters
    ----------
    screen : Screen
        The monitor as known so far; its size, if any, is where the outline starts.
    monitor : QScreen
    """

    def __init__(self, screen: Screen, monitor: QScreen, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle(self.tr("Screen size"))
        self.setMinimumSize(480, 360)
        self.measured: Screen | None = None
        self._screen = screen
        self._monitor = monitor
        guess = screen.width_px * CARD_WIDTH_MM / screen.width_mm if screen.width_mm > 0 else 96 / 25.4 * 85.6
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setRange(SMALLEST_PX, max(SMALLEST_PX + 1, screen.width_px))
        self._slider.setValue(round(guess))
        self._slider.setPageStep(10)
        self._slider.setAccessibleName(self.tr("Width of the outline"))
        self._slider.valueChanged.connect(self._changed)
        self._size = label("", "muted")
        self._fault = label("", "bad", wrap=True)
        text = self.tr(
            "Hold a bank card (any card of that size) flat against the screen, over the outline. "
            "Move the slider, or press Left and Right, until the outline is as wide as the card."
        )
        outer = QVBoxLayout(self)
        outer.setContentsMargins(40, 32, 40, 32)
        outer.addWidget(label(self.tr("Screen size"), "title"))
        outer.addWidget(label(text, "lead", wrap=True))
        outer.addStretch(1)
        outer.addWidget(self._fault)
        outer.addWidget(self._slider)
        accept = button(self.tr("It fits"), self.accept, self.tr("Enter"), primary=True)
        accept.setDefault(True)
        outer.addLayout(row(self._size, 1, button(self.tr("Cancel"), self.reject, self.tr("Esc")), accept))
        self._changed()
        self._slider.setFocus()

    @property
    def card_width_px(self) -> int:
        """The outline's width, physical px."""
        return self._slider.value()

    def run(self) -> Screen | None:
        """Show it and wait; None if the user left the size as it was."""
        cover(self, self._monitor)
        return self.measured if self.exec() == QDialog.DialogCode.Accepted else None

    def accept(self) -> None:
        """Take the size, if a screen can be like that."""
        try:
            self.measured = with_card(self._screen, self.card_width_px)
        except ConfigError as fault:
            self._fault.setText(str(fault))
            return
        super().accept()

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Make the outline narrower or wider."""
        if a0 is not None and a0.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = 10 if a0.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            sign = 1 if a0.key() == Qt.Key.Key_Right else -1
            self._slider.setValue(self._slider.value() + sign * step)
            return
        super().keyPressEvent(a0)

    def outline(self) -> QRectF:
        """Give the outline's rectangle in device px of this window."""
        dpr = self.devicePixelRatioF()
        width = float(self.card_width_px)
        box = QRectF(QPointF(0, 0), QSizeF(width, width * CARD_HEIGHT_MM / CARD_WIDTH_MM))
        box.moveCenter(QPointF(self.width() * dpr / 2, self.height() * dpr / 2))
        return box

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the outline in device px."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        dpr = self.devicePixelRatioF()
        painter.scale(1 / dpr, 1 / dpr)
        box = self.outline()
        painter.setBrush(QColor(225, 236, 248))
        painter.setPen(QPen(QColor(11, 92, 173), 2))
        corner = 3.18 / CARD_WIDTH_MM * box.width()
        painter.drawRoundedRect(box, corner, corner)
        painter.setPen(QColor(11, 60, 120))
        font = painter.font()
        font.setPixelSize(round(15 * dpr))
        painter.setFont(font)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.tr("85.60 × 53.98 mm"))

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Keep the outline in the middle."""
        self.update()

    def _changed(self) -> None:
        mm_per_px = CARD_WIDTH_MM / self.card_width_px
        self._fault.setText("")
        self._size.setText(
            self.tr("Screen: {width:.0f} × {height:.0f} mm").format(
                width=self._screen.width_px * mm_per_px, height=self._screen.height_px * mm_per_px
            )
        )
        self.update()
