"""Words and patches as points in three dimensions, turned with the mouse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.attention.study.records import TokenCloud
from gazelab.ui import theme
from gazelab.ui.token_strip import readable

PATCH_PX, WORD_PX, NEAR_PX = 5, 8, 12
TURN_PER_PX = 0.01
TURN_PER_KEY = 0.1
FAREST, NEAREST = 0.5, 8.0
FILL = 0.8
Floats = NDArray[np.float64]


class CloudView(QWidget):
    """One depth of a `TokenCloud`. Drag or the arrows turn it, the wheel or + and - bring it nearer.

    Signals
    -------
    pointed : object
        Index of the token under the mouse, or None.
    """

    pointed = pyqtSignal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Vectors of words and patches in three dimensions"))
        self._cloud: TokenCloud | None = None
        self._depth = 0
        self._turn = np.array([-0.4, 0.6])
        self._zoom = 1.0
        self._at: int | None = None
        self._dragged: QPointF | None = None
        self._colours: NDArray[np.uint8] = np.zeros((0, 3), np.uint8)

    @property
    def pointed_at(self) -> int | None:
        """The token pointed at."""
        return self._at

    def sizeHint(self) -> QSize:
        """Give room for a cloud."""
        return QSize(560, 420)

    def set_cloud(self, cloud: TokenCloud | None) -> None:
        """Show another cloud at its last depth, or none."""
        self._cloud, self._at = cloud, None
        self._colours = np.zeros((0, 3), np.uint8) if cloud is None else place_colours(cloud.patch)
        self.set_depth(0 if cloud is None else len(cloud.depths) - 1)

    def set_depth(self, depth: int) -> None:
        """Show another depth; the view stays turned as it is."""
        self._depth = depth
        self.update()

    def placed(self) -> Floats:
        """Give each token's place on the widget and its depth: (token, 3), px right, px down, towards us."""
        if self._cloud is None:
            return np.zeros((0, 3))
        points = self._cloud.points[self._depth].astype(float)
        points = points - (points.min(0) + points.max(0)) / 2
        reach = np.linalg.norm(points, axis=1).max() or 1.0
        seen = points @ rotation(*self._turn).T
        scale = FILL * self._zoom * min(self.width(), self.height()) / 2 / reach
        centre = np.array([self.width() / 2, self.height() / 2])
        return np.column_stack([centre + seen[:, :2] * scale, seen[:, 2]])

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Take hold of the cloud."""
        if a0 is not None:
            self._dragged = a0.position()

    def mouseReleaseEvent(self, a0: QMouseEvent | None) -> None:
        """Let go."""
        self._dragged = None

    def mouseMoveEvent(self, a0: QMouseEvent | None) -> None:
        """Turn what is held, or point."""
        if a0 is None:
            return
        if self._dragged is not None:
            moved = a0.position() - self._dragged
            self._dragged = a0.position()
            self.turn(moved.y() * TURN_PER_PX, moved.x() * TURN_PER_PX)
        else:
            self._point(a0.position())

    def wheelEvent(self, a0: QWheelEvent | None) -> None:
        """Bring it nearer or farther."""
        if a0 is not None:
            self.zoom(1.1 ** (a0.angleDelta().y() / 120))

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Turn with the arrows, zoom with + and -."""
        turns = {
            Qt.Key.Key_Left: (0, -TURN_PER_KEY),
            Qt.Key.Key_Right: (0, TURN_PER_KEY),
            Qt.Key.Key_Up: (-TURN_PER_KEY, 0),
            Qt.Key.Key_Down: (TURN_PER_KEY, 0),
        }
        if a0 is not None and a0.key() in turns:
            self.turn(*turns[Qt.Key(a0.key())])
        elif a0 is not None and a0.text() in ("+", "-"):
            self.zoom(1.2 if a0.text() == "+" else 1 / 1.2)
        else:
            super().keyPressEvent(a0)

    def turn(self, tilt_rad: float, spin_rad: float) -> None:
        """Turn the cloud about the axis across, and about the axis up."""
        self._turn = self._turn + np.array([tilt_rad, spin_rad])
        self.update()

    def zoom(self, by: float) -> None:
        """Make the cloud larger by a factor."""
        self._zoom = float(np.clip(self._zoom * by, FAREST, NEAREST))
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Paint from far to near: patches as squares, words as dots with their text."""
        if self._cloud is None:
            return
        pen = QPainter(self)
        tokens = theme.current()
        placed = self.placed()
        words = self._cloud.patch[:, 0] < 0
        for i in np.argsort(placed[:, 2]):
            x_px, y_px = float(placed[i, 0]), float(placed[i, 1])
            if not words[i]:
                half = PATCH_PX / 2
                square = QRectF(x_px - half, y_px - half, PATCH_PX, PATCH_PX)
                pen.fillRect(square, QColor(*(int(c) for c in self._colours[i])))
        pen.setRenderHint(QPainter.RenderHint.Antialiasing)
        for i in np.flatnonzero(words):
            at = QPointF(float(placed[i, 0]), float(placed[i, 1]))
            pen.setPen(Qt.PenStyle.NoPen)
            pen.setBrush(QColor(tokens.text))
            pen.drawEllipse(at, WORD_PX / 2, WORD_PX / 2)
        self._paint_texts(pen, placed, np.flatnonzero(words))
        if self._at is not None:
            pen.setBrush(Qt.BrushStyle.NoBrush)
            pen.setPen(QPen(QColor(tokens.accent), 2))
            pen.drawEllipse(QPointF(float(placed[self._at, 0]), float(placed[self._at, 1])), 9, 9)
        pen.end()

    def _paint_texts(self, pen: QPainter, placed: Floats, words: NDArray[np.intp]) -> None:
        """Write the words, nearest first; one that would lie on another is left out unless pointed at."""
        if self._cloud is None:
            return
        pen.setPen(QColor(theme.current().text))
        taken: list[QRectF] = []
        first = [i for i in words if i == self._at]
        for i in [*first, *sorted(words, key=lambda k: -placed[k, 2])]:
            text = readable(self._cloud.texts[i])[:14]
            width = pen.fontMetrics().horizontalAdvance(text)
            place = QRectF(float(placed[i, 0]) + WORD_PX, float(placed[i, 1]) - 8, width, 16)
            if not any(place.intersects(other) for other in taken):
                taken.append(place)
                pen.drawText(place.bottomLeft() + QPointF(0, -4), text)

    def _point(self, at: QPointF) -> None:
        placed = self.placed()
        if not len(placed):
            return
        apart = np.hypot(placed[:, 0] - at.x(), placed[:, 1] - at.y())
        nearest = int(apart.argmin())
        found = nearest if apart[nearest] <= NEAR_PX else None
        if found != self._at:
            self._at = found
            self.pointed.emit(found)
            self.update()


def rotation(tilt_rad: float, spin_rad: float) -> Floats:
    """Turn about the axis up, then about the axis across: (3, 3)."""
    up = np.array(
        [
            [np.cos(spin_rad), 0, np.sin(spin_rad)],
            [0, 1, 0],
            [-np.sin(spin_rad), 0, np.cos(spin_rad)],
        ]
    )
    across = np.array(
        [
            [1, 0, 0],
            [0, np.cos(tilt_rad), -np.sin(tilt_rad)],
            [0, np.sin(tilt_rad), np.cos(tilt_rad)],
        ]
    )
    return np.asarray(across @ up)


def place_colours(patch: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Colour patches by their place on the chart: across from blue to orange, down from bright to dark.

    Parameters
    ----------
    patch : numpy.ndarray, shape (token, 2)
        Row and column; -1 for what is no patch.

    Returns
    -------
    numpy.ndarray, shape (token, 3), uint8
    """
    most = np.maximum(patch.max(0, initial=0), 1)
    down, across = (np.clip(patch, 0, None) / most).T
    corners = np.array([[[90, 170, 235], [250, 165, 70]], [[10, 60, 130], [140, 50, 5]]], float)
    top = corners[0, 0] + across[:, None] * (corners[0, 1] - corners[0, 0])
    bottom = corners[1, 0] + across[:, None] * (corners[1, 1] - corners[1, 0])
    return np.asarray(np.round(top + down[:, None] * (bottom - top)), np.uint8)
