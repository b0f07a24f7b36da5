"""How layers, heads and tokens become one map, of which view, with or without sink patches."""

from __future__ import annotations

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QWidget

from gazelab.core.attention import AttentionTrace
from gazelab.ui.look import ALL_VIEWS, Pick, Together
from gazelab.ui.parts import label


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
        self._method = self._selector(self.tr("Put together"))
        self._method.addItem(self.tr("Mean"), Together.MEAN)
        self._method.addItem(self.tr("Maximum"), Together.MAX)
        self._method.setToolTip(self.tr("How the chosen layers, heads and tokens become one map"))
        self._view = self._selector(self.tr("View"))
        self._view.setToolTip(self.tr("Through which of its views of the chart the model looked"))
        self._view_label = label(self.tr("View"), "muted")
        self._layer: int | None = None
        self._head: int | None = None
        self._sinks = QCheckBox(self.tr("Leave out sink patches"))
        self._sinks.setToolTip(
            self.tr("Patches that draw attention whatever is asked. The choice is written into the scores.")
        )
        self._sinks.toggled.connect(lambda _on: self.changed.emit())
        self._lay_out()
        self.set_trace(None)

    def set_trace(self, trace: AttentionTrace | None) -> None:
        """Offer the layers, heads and views of a trace; a choice that it has too is kept."""
        self.setEnabled(trace is not None)
        if trace is None:
            return
        if self._layer not in trace.layers:
            self._layer = None
        if self._head is not None and self._head >= trace.n_heads:
            self._head = None
        self._fill_views(trace)

    def pick(self) -> Pick:
        """Give what is chosen, all tokens."""
        view = self._view.currentData()
        return Pick(
            layer=self._layer,
            head=self._head,
            together=Together(self._method.currentData()),
            view=0 if view is None else int(view),
            drop_sinks=self._sinks.isChecked(),
        )

    def choose(self, layer: int | None, head: int | None) -> None:
        """Choose a layer and a head, None for all, and tell it."""
        self._layer, self._head = layer, head
        self.changed.emit()

    def _fill_views(self, trace: AttentionTrace) -> None:
        names = [view.name for view in trace.views]
        kept = self._view.currentText()
        self._view.blockSignals(True)
        self._view.clear()
        for index, name in enumerate(names):
            self._view.addItem(name, index)
        if len(names) > 1:
            self._view.addItem(self.tr("all views together"), ALL_VIEWS)
        self._view.setCurrentIndex(max(0, self._view.findText(kept)))
        self._view.blockSignals(False)
        for widget in (self._view, self._view_label):
            widget.setVisible(len(names) > 1)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(6)
        for line, (text, box) in enumerate(
            ((label(self.tr("Method"), "muted"), self._method), (self._view_label, self._view))
        ):
            grid.addWidget(text, line, 0)
            grid.addWidget(box, line, 1)
        grid.addWidget(self._sinks, 2, 0, 1, 2)
        grid.setColumnStretch(1, 1)

    def _selector(self, name: str) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        box.currentIndexChanged.connect(lambda _index: self.changed.emit())
        return box
