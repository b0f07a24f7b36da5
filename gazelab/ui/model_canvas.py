"""The chart under a model's map, where a patch can be pointed at and what the model cannot see is hatched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QEvent, QPointF, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QBrush, QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QWidget

from gazelab.core.geometry import PatchGrid, Placement
from gazelab.core.picture import Picture
from gazelab.ui.canvas import ChartCanvas, rgb_image

Patch = tuple[int, int]
Rect = tuple[float, float, float, float]
"""Left, top, right, bottom in picture px."""

MARK = QColor(10, 10, 10)
HATCH = QColor(70, 70, 70, 150)
VEIL = QColor(208, 208, 208, 150)
_STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class ModelCanvas(ChartCanvas):
    """A chart canvas with a patch under the cursor.

    The mouse marks the patch that it is over; a click keeps it marked until the next. With the focus the
    arrow keys move the mark and Esc takes it away.

    Signals
    -------
    marked : (int, int) or None
        Row and column of the patch that is marked now.
    """

    marked = pyqtSignal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Model: the chart and its attention map"))
        self.setAccessibleDescription(self.tr("Arrow keys move from patch to patch, Esc leaves them."))
        self._grid: PatchGrid | None = None
        self._mark: Patch | None = None
        self._kept = False
        self._unseen: list[Rect] = []
        self._instead: Picture | None = None

    @property
    def mark(self) -> Patch | None:
        """The patch that is marked."""
        return self._mark

    @property
    def grid(self) -> PatchGrid | None:
        """The patches that can be marked."""
        return self._grid

    @property
    def unseen(self) -> list[Rect]:
        """What is hatched, picture px."""
        return self._unseen

    def set_picture(self, picture: Picture | None) -> None:
        """Show another chart, without patches."""
        super().set_picture(picture)
        self._unseen, self._instead, self.show_heat = [], None, True
        self.set_grid(None)

    def set_instead(self, picture: Picture | None) -> None:
        """Show an edited chart in the place of the chart and its map, or these again."""
        if picture is None and self._instead is None:
            return
        self._instead = picture
        self.show_heat = picture is None
        shown = picture or self.picture
        self._source = None if shown is None else rgb_image(shown.rgb)
        self._drop_caches()

    @property
    def instead(self) -> Picture | None:
        """The edited chart that is shown, if one is."""
        return self._instead

    def set_grid(self, grid: PatchGrid | None) -> None:
        """Take the patches that can be marked; a mark that is no longer a patch goes."""
        if grid is self._grid:
            return
        before, self._grid = self._grid, grid
        same = (
            before is not None and grid is not None and (before.rows, before.cols) == (grid.rows, grid.cols)
        )
        if not same:
            self._kept = False
            self._set_mark(None)

    def set_seen(self, grids: Sequence[PatchGrid]) -> None:
        """Hatch what lies outside every one of these grids."""
        self._unseen = unseen_of(grids)
        self.update()

    def mouseMoveEvent(self, a0: QMouseEvent | None) -> None:
        """Mark the patch under the mouse, unless one is kept."""
        if a0 is not None and not self._kept:
            self._set_mark(self._patch_at(a0.position()))

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Keep the patch under the mouse, or let the one that is kept go."""
        if a0 is None or a0.button() != Qt.MouseButton.LeftButton:
            return
        patch = self._patch_at(a0.position())
        self._kept = patch is not None and not (self._kept and patch == self._mark)
        self._set_mark(patch)
        self.update()

    def leaveEvent(self, a0: QEvent | None) -> None:
        """Mark nothing when the mouse is gone."""
        if not self._kept:
            self._set_mark(None)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Move the mark, or take it away."""
        if a0 is None or self._grid is None:
            super().keyPressEvent(a0)
        elif a0.key() == Qt.Key.Key_Escape and self._mark is not None:
            self._kept = False
            self._set_mark(None)
        elif a0.key() in _STEPS and a0.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self._move(*_STEPS[Qt.Key(a0.key())])
        else:
            super().keyPressEvent(a0)

    def focusInEvent(self, a0: QFocusEvent | None) -> None:
        """Show the focus."""
        super().focusInEvent(a0)
        self.update()

    def focusOutEvent(self, a0: QFocusEvent | None) -> None:
        """Show it no more."""
        super().focusOutEvent(a0)
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the chart and its map, then what is not seen, the mark and the focus."""
        super().paintEvent(a0)
        shown = self.shown()
        painter = QPainter(self)
        dpr = self.devicePixelRatioF()
        painter.scale(1 / dpr, 1 / dpr)
        if shown is not None:
            for rect in self._unseen:
                place = _placed(rect, shown)
                painter.fillRect(place, VEIL)
                painter.fillRect(place, QBrush(HATCH, Qt.BrushStyle.BDiagPattern))
            if self._mark is not None and self._grid is not None:
                self._draw_mark(painter, _placed(rect_of(self._grid, self._mark), shown), dpr)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(0, 90, 160), 2 * dpr, Qt.PenStyle.DotLine))
            painter.drawRect(
                QRectF(0, 0, self.width() * dpr, self.height() * dpr).adjusted(dpr, dpr, -dpr, -dpr)
            )

    def _draw_mark(self, painter: QPainter, place: QRectF, dpr: float) -> None:
        """Draw a dark frame inside a light one, so that it is seen on any chart; a kept one is thicker."""
        width = (2.4 if self._kept else 1.4) * dpr
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(255, 255, 255), width + 2.4 * dpr))
        painter.drawRect(place)
        painter.setPen(QPen(MARK, width))
        painter.drawRect(place)

    def _move(self, down: int, right: int) -> None:
        grid = self._grid
        assert grid is not None
        inside = grid.inside() > 0
        if self._mark is None:
            patch = _nearest_to_middle(inside)
        else:
            row = min(max(self._mark[0] + down, 0), grid.rows - 1)
            col = min(max(self._mark[1] + right, 0), grid.cols - 1)
            patch = (row, col) if inside[row, col] else self._mark
        self._kept = True
        self._set_mark(patch)

    def _patch_at(self, position: QPointF) -> Patch | None:
        at, picture, grid = self.picture_at(position), self.picture, self._grid
        if at is None or picture is None or grid is None:
            return None
        x, y = at
        if not (0 <= x < picture.width_px and 0 <= y < picture.height_px):
            return None
        row, col = (int(v) for v in grid.locate(x, y))
        return (row, col) if row >= 0 and col >= 0 else None

    def _set_mark(self, patch: Patch | None) -> None:
        if patch != self._mark:
            self._mark = patch
            self.update()
            self.marked.emit(patch)


def rect_of(grid: PatchGrid, patch: Patch) -> Rect:
    """Give a patch's rectangle on the picture, cut at the picture's edges; picture px."""
    row, col = patch
    return (
        max(float(grid.x_edges_px[col]), 0.0),
        max(float(grid.y_edges_px[row]), 0.0),
        min(float(grid.x_edges_px[col + 1]), float(grid.picture_width_px)),
        min(float(grid.y_edges_px[row + 1]), float(grid.picture_height_px)),
    )


def unseen_of(grids: Sequence[PatchGrid]) -> list[Rect]:
    """Give the strips of the picture that lie outside every grid; grids cover rectangles.

    Returns
    -------
    list of (left, top, right, bottom)
        Picture px; they do not overlap.
    """
    if not grids:
        return []
    width, height = float(grids[0].picture_width_px), float(grids[0].picture_height_px)
    left = max(0.0, min(float(g.x_edges_px[0]) for g in grids))
    right = min(width, max(float(g.x_edges_px[-1]) for g in grids))
    top = max(0.0, min(float(g.y_edges_px[0]) for g in grids))
    bottom = min(height, max(float(g.y_edges_px[-1]) for g in grids))
    strips = [
        (0.0, 0.0, left, height),
        (right, 0.0, width, height),
        (left, 0.0, right, top),
        (left, bottom, right, height),
    ]
    return [s for s in strips if s[2] - s[0] > 0.5 and s[3] - s[1] > 0.5]


def unseen_share(grids: Sequence[PatchGrid]) -> float:
    """Give the share of the picture's area that no grid covers."""
    if not grids:
        return 0.0
    area = float(grids[0].picture_width_px * grids[0].picture_height_px)
    return sum((r - x) * (b - y) for x, y, r, b in unseen_of(grids)) / area


def _nearest_to_middle(inside: NDArray[np.bool_]) -> Patch | None:
    cells = np.argwhere(inside)
    if not len(cells):
        return None
    middle = (np.array(inside.shape) - 1) / 2
    row, col = cells[np.abs(cells - middle).sum(1).argmin()]
    return int(row), int(col)


def _placed(rect: Rect, shown: Placement) -> QRectF:
    x, y = shown.to_screen(np.array([rect[0], rect[2]]), np.array([rect[1], rect[3]]))
    return QRectF(QPointF(float(x[0]), float(y[0])), QPointF(float(x[1]), float(y[1])))
