"""What stands beside the charts in Replay: one tab a subject, the model's attention first."""

from __future__ import annotations

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from gazelab.metrics.agreement import Agreement
from gazelab.ui.map_controls import MapControls
from gazelab.ui.model_choice import ModelChoice
from gazelab.ui.parts import Card, label
from gazelab.ui.scores_table import ScoresTable

PANEL_WIDTH = 404


class ReplaySide(QTabWidget):
    """Tabs of a fixed width; `addTab(widget, title)` adds a subject."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(PANEL_WIDTH)
        self.setDocumentMode(True)
        bar = self.tabBar()
        if bar is not None:
            bar.setDrawBase(False)
        self.setAccessibleName(self.tr("Beside the charts"))


class AttentionTab(QWidget):
    """Which model and map, and how well the map agrees with the fixations.

    Parameters
    ----------
    model : str
        The model that is chosen first.

    Signals
    -------
    model_changed
        Another model is wanted.
    map_changed
        Another map of the same trace is wanted.
    """

    model_changed = pyqtSignal()
    map_changed = pyqtSignal()

    def __init__(self, model: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model_choice = ModelChoice(model)
        self.model_choice.changed.connect(lambda _name: self.model_changed.emit())
        self.controls = MapControls()
        self.controls.changed.connect(self.map_changed)
        self.scores = ScoresTable()
        self._note = label("", "muted", wrap=True)
        maps = Card(self.tr("Attention map"))
        maps.body.addWidget(self.model_choice)
        maps.body.addWidget(self.controls)
        scores = Card(self.tr("Agreement with the fixations"))
        scores.body.addWidget(self.scores, 1)
        scores.body.addWidget(self._note)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 8, 0, 0)
        lines.setSpacing(12)
        lines.addWidget(maps)
        lines.addWidget(scores, 1)

    def clear(self) -> None:
        """Show that there is no map and no score yet."""
        self.controls.set_trace(None)
        self.set_scores(None)

    def set_scores(self, agreement: Agreement | None) -> None:
        """Show an agreement and what one must know to read it, or nothing."""
        self.scores.set_scores(agreement)
        if agreement is None:
            self._note.setText("")
            return
        sigma = agreement.how.get("sigma_deg")
        blur = self.tr("{deg:.1f}°").format(deg=sigma) if isinstance(sigma, float) else agreement.how["sigma"]
        text = self.tr("{n} fixations on the chart, {dropped} beside it. Density blurred by {sigma}.")
        self._note.setText(text.format(n=agreement.n_fixations, dropped=agreement.n_dropped, sigma=blur))
