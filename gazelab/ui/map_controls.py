"""By which method, of which view, and with or without sink patches a map is made."""

from __future__ import annotations

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from gazelab.attention.base import looking_head
from gazelab.attention.combined import ALL_VIEWS
from gazelab.core.attention import AttentionTrace
from gazelab.ui.look import Pick
from gazelab.ui.method_choice import MethodChoice
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
        self.method = MethodChoice()
        self.method.changed.connect(self.changed)
        self._view = QComboBox()
        self._view.setAccessibleName(self.tr("View"))
        self._view.setToolTip(self.tr("Through which of its views of the chart the model looked"))
        self._view.currentIndexChanged.connect(lambda _index: self.changed.emit())
        self._view_row = QWidget()
        self._layer: int | None = None
        self._head: int | None = None
        self._by_hand = False
        self._sinks = QCheckBox(self.tr("Leave out sink patches"))
        self._sinks.setToolTip(
            self.tr("Patches that draw attention whatever is asked. The choice is written into the scores.")
        )
        self._sinks.toggled.connect(lambda _on: self.changed.emit())
        self._lay_out()
        self.set_trace(None)

    def set_trace(self, trace: AttentionTrace | None) -> None:
        """Offer the layers, heads and views of a trace; a choice that it has too is kept.

        Until somebody chooses, the head that the model's card names is chosen, if it names one.
        """
        self.setEnabled(trace is not None)
        if trace is None:
            return
        if not self._by_hand:
            self._layer, self._head = looking_head(trace.made_with) or (None, None)
        if self._layer not in trace.layers:
            self._layer = None
        if self._head is not None and self._head >= trace.n_heads:
            self._head = None
        self._fill_views(trace)

    def pick(self) -> Pick:
        """Give what is chosen, all tokens."""
        return Pick(
            layer=self._layer,
            head=self._head,
            method=self.method.name,
            view=str(self._view.currentData() or ALL_VIEWS),
            drop_sinks=self._sinks.isChecked(),
        )

    def choose(self, layer: int | None, head: int | None) -> None:
        """Choose a layer and a head, None for all, and tell it."""
        self._layer, self._head, self._by_hand = layer, head, True
        self.changed.emit()

    def choose_view(self, name: str) -> None:
        """Choose a view, or `ALL_VIEWS`."""
        self._view.setCurrentIndex(self._view.findData(name))

    def _fill_views(self, trace: AttentionTrace) -> None:
        kept = self._view.currentData()
        self._view.blockSignals(True)
        self._view.clear()
        self._view.addItem(self.tr("all views together"), ALL_VIEWS)
        for view in trace.views:
            self._view.addItem(view.name, view.name)
        self._view.setCurrentIndex(max(0, self._view.findData(kept)))
        self._view.blockSignals(False)
        self._view_row.setVisible(len(trace.views) > 1)

    def _lay_out(self) -> None:
        line = QHBoxLayout(self._view_row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(label(self.tr("View"), "muted"))
        line.addWidget(self._view, 1)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(6)
        lines.addWidget(self.method)
        lines.addWidget(self._view_row)
        lines.addWidget(self._sinks)
