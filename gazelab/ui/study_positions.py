"""The position encoding as a picture: position down, channel across."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PyQt6.QtWidgets import QVBoxLayout, QWidget

from gazelab.attention.study.records import PositionPicture
from gazelab.ui import theme
from gazelab.ui.parts import label


class PositionsView(QWidget):
    """One image with its axes, and what it shows in a sentence."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._note = label("", "muted", wrap=True)
        self._plot = pg.PlotWidget()
        self._plot.setMenuEnabled(False)
        self._plot.hideButtons()
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.invertY(True)
        self._plot.setLabel("left", self.tr("position"))
        self._plot.setLabel("bottom", self.tr("channel"))
        self._plot.setAccessibleName(self.tr("Position encoding"))
        self.image = pg.ImageItem(axisOrder="row-major")
        self.image.setColorMap(pg.colormap.get("CET-D1"))
        self._plot.addItem(self.image)
        outer = QVBoxLayout(self)
        outer.addWidget(self._note)
        outer.addWidget(self._plot, 1)

    def set_picture(self, picture: PositionPicture | None) -> None:
        """Show an encoding; blue is negative, red positive."""
        tokens = theme.current()
        self._plot.setBackground(tokens.surface)
        for side in ("left", "bottom"):
            axis = self._plot.getAxis(side)
            axis.setPen(tokens.muted)
            axis.setTextPen(tokens.muted)
        self._note.setText(
            "" if picture is None else f"{picture.note} {self.tr('Blue is below 0, red above.')}"
        )
        self.setEnabled(picture is not None)
        if picture is None:
            self.image.clear()
            return
        most = float(np.percentile(np.abs(picture.values), 99)) or 1.0
        self.image.setImage(picture.values, levels=(-most, most))
        rows, columns = picture.values.shape
        self._plot.setRange(xRange=(0, columns), yRange=(0, rows), padding=0)
