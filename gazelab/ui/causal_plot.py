"""Deletion and insertion curves beside the band of random orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QEvent
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.attention.causal import Curve
from gazelab.ui import theme
from gazelab.ui.colours import DARK_MODEL_RGB, MODEL_RGB

HEIGHT_PX = 128
BAND_ALPHA = 70


class CurvePlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """The answer's probability against the share of patches that is blanked, or shown.

    Parameters
    ----------
    title : str
    """

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self.setAccessibleName(title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT_PX)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        item = self.getPlotItem()
        item.setXRange(0, 1, padding=0.1)
        item.setYRange(0, 1, padding=0.04)
        item.getAxis("left").setWidth(28)
        ticks = [(0.0, "0"), (0.5, "½"), (1.0, "1")]
        item.getAxis("left").setTicks([ticks])
        item.getAxis("bottom").setTicks([[(0.0, "0"), (0.5, "50 %"), (1.0, "100")]])
        self._low, self._high = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._band = pg.FillBetweenItem(self._low, self._high)
        self._ours = item.plot()
        for part in (self._low, self._high, self._band):
            part.setZValue(-5)
            item.addItem(part)
        self._dress()

    def set_curves(self, ours: Curve | None, random: Sequence[Curve] = ()) -> None:
        """Show the map's curve, and from the lowest to the highest of the random ones as a band."""
        if ours is None:
            for part in (self._ours, self._low, self._high):
                part.setData([], [])
            return
        self._ours.setData(ours.shares, ours.probability)
        all_random = np.array([curve.probability for curve in random] or [ours.probability])
        shares = random[0].shares if random else ours.shares
        self._low.setData(np.array(shares), all_random.min(0))
        self._high.setData(np.array(shares), all_random.max(0))
        self._band.setVisible(bool(random))
        said = self.tr("{title}: area {area:.2f}").format(title=self._title, area=ours.auc)
        if random:
            mean = float(np.mean([curve.auc for curve in random]))
            said += self.tr(", random orders {area:.2f}").format(area=mean)
        self.setAccessibleDescription(said)
        self.setToolTip(said)

    def changeEvent(self, a0: QEvent | None) -> None:
        """Follow the theme: pyqtgraph does not by itself."""
        super().changeEvent(a0)
        if a0 is not None and a0.type() == QEvent.Type.PaletteChange and hasattr(self, "_ours"):
            self._dress()

    def _dress(self) -> None:
        tokens = theme.current()
        self.setBackground(tokens.surface)
        item = self.getPlotItem()
        item.setTitle(self._title, color=tokens.muted, size="9pt")
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setPen(QColor(tokens.border))
            axis.setTextPen(QColor(tokens.muted))
        orange = DARK_MODEL_RGB if tokens is theme.DARK else MODEL_RGB
        self._ours.setPen(pg.mkPen(orange, width=2))
        grey = QColor(tokens.muted)
        grey.setAlpha(BAND_ALPHA)
        self._band.setBrush(pg.mkBrush(grey))
        for edge in (self._low, self._high):
            edge.setPen(pg.mkPen(grey, width=1))
