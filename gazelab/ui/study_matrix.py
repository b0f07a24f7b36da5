"""A square of words: each row is one word's look at the words before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QBrush, QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.ui import theme
from gazelab.ui.colours import DARK_NUMBER_MAP, NUMBER_MAP
from gazelab.ui.token_strip import readable

LABEL_PX = 92
SMALLEST_LABEL_PX = 11
LONGEST_LABEL = 12
Cell = tuple[int, int]


class WordMatrix(QWidget):
    """Words down (who looks) by words across (what is looked at); what the causal mask hides is hatched.

    Signals
    -------
    pointed : object
        (query, key) under the mouse or the keyboard's cursor, or None.
    """

    pointed = pyqtSignal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Attention of the words among themselves"))
        self._words: tuple[str, ...] = ()
        self._scaled: NDArray[np.float64] = np.zeros((0, 0))
        self._image: QImage | None = None
        self._at: Cell | None = None
        self._n_prompt = 0

    @property
    def cursor_cell(self) -> Cell | None:
        """The cell pointed at."""
        return self._at

    def sizeHint(self) -> QSize:
        """Give room for words that can be read."""
        return QSize(560, 460)

    def set_matrix(self, words: Sequence[str], scaled: NDArray[np.float64], n_prompt: int) -> None:
        """Show a matrix.

        Parameters
        ----------
        words : sequence of str
        scaled : numpy.ndarray, shape (query, key)
            0 to 1; NaN where a word may not look.
        n_prompt : int
            The words from here on are the answer's.
        """
        self._words, self._scaled, self._n_prompt = tuple(words), np.asarray(scaled, float), n_prompt
        self._image = None
        self.point(None if self._at is None or max(self._at) >= len(self._words) else self._at)
        self.update()

    def point(self, cell: Cell | None) -> None:
        """Point at a cell."""
        self._at = cell
        self.pointed.emit(cell)
        self.update()

    def cell_at(self, at: QPointF) -> Cell | None:
        """Find the cell at a place of the widget."""
        square, n = self._square(), len(self._words)
        if not n or not square.contains(at):
            return None
        side = square.width() / n
        row, col = (int((at.y() - square.top()) / side), int((at.x() - square.left()) / side))
        return min(row, n - 1), min(col, n - 1)

    def mouseMoveEvent(self, a0: QMouseEvent | None) -> None:
        """Point where the mouse is."""
        if a0 is not None:
            self.point(self.cell_at(a0.position()))

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Point with the arrows."""
        steps = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        n = len(self._words)
        if a0 is None or a0.key() not in steps or not n:
            super().keyPressEvent(a0)
            return
        row, col = self._at or (n - 1, 0)
        by = steps[Qt.Key(a0.key())]
        self.point((min(max(row + by[0], 0), n - 1), min(max(col + by[1], 0), n - 1)))

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Paint the cells, their words, and the cursor."""
        if not self._words:
            return
        pen = QPainter(self)
        tokens = theme.current()
        square = self._square()
        side = square.width() / len(self._words)
        pen.fillRect(square, QBrush(QColor(tokens.border), Qt.BrushStyle.BDiagPattern))
        pen.drawImage(square, self._cells())
        pen.setPen(QPen(QColor(tokens.border), 1))
        pen.drawRect(square)
        if 0 < self._n_prompt < len(self._words):
            pen.setPen(QPen(QColor(tokens.accent), 1, Qt.PenStyle.DashLine))
            at = self._n_prompt * side
            pen.drawLine(
                QPointF(square.left(), square.top() + at), QPointF(square.right(), square.top() + at)
            )
            pen.drawLine(
                QPointF(square.left() + at, square.top()), QPointF(square.left() + at, square.bottom())
            )
        self._paint_words(pen, square, side)
        if self._at is not None:
            pen.setPen(QPen(QColor(tokens.accent), 2))
            pen.drawRect(
                QRectF(square.left() + self._at[1] * side, square.top() + self._at[0] * side, side, side)
            )
        pen.end()

    def _paint_words(self, pen: QPainter, square: QRectF, side: float) -> None:
        """Write the words that there is room for, and always those pointed at."""
        tokens = theme.current()
        font = pen.font()
        font.setPixelSize(int(min(max(side, SMALLEST_LABEL_PX), 13)))
        pen.setFont(font)
        every = 1 if side >= SMALLEST_LABEL_PX else len(self._words) + 1
        shown = set(range(0, len(self._words), every)) if every == 1 else set()
        marked = self._at or (-1, -1)
        for i in sorted(shown | {k for k in marked if k >= 0}):
            text = readable(self._words[i])[:LONGEST_LABEL]
            middle = (i + 0.5) * side
            if i in shown or i == marked[0]:
                pen.setPen(QColor(tokens.accent if i == marked[0] else tokens.text))
                place = QRectF(square.left() - LABEL_PX - 6, square.top() + middle - 9, LABEL_PX, 18)
                pen.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
            if i in shown or i == marked[1]:
                pen.setPen(QColor(tokens.accent if i == marked[1] else tokens.text))
                pen.save()
                pen.translate(square.left() + middle, square.top() - 6)
                pen.rotate(-90)
                pen.drawText(QRectF(0, -9, LABEL_PX, 18), Qt.AlignmentFlag.AlignVCenter, text)
                pen.restore()

    def _square(self) -> QRectF:
        side = max(min(self.width() - LABEL_PX - 16, self.height() - LABEL_PX - 12), 1)
        return QRectF(LABEL_PX + 8, LABEL_PX + 6, side, side)

    def _cells(self) -> QImage:
        if self._image is None:
            ramp = DARK_NUMBER_MAP if theme.current() is theme.DARK else NUMBER_MAP
            shown = np.isfinite(self._scaled)
            rgba = ramp.rgba[np.round(np.clip(np.where(shown, self._scaled, 0), 0, 1) * 255).astype(np.intp)]
            rgba[..., 3] = np.where(shown, 255, 0)
            n = len(self._words)
            self._image = QImage(rgba.tobytes(), n, n, 4 * n, QImage.Format.Format_RGBA8888).copy()
        return self._image
