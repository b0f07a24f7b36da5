"""The cloud of vectors with its depth, what is pointed at, and where that lies on the chart."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QHBoxLayout, QSizePolicy, QSlider, QVBoxLayout, QWidget

from gazelab.attention.study.records import TokenCloud
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.ui import theme
from gazelab.ui.parts import label, row
from gazelab.ui.study_cloud import CloudView, place_colours
from gazelab.ui.token_strip import readable

SIDE_PX = 220
TINT = 0.35


class PlaceView(QWidget):
    """The chart small, tinted as the points are, with a frame round one patch."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.setFixedWidth(SIDE_PX)
        self._picture: QImage | None = None
        self._grid: PatchGrid | None = None
        self._patch: tuple[int, int] | None = None
        self._tint: QImage | None = None

    def sizeHint(self) -> QSize:
        """Take the chart's shape."""
        shape = (4, 3) if self._picture is None else (self._picture.width(), self._picture.height())
        return QSize(SIDE_PX, SIDE_PX * shape[1] // max(shape[0], 1))

    def set_picture(self, picture: Picture | None, grid: PatchGrid | None) -> None:
        """Show another chart with its patches."""
        self._grid, self._patch, self._picture, self._tint = grid, None, None, None
        if picture is not None and grid is not None:
            rgb = picture.rgb
            made = QImage(
                rgb.tobytes(), rgb.shape[1], rgb.shape[0], 3 * rgb.shape[1], QImage.Format.Format_RGB888
            )
            self._picture = made.scaledToWidth(SIDE_PX, Qt.TransformationMode.SmoothTransformation)
            cells = np.indices((grid.rows, grid.cols)).reshape(2, -1).T
            tint = np.ascontiguousarray(place_colours(cells))
            self._tint = QImage(
                tint.tobytes(), grid.cols, grid.rows, 3 * grid.cols, QImage.Format.Format_RGB888
            ).copy()
        self.updateGeometry()
        self.update()

    def point(self, patch: tuple[int, int] | None) -> None:
        """Frame a patch."""
        self._patch = patch
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Paint chart, tint and frame."""
        if self._picture is None or self._grid is None or self._tint is None:
            return
        pen = QPainter(self)
        pen.drawImage(0, 0, self._picture)
        x = self._grid.x_edges_px * self._picture.width() / self._grid.picture_width_px
        y = self._grid.y_edges_px * self._picture.height() / self._grid.picture_height_px
        pen.setOpacity(TINT)
        pen.drawImage(QRectF(x[0], y[0], x[-1] - x[0], y[-1] - y[0]), self._tint)
        pen.setOpacity(1)
        if self._patch is not None:
            r, c = self._patch
            pen.setPen(QPen(QColor(theme.current().accent), 2))
            pen.drawRect(QRectF(x[c], y[r], x[c + 1] - x[c], y[r + 1] - y[r]))
        pen.end()


class VectorsView(QWidget):
    """The cloud, a slider through the depths, and the chart beside it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cloud = CloudView()
        self.cloud.pointed.connect(self._point)
        self.place = PlaceView()
        self.depth_slider = QSlider(Qt.Orientation.Horizontal)
        self.depth_slider.setAccessibleName(self.tr("Depth"))
        self.depth_slider.valueChanged.connect(self._show_depth)
        self._named = label("", "heading")
        self._told = label("", "", wrap=True)
        self._note = label("", "muted", wrap=True)
        lead = label(
            self.tr(
                "Every word and every patch is a vector; each layer moves it. Here are the three directions"
                " in which they differ most. Drag to turn, wheel to come nearer."
            ),
            "muted",
            wrap=True,
        )
        side = QVBoxLayout()
        side.addWidget(self.place)
        side.addWidget(self._told)
        side.addStretch(1)
        side.addWidget(self._note)
        self._told.setFixedWidth(SIDE_PX)
        self._note.setFixedWidth(SIDE_PX)
        body = QHBoxLayout()
        body.addWidget(self.cloud, 1)
        body.addLayout(side)
        outer = QVBoxLayout(self)
        outer.addWidget(lead)
        outer.addLayout(row(label(self.tr("Depth")), self.depth_slider, self._named))
        outer.addLayout(body, 1)
        self._shown: TokenCloud | None = None

    def set_cloud(self, cloud: TokenCloud | None, picture: Picture | None, grid: PatchGrid | None) -> None:
        """Show another answer's vectors, at the last depth."""
        self._shown = cloud
        self.setEnabled(cloud is not None)
        self.place.set_picture(picture, grid)
        self.cloud.set_cloud(cloud)
        self.depth_slider.blockSignals(True)
        self.depth_slider.setRange(0, 0 if cloud is None else len(cloud.depths) - 1)
        self.depth_slider.setValue(self.depth_slider.maximum())
        self.depth_slider.blockSignals(False)
        self._note.setText("" if cloud is None else cloud.note)
        self._point(None)
        self._show_depth(self.depth_slider.value())

    def _show_depth(self, depth: int) -> None:
        if self._shown is None:
            self._named.setText("")
            return
        self.cloud.set_depth(depth)
        text = self.tr("{name}: {share:.0%} of the variance is seen")
        self._named.setText(text.format(name=self._shown.depths[depth], share=self._shown.explained[depth]))

    def _point(self, index: int | None) -> None:
        if index is None or self._shown is None:
            self._told.setText("")
            self.place.point(None)
            return
        r, c = (int(n) for n in self._shown.patch[index])
        self.place.point((r, c) if r >= 0 else None)
        word = self.tr("“{word}”").format(word=readable(self._shown.texts[index]))
        self._told.setText(
            self.tr("Patch, row {row}, column {column}").format(row=r, column=c) if r >= 0 else word
        )
