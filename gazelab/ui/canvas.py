"""The chart with everything that can lie on it; the same canvas live and in replay.

Layers, from below: neutral ground, chart, heat map, scan path, trail of raw samples. Each slow layer is a
cached pixmap in device px; the painter works in device px throughout, so that no length here is in logical
px. Positions come in screen px (gaze) or picture px (maps) and go through `Placement` only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QSize, Qt
from PyQt6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPixmap, QResizeEvent, QScreen
from PyQt6.QtWidgets import QWidget

from gazelab.attention.maps import display_scale
from gazelab.core.attention import AttentionMap
from gazelab.core.gaze import EventArray, GazeView
from gazelab.core.geometry import PatchGrid, Placement
from gazelab.core.picture import Picture
from gazelab.ui import scanpath
from gazelab.ui.colours import GAZE_MAP, MODEL_MAP, NEUTRAL_RGB, ColourMap
from gazelab.ui.heat_image import heat_image, spread

NEUTRAL = QColor(*NEUTRAL_RGB)
RASTER_PX = 480
FULL_SIZE_PX = 700.0
UNIT_RANGE = (0.75, 1.2)


@dataclass(frozen=True, eq=False)
class Heat:
    """A map to lay over the chart.

    Attributes
    ----------
    values : numpy.ndarray, shape (rows, cols)
        Row 0 at the picture's top, column 0 at its left; not negative.
    grid : PatchGrid or None
        Where the cells lie; None: equal cells over the whole picture.
    colours : ColourMap
    smooth : bool
        False shows the cells as they are, which is honest for a model's patches.
    """

    values: NDArray[np.float64]
    grid: PatchGrid | None = None
    colours: ColourMap = GAZE_MAP
    smooth: bool = True


def heat_of(made: AttentionMap) -> Heat | None:
    """Give what is drawn of a model's map; None where nothing fell on the chart."""
    if not np.isfinite(made.values).all():
        return None
    return Heat(made.values, made.grid, MODEL_MAP, smooth=False)


def rgb_image(rgb: NDArray[np.uint8]) -> QImage:
    """Copy (height, width, 3) uint8 RGB pixels into an image that Qt draws without converting.

    The row length is always given: Qt assumes rows padded to four bytes otherwise, and shears the picture.
    """
    pixels = np.ascontiguousarray(rgb)
    height, width, _ = pixels.shape
    image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    return image.convertToFormat(QImage.Format.Format_RGB32)


class ChartCanvas(QWidget):
    """Draws one chart, as large as the widget allows, with gaze and heat map on it.

    Attributes
    ----------
    show_trail, show_fixations, show_heat : bool
        Which layers are drawn; call `update` after a change.
    """

    def __init__(self, parent: QWidget | None = None, margin_px: int = 0) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(160, 120)
        self.show_trail = True
        self.show_fixations = True
        self.show_heat = True
        self._margin = margin_px
        self._picture: Picture | None = None
        self._source: QImage | None = None
        self._heat: Heat | None = None
        self._view = GazeView(0)
        self._message = ""
        self._chart_layer: QPixmap | None = None
        self._heat_layer: QPixmap | None = None
        self._path_layer: QPixmap | None = None
        self._dot: QPixmap | None = None
        self._path_key: tuple[int, list[object]] = (0, [])
        self._cache_key: tuple[float, ...] = ()

    def sizeHint(self) -> QSize:
        """Give the size that a layout starts from."""
        return QSize(480, 360)

    @property
    def picture(self) -> Picture | None:
        """The chart, as loaded."""
        return self._picture

    @property
    def heat(self) -> Heat | None:
        """The map laid over the chart."""
        return self._heat

    @property
    def view(self) -> GazeView:
        """The gaze drawn now."""
        return self._view

    def set_picture(self, picture: Picture | None) -> None:
        """Show another chart, without the heat map of the last."""
        self._picture = picture
        self._source = None if picture is None else rgb_image(picture.rgb)
        self._heat = None
        self._drop_caches()

    def set_heat(self, heat: Heat | None) -> None:
        """Lay a map over the chart, or take it away."""
        self._heat = heat
        self._heat_layer = None
        self.update()

    def set_view(self, view: GazeView) -> None:
        """Draw this moment's gaze; `view.placement` tells where the chart lay when it was looked at."""
        self._view = view
        self.update()

    def set_message(self, text: str) -> None:
        """Say why there is no chart."""
        self._message = text
        self.update()

    def shown(self) -> Placement | None:
        """Tell where the chart lies in this widget, in device px from the widget's upper-left corner."""
        if self._picture is None:
            return None
        dpr = self.devicePixelRatioF()
        m = self._margin * dpr
        width, height = self.width() * dpr - 2 * m, self.height() * dpr - 2 * m
        if width < 1 or height < 1:
            return None
        return Placement.fit(self._picture.width_px, self._picture.height_px, (m, m, width, height))

    def screen_placement(self, screen: QScreen | None = None) -> Placement | None:
        """Tell where the chart lies on its monitor, in physical px from the monitor's upper-left corner."""
        shown = self.shown()
        target = screen or self.screen()
        if shown is None or target is None:
            return None
        dpr = self.devicePixelRatioF()
        corner = self.mapToGlobal(QPointF(0, 0)) - QPointF(target.geometry().topLeft())
        return Placement(
            shown.left_px + corner.x() * dpr,
            shown.top_px + corner.y() * dpr,
            shown.width_px,
            shown.height_px,
            shown.picture_width_px,
            shown.picture_height_px,
        )

    def picture_at(self, position: QPointF) -> tuple[float, float] | None:
        """Convert a mouse position (logical px of this widget) to picture px."""
        shown = self.shown()
        if shown is None:
            return None
        dpr = self.devicePixelRatioF()
        x, y = shown.to_picture(position.x() * dpr, position.y() * dpr)
        return float(x), float(y)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the layers."""
        painter = QPainter(self)
        dpr = self.devicePixelRatioF()
        painter.fillRect(self.rect(), NEUTRAL)
        shown = self.shown()
        if shown is None or self._source is None:
            painter.setPen(QColor(40, 40, 40))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(24, 24, -24, -24), flags, self._message)
            return
        painter.scale(1 / dpr, 1 / dpr)
        self._check_caches(shown, dpr)
        corner = QPointF(shown.left_px, shown.top_px)
        # Marks shrink with the chart, so that they do not hide a small one.
        unit = dpr * float(np.clip(shown.width_px / dpr / FULL_SIZE_PX, *UNIT_RANGE))
        painter.drawPixmap(corner, self._chart(shown))
        if self.show_heat and self._heat is not None:
            painter.drawPixmap(corner, self._heat_pixmap(self._heat, shown))
        if self.show_fixations and len(self._view.fixations):
            painter.drawPixmap(QPointF(0, 0), self._path(shown, dpr, unit))
        if self.show_trail and len(self._view.samples):
            x, y = self._to_widget(self._view.samples["x_px"], self._view.samples["y_px"], shown)
            ages = (self._view.time_ns - self._view.samples["time_ns"]) / 1e9
            if self._dot is None:
                self._dot = scanpath.dot_pixmap(unit)
            scanpath.draw_trail(painter, x, y, ages, self._dot, unit)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Rebuild the layers at the new size."""
        self._drop_caches()

    def _drop_caches(self) -> None:
        self._chart_layer = self._heat_layer = self._path_layer = None
        self.update()

    def _check_caches(self, shown: Placement, dpr: float) -> None:
        """Drop layers that were made for another size or another monitor's scale."""
        key = (shown.left_px, shown.top_px, shown.width_px, shown.height_px, dpr)
        if key != self._cache_key:
            self._chart_layer = self._heat_layer = self._path_layer = self._dot = None
            self._cache_key = key

    def _chart(self, shown: Placement) -> QPixmap:
        if self._chart_layer is None:
            assert self._source is not None
            self._chart_layer = _stretched(self._source, shown, smooth=True)
        return self._chart_layer

    def _heat_pixmap(self, heat: Heat, shown: Placement) -> QPixmap:
        if self._heat_layer is None:
            values = heat.values
            if heat.grid is not None:
                factor = RASTER_PX / max(heat.grid.picture_width_px, heat.grid.picture_height_px)
                rows = max(1, round(heat.grid.picture_height_px * factor))
                cols = max(1, round(heat.grid.picture_width_px * factor))
                values = spread(heat.grid, np.nan_to_num(values), rows, cols)
            image = heat_image(display_scale(values), heat.colours)
            self._heat_layer = _stretched(image, shown, smooth=heat.smooth)
        return self._heat_layer

    def _path(self, shown: Placement, dpr: float, unit: float) -> QPixmap:
        """Give the scan path's layer; fixations that follow those on it are added, not all drawn anew."""
        fixations, placement = self._view.fixations, self._view.placement
        n_drawn, drawn = self._path_key
        layer = self._path_layer
        if layer is None or n_drawn > len(fixations) or drawn != _ends(fixations[:n_drawn], placement):
            layer = QPixmap(self.size() * dpr)
            layer.fill(Qt.GlobalColor.transparent)
            n_drawn = 0
        if n_drawn < len(fixations):
            x, y = self._to_widget(fixations["x_px"], fixations["y_px"], shown)
            durations = (fixations["offset_ns"] - fixations["onset_ns"]) / 1e9
            painter = QPainter(layer)
            scanpath.draw_fixations(painter, x, y, durations, unit, self.font(), n_drawn)
            painter.end()
        self._path_layer, self._path_key = layer, (len(fixations), _ends(fixations, placement))
        return layer

    def _to_widget(
        self, x_px: NDArray[np.float32], y_px: NDArray[np.float32], shown: Placement
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Screen px of the recording to device px of this widget; NaN where the chart was not up."""
        if self._view.placement is None:
            lost = np.full(len(x_px), np.nan)
            return lost, lost
        return shown.to_screen(*self._view.placement.to_picture(x_px, y_px))


def _ends(fixations: EventArray, placement: Placement | None) -> list[object]:
    """Tell one set of fixations from another: where it begins and ends, and on what it lies."""
    if not len(fixations):
        return [None, None, placement]
    return [int(fixations["onset_ns"][0]), int(fixations["offset_ns"][-1]), placement]


def _stretched(image: QImage, shown: Placement, smooth: bool) -> QPixmap:
    size = QSize(max(1, round(shown.width_px)), max(1, round(shown.height_px)))
    mode = Qt.TransformationMode.SmoothTransformation if smooth else Qt.TransformationMode.FastTransformation
    if image.size() != size:
        image = image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, mode)
    return QPixmap.fromImage(image)
