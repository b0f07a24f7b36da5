"""Which layers and heads become the map, and what to do with sink patches."""

from __future__ import annotations

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QWidget

from gazelab.core.attention import AttentionTrace
from gazelab.pipeline.map_choice import MapChoice
from gazelab.ui.parts import label
from gazelab.ui.token_strip import ALL_TOKENS


class MapControls(QWidget):
    """Selectors for one trace.

    Signals
    -------
    changed
        Another map is wanted.
    """

    changed = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layer = self._selector(self.tr("Layer"))
        self._head = self._selector(self.tr("Head"))
        self._method = self._selector(self.tr("Put together"))
        self._method.addItem(self.tr("Mean"), "mean")
        self._method.addItem(self.tr("Maximum"), "max")
        self._method.setToolTip(self.tr("How the chosen layers, heads and tokens become one map"))
        self._sinks = QCheckBox(self.tr("Leave out sink patches"))
        self._sinks.setToolTip(
            self.tr("Patches that draw attention whatever is asked. The choice is written into the scores.")
        )
        self._sinks.toggled.connect(lambda _on: self.changed.emit())
        self._shares = label("", "muted", wrap=True)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(6)
        for line, (text, box) in enumerate(
            (
                (self.tr("Layer"), self._layer),
                (self.tr("Head"), self._head),
                (self.tr("Put together"), self._method),
            )
        ):
            grid.addWidget(label(text, "muted"), line, 0)
            grid.addWidget(box, line, 1)
        grid.addWidget(self._sinks, 3, 0, 1, 2)
        grid.addWidget(self._shares, 4, 0, 1, 2)
        grid.setColumnStretch(1, 1)
        self.set_trace(None)

    def set_trace(self, trace: AttentionTrace | None) -> None:
        """Offer the layers and heads of a trace; a choice that it has too is kept."""
        self.setEnabled(trace is not None)
        layers = () if trace is None else trace.layers
        heads = 0 if trace is None else trace.n_heads
        _refill(self._layer, self.tr("All layers"), [(str(n), n) for n in layers])
        _refill(self._head, self.tr("All heads"), [(str(k), k) for k in range(heads)])

    def choice(self, token: int) -> MapChoice:
        """Give the choice made, for one token or `ALL_TOKENS`."""
        layer, head = self._layer.currentData(), self._head.currentData()
        return MapChoice(
            method="max" if self._method.currentData() == "max" else "mean",
            layers=None if layer is None else (int(layer),),
            heads=None if head is None else (int(head),),
            tokens=None if token == ALL_TOKENS else (token,),
            sinks="drop" if self._sinks.isChecked() else "keep",
        )

    def set_shares(self, picture: float, text: float, sink: float) -> None:
        """Tell where the chosen attention went: shares of 1."""
        self._shares.setText(
            self.tr("On the chart {picture:.0%}, on text {text:.0%}, on the first token {sink:.0%}").format(
                picture=picture, text=text, sink=sink
            )
        )

    def _selector(self, name: str) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        box.currentIndexChanged.connect(lambda _index: self.changed.emit())
        return box


def _refill(box: QComboBox, everything: str, items: list[tuple[str, int]]) -> None:
    kept = box.currentData()
    box.blockSignals(True)
    box.clear()
    box.addItem(everything, None)
    for text, value in items:
        box.addItem(text, value)
    box.setCurrentIndex(max(0, box.findData(kept)) if kept is not None else 0)
    box.blockSignals(False)
