"""Gaze over time: the two axes as traces with their gaps, the fixations behind them, and the moment shown."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PyQt6.QtCore import QEvent, Qt, pyqtSignal
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.core.gaze import EventArray, GazeArray
from gazelab.core.geometry import Screen
from gazelab.ui import theme

TRACES_RGB = (0, 114, 178), (213, 94, 0)
DARK_TRACES_RGB = (86, 180, 233), (230, 159, 0)
"""Okabe and Ito's blue and vermilion, on dark ground sky blue and orange: apart for all colour vision."""
HEIGHT_PX = 126
LEGEND_SHARE = 0.5
"""Room above the traces, as a share of their own span, so that the legend never covers them."""


class GazePlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """One trial's gaze against time, raw as recorded.

    Signals
    -------
    moved : int
        ns since the trial's onset, when the user clicked into the plot.
    """

    moved = pyqtSignal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, axisItems={"bottom": _Seconds("bottom")})
        self.setAccessibleName(self.tr("Gaze over time"))
        self.setToolTip(self.tr("Raw gaze over time, gaps where it was lost. Click to go to a moment."))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT_PX)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        item = self.getPlotItem()
        item.getAxis("left").setWidth(56)
        self._legend = item.addLegend(offset=(-4, 1), horSpacing=12, colCount=2)
        self._x = item.plot(name=self.tr("across"), connect="finite")
        self._y = item.plot(name=self.tr("up"), connect="finite")
        self._now = pg.InfiniteLine(0)
        item.addItem(self._now)
        self._spans: list[pg.LinearRegionItem] = []
        self._duration_s = 0.0
        self.scene().sigMouseClicked.connect(self._clicked)
        self._dress()

    def set_trial(
        self, samples: GazeArray, fixations: EventArray, onset_ns: int, duration_ns: int, screen: Screen
    ) -> None:
        """Show another trial.

        Parameters
        ----------
        samples : numpy.ndarray, GAZE_DTYPE
            As recorded; lost ones leave a gap.
        fixations : numpy.ndarray, EVENT_DTYPE
            With times since the trial's onset; shaded.
        onset_ns, duration_ns : int
        screen : Screen
            With its size known the axes are degrees, up positive; else px, turned so that up is up.
        """
        times_s = (samples["time_ns"] - onset_ns) / 1e9
        x, y = gaze_axes(samples, screen)
        self._x.setData(times_s, x)
        self._y.setData(times_s, y)
        item = self.getPlotItem()
        item.setLabel("left", self.tr("deg") if screen.has_degrees else self.tr("px"))
        self._drop_spans()
        tokens = theme.current()
        brush = pg.mkBrush(_with_alpha(tokens.accent, 38))
        self._spans = [
            pg.LinearRegionItem(
                (int(e["onset_ns"]) / 1e9, int(e["offset_ns"]) / 1e9),
                movable=False,
                brush=brush,
                pen=pg.mkPen(None),
            )
            for e in fixations
        ]
        for span in self._spans:
            span.setZValue(-10)
            item.addItem(span)
        self._duration_s = duration_ns / 1e9
        item.setXRange(0, max(self._duration_s, 1e-3), padding=0.01)
        item.setYRange(*_y_range(x, y), padding=0)
        self.set_now(0)

    def changeEvent(self, a0: QEvent | None) -> None:
        """Follow the theme: pyqtgraph does not by itself."""
        super().changeEvent(a0)
        if a0 is not None and a0.type() == QEvent.Type.PaletteChange and hasattr(self, "_spans"):
            self._dress()

    def show_nothing(self) -> None:
        """Show no trial."""
        self._drop_spans()
        for trace in (self._x, self._y):
            trace.setData([], [])
        self._duration_s = 0.0
        self.set_now(0)

    def set_now(self, now_ns: int) -> None:
        """Move the line of the moment shown; ns since the trial's onset."""
        self._now.setValue(now_ns / 1e9)

    @property
    def now_s(self) -> float:
        """Where the line stands."""
        return float(self._now.value())

    def _dress(self) -> None:
        """Take over the theme's colours."""
        tokens = theme.current()
        self.setBackground(tokens.surface)
        item = self.getPlotItem()
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setPen(QColor(tokens.border))
            axis.setTextPen(QColor(tokens.muted))
        for _, text in self._legend.items:
            text.setText(text.text, color=tokens.text)
        self._legend.setBrush(_with_alpha(tokens.surface, 200))
        rgb = DARK_TRACES_RGB if tokens is theme.DARK else TRACES_RGB
        for trace, colour in zip((self._x, self._y), rgb, strict=True):
            trace.setPen(pg.mkPen(colour, width=1))
        self._now.setPen(pg.mkPen(tokens.text, width=1))
        for span in self._spans:
            span.setBrush(pg.mkBrush(_with_alpha(tokens.accent, 38)))

    def _drop_spans(self) -> None:
        for span in self._spans:
            self.getPlotItem().removeItem(span)
        self._spans = []

    def _clicked(self, event: pg.GraphicsScene.mouseEvents.MouseClickEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not self._duration_s:
            return
        at_s = self.getPlotItem().vb.mapSceneToView(event.scenePos()).x()
        self.moved.emit(round(min(max(at_s, 0.0), self._duration_s) * 1e9))


class _Seconds(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """An axis whose ticks carry their unit, so that it needs no line for a label."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Give the text of each tick."""
        return [f"{value * scale:g} s" for value in values]


def _y_range(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Give the lowest and highest value to show, with room for the legend above the traces."""
    both = np.concatenate([x, y])
    both = both[np.isfinite(both)]
    if not len(both):
        return -1.0, 1.0
    low, high = float(both.min()), float(both.max())
    span = max(high - low, 1.0)
    return low - 0.08 * span, high + LEGEND_SHARE * span


def gaze_axes(samples: GazeArray, screen: Screen) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give x (+ right) and y (+ up) from the screen's centre, NaN where gaze was lost.

    Returns
    -------
    x, y : numpy.ndarray, shape (n,)
        Degrees, or px where the screen's size is unknown.
    """
    lost = ~samples["valid"]
    if screen.has_degrees:
        x, y = screen.to_deg(samples["x_px"], samples["y_px"])
    else:
        x = samples["x_px"].astype(float) - screen.width_px / 2
        y = screen.height_px / 2 - samples["y_px"].astype(float)
    return np.where(lost, np.nan, x), np.where(lost, np.nan, y)


def _with_alpha(colour: str, alpha: int) -> QColor:
    out = QColor(colour)
    out.setAlpha(alpha)
    return out
