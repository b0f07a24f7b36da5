"""Small pictures of a map over its chart."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import QPoint, QSize, Qt
from PyQt6.QtGui import QImage, QPainter

from gazelab.attention.maps import display_scale
from gazelab.core.picture import Picture
from gazelab.ui.canvas import Heat, rgb_image
from gazelab.ui.heat_image import heat_image, spread

FADE = 0.45
"""How much of the chart goes towards white under a small map: full colours would drown it."""


class Thumbnails:
    """Makes small pictures of maps over one chart, all of one size.

    Parameters
    ----------
    picture : Picture
    box : QSize
        Device px in which the chart is fitted.
    """

    def __init__(self, picture: Picture, box: QSize) -> None:
        chart = rgb_image(picture.rgb).scaled(
            box, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        self._chart = QImage(chart.size().expandedTo(QSize(1, 1)), QImage.Format.Format_RGB32)
        self._chart.fill(Qt.GlobalColor.white)
        painter = QPainter(self._chart)
        painter.setOpacity(1 - FADE)
        painter.drawImage(0, 0, chart)
        painter.end()

    @property
    def size(self) -> QSize:
        """Size of each small picture, device px."""
        return self._chart.size()

    def of(self, heat: Heat | None) -> QImage:
        """Draw a map over the faded chart."""
        out = self._chart.copy()
        if heat is None or not np.isfinite(heat.values).all():
            return out
        rows, cols = out.height(), out.width()
        if heat.grid is not None:
            image = heat_image(display_scale(spread(heat.grid, heat.values, rows, cols)), heat.colours)
        else:
            image = heat_image(display_scale(heat.values), heat.colours).scaled(out.size())
        painter = QPainter(out)
        painter.drawImage(QPoint(0, 0), image)
        painter.end()
        return out
