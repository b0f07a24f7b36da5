"""Layers down, heads across: one cell each, to see where a model looks for what and to choose from."""

from __future__ import annotations

import math

from PyQt6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PyQt6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gazelab.ui import theme
from gazelab.ui.colours import DARK_NUMBER_MAP, NUMBER_MAP
from gazelab.ui.look_sums import Floats
from gazelab.ui.matrix_picture import maps_picture, numbers_picture

ALL = -1
LABEL_PX = 34
TOP_PX = 18
CELL_PX = (7, 56), (13, 22)
"""Least and largest width and height of a cell, logical px."""
MAP_CELL_PX = (14, 64), (12, 48)
READABLE_PX = 20
"""A row of small maps is not made lower than this to spare a scroll bar."""
_STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class HeadMatrix(QWidget):
    """One cell a head; a click chooses it, a click on a label the whole row or column.

    The keys move through cells and labels alike: left of the first head is the whole layer, above the first
    layer the whole head, and their corner is everything.

    Signals
    -------
    picked : (int, int)
        Row of the layer and number of the head; `ALL` for all.
    """

    picked = pyqtSignal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Layers and heads"))
        self._layers: tuple[int, ...] = ()
        self._n_heads = 0
        self._at = (ALL, ALL)
        self._numbers: Floats | None = None
        self._maps: Floats | None = None
        self._unit = ""
        self._room = 0
        self._image: QImage | None = None

    @property
    def at(self) -> tuple[int, int]:
        """Row of the layer and number of the head that are chosen."""
        return self._at

    def set_axes(self, layers: tuple[int, ...], n_heads: int) -> None:
        """Take the layers' own numbers and how many heads each has; everything is chosen."""
        if layers != self._layers or n_heads != self._n_heads:
            self._layers, self._n_heads = layers, n_heads
            self._at = (ALL, ALL)
            self._numbers = self._maps = self._image = None
            self._fit()
            self.update()

    def set_numbers(self, numbers: Floats | None, unit: str = "%") -> None:
        """Show a number a cell, shape (layer, head); the unit is "%" or ""."""
        fit = self._maps is not None
        self._numbers, self._maps, self._unit = numbers, None, unit
        self._fit_after(fit)
        self._image = None
        self.update()

    def set_maps(self, maps: Floats) -> None:
        """Show a small map a cell, shape (layer, head, row, col)."""
        fit = self._maps is None
        self._numbers, self._maps = None, maps
        self._fit_after(fit)
        self._image = None
        self.update()

    def set_room(self, height_px: int) -> None:
        """Take how high the matrix may be; it is higher only where the cells would be too low to be read."""
        if height_px != self._room:
            self._room = height_px
            self._image = None
            self._fit()

    def choose(self, row: int, head: int) -> None:
        """Choose without telling anybody."""
        self._at = (row, head)
        self.setAccessibleDescription(self.words(row, head))
        self.update()

    def words(self, row: int, head: int) -> str:
        """Say what a cell or a label is, with its number."""
        if row == ALL and head == ALL:
            return self.tr("All layers, all heads")
        if head == ALL:
            return self.tr("Layer {layer}, all heads").format(layer=self._layers[row])
        if row == ALL:
            return self.tr("Head {head} of every layer").format(head=head)
        said = self.tr("Layer {layer}, head {head}").format(layer=self._layers[row], head=head)
        value = math.nan if self._numbers is None else float(self._numbers[row, head])
        if math.isnan(value):
            return said
        return f"{said}: {value:.1%}" if self._unit == "%" else f"{said}: {value:.2f}"

    def sizeHint(self) -> QSize:
        """Give the size at the width it has."""
        _, height = self._cell()
        return QSize(LABEL_PX + 240, TOP_PX + height * max(len(self._layers), 1))

    def minimumSizeHint(self) -> QSize:
        """Give the least size: the least width of a cell."""
        least = (MAP_CELL_PX if self._maps is not None else CELL_PX)[0][0]
        return QSize(LABEL_PX + least * self._n_heads, self.sizeHint().height())

    def cell_rect(self, row: int, head: int) -> QRect:
        """Tell where a cell lies; `ALL` gives the label's place."""
        width, height = self._cell()
        left = 0 if head == ALL else LABEL_PX + head * width
        top = 0 if row == ALL else TOP_PX + row * height
        return QRect(left, top, LABEL_PX if head == ALL else width, TOP_PX if row == ALL else height)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Make the picture anew at another width."""
        super().resizeEvent(a0)
        self._image = None
        self._fit()

    def changeEvent(self, a0: QEvent | None) -> None:
        """Follow the theme."""
        super().changeEvent(a0)
        if a0 is not None and a0.type() == QEvent.Type.PaletteChange:
            self._image = None

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Choose what was clicked."""
        at = None if a0 is None else self._under(a0.position().toPoint())
        if at is not None:
            self._pick(*at)

    def mouseDoubleClickEvent(self, a0: QMouseEvent | None) -> None:
        """Choose everything again."""
        del a0
        self._pick(ALL, ALL)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Move through cells and labels; Home and Esc choose everything."""
        if a0 is None or not self._layers:
            super().keyPressEvent(a0)
        elif a0.key() in _STEPS and a0.modifiers() == Qt.KeyboardModifier.NoModifier:
            down, right = _STEPS[Qt.Key(a0.key())]
            row = min(max(self._at[0] + down, ALL), len(self._layers) - 1)
            head = min(max(self._at[1] + right, ALL), self._n_heads - 1)
            self._pick(row, head)
        elif a0.key() in (Qt.Key.Key_Home, Qt.Key.Key_Escape) and self._at != (ALL, ALL):
            self._pick(ALL, ALL)
        else:
            super().keyPressEvent(a0)

    def event(self, a0: QEvent | None) -> bool:
        """Tell of the cell under the mouse."""
        if isinstance(a0, QHelpEvent):
            at = self._under(a0.pos())
            if at is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(a0.globalPos(), self.words(*at), self)
            return True
        return super().event(a0)

    def focusInEvent(self, a0: QFocusEvent | None) -> None:
        """Show the focus."""
        super().focusInEvent(a0)
        self.update()

    def focusOutEvent(self, a0: QFocusEvent | None) -> None:
        """Show it no more."""
        super().focusOutEvent(a0)
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw cells, labels and what is chosen."""
        if not self._layers:
            return
        tokens, painter = theme.current(), QPainter(self)
        width, height = self._cell()
        if self._numbers is not None or self._maps is not None:
            ratio = self.devicePixelRatioF()
            if self._image is None:
                self._image = self._drawn(tokens, (round(width * ratio), round(height * ratio)))
            place = QRectF(LABEL_PX, TOP_PX, width * self._n_heads, height * len(self._layers))
            painter.drawImage(place, self._image)
        self._draw_labels(painter, tokens)
        self._draw_chosen(painter, tokens)

    def _drawn(self, tokens: theme.Tokens, cell: tuple[int, int]) -> QImage:
        colours = DARK_NUMBER_MAP if tokens is theme.DARK else NUMBER_MAP
        ground = QColor(tokens.border if self._maps is not None else tokens.surface)
        rgb = (ground.red(), ground.green(), ground.blue())
        cell = (max(cell[0], 1), max(cell[1], 1))
        if self._maps is not None:
            return maps_picture(self._maps, colours, rgb, cell)
        assert self._numbers is not None
        return numbers_picture(self._numbers, colours, rgb, cell)

    def _draw_labels(self, painter: QPainter, tokens: theme.Tokens) -> None:
        font = painter.font()
        font.setPixelSize(11)
        painter.setFont(font)
        row_at, head_at = self._at
        width, height = self._cell()
        centre = Qt.AlignmentFlag.AlignCenter
        corner = self.cell_rect(ALL, ALL)
        painter.setPen(QColor(tokens.accent if self._at == (ALL, ALL) else tokens.muted))
        painter.drawText(corner, centre, self.tr("all"))
        every = max(1, math.ceil(11 / height))
        for row, layer in enumerate(self._layers):
            if row % every == 0 or row == row_at:
                painter.setPen(QColor(tokens.accent if row == row_at else tokens.muted))
                right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                painter.drawText(self.cell_rect(row, ALL).adjusted(0, -2, -6, 2), right, str(layer))
        every = max(1, math.ceil(18 / width))
        for head in range(self._n_heads):
            if head % every == 0:
                painter.setPen(QColor(tokens.accent if head == head_at else tokens.muted))
                painter.drawText(self.cell_rect(ALL, head).adjusted(-8, 0, 8, 0), centre, str(head))

    def _draw_chosen(self, painter: QPainter, tokens: theme.Tokens) -> None:
        row, head = self._at
        width, height = self._cell()
        left = LABEL_PX + (0 if head == ALL else head * width)
        top = TOP_PX + (0 if row == ALL else row * height)
        wide = width * (self._n_heads if head == ALL else 1)
        high = height * (len(self._layers) if row == ALL else 1)
        strong = self.hasFocus()
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if (row, head) != (ALL, ALL) or strong:
            frame = QRectF(left - 1, top - 1, wide + 1, high + 1)
            painter.setPen(QPen(QColor(tokens.surface), 4))
            painter.drawRect(frame)
            painter.setPen(QPen(QColor(tokens.accent), 3 if strong else 2))
            painter.drawRect(frame)

    def _pick(self, row: int, head: int) -> None:
        if (row, head) != self._at:
            self.choose(row, head)
            self.picked.emit(row, head)

    def _under(self, position: QPoint) -> tuple[int, int] | None:
        if not self._layers:
            return None
        width, height = self._cell()
        head = ALL if position.x() < LABEL_PX else (position.x() - LABEL_PX) // width
        row = ALL if position.y() < TOP_PX else (position.y() - TOP_PX) // height
        return (row, head) if row < len(self._layers) and head < self._n_heads else None

    def _cell(self) -> tuple[int, int]:
        """Give a cell's width and height: as wide as there is room, and higher where there are few layers."""
        (narrow, wide), (low, high) = MAP_CELL_PX if self._maps is not None else CELL_PX
        room = max(self.width() - LABEL_PX - 2, 1)
        width = min(max(room // max(self._n_heads, 1), narrow), wide)
        if self._maps is not None and self._maps.shape[-1]:
            shape = self._maps.shape[-2] / self._maps.shape[-1]
            height = round(width * shape)
            fitting = (self._room - TOP_PX - 4) // max(len(self._layers), 1)
            if READABLE_PX <= fitting < height:
                height = fitting
                width = max(round(height / shape), narrow)
        else:
            height = high if len(self._layers) <= 12 else low
        return width, min(max(height, low), high)

    def _fit(self) -> None:
        self.setFixedHeight(self.sizeHint().height() + 3)
        self.updateGeometry()

    def _fit_after(self, changed: bool) -> None:
        if changed:
            self._fit()
