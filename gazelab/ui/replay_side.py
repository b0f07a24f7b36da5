"""What stands beside the charts in Replay of the model's attention: its map, and how well it agrees."""

from __future__ import annotations

import math

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gazelab.metrics.agreement import Agreement
from gazelab.ui.look_panel import LookPanel
from gazelab.ui.model_choice import ModelChoice
from gazelab.ui.parts import Card, button, label
from gazelab.ui.scores_table import ScoresTable, number
from gazelab.ui.side_tabs import scrolled


class AttentionTab(QWidget):
    """Which model and map, and in one line how well the map agrees with the fixations.

    Parameters
    ----------
    model : str
        The model that is chosen first.

    Signals
    -------
    model_changed
        Another model is wanted.
    scores_asked
        The user wants to see all scores.
    """

    model_changed = pyqtSignal()
    scores_asked = pyqtSignal()

    def __init__(self, model: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model_choice = ModelChoice(model)
        self.model_choice.changed.connect(lambda _name: self.model_changed.emit())
        self.panel = LookPanel(self.model_choice)
        self._agreement = label("", "muted", wrap=True)
        more = button(self.tr("Scores"), self.scores_asked.emit, self.tr("All scores beside chance"))
        more.setProperty("role", "small")
        line = QHBoxLayout()
        line.addWidget(self._agreement, 1)
        line.addWidget(more)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.addWidget(scrolled(self.panel, stretch=0), 1)
        lines.addLayout(line)

    def clear(self) -> None:
        """Show that there is no map and no score yet."""
        self.panel.clear()
        self.set_agreement(None)

    def set_agreement(self, agreement: Agreement | None) -> None:
        """Give one score beside what chance gives, or nothing."""
        if agreement is None:
            self._agreement.setText(self.tr("Agreement with the fixations: –"))
            return
        low, high = agreement.chance.get("nss", (math.nan, math.nan))
        text = self.tr("Agreement with the fixations: NSS {nss} (chance 95 %: {low} … {high})")
        said = text.format(nss=number(agreement.rows["map"]["nss"]), low=number(low), high=number(high))
        self._agreement.setText(said)


class ScoresTab(QWidget):
    """How well the map agrees with the fixations, beside what chance gives."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scores = ScoresTable()
        self._note = label("", "muted", wrap=True)
        card = Card(self.tr("Agreement with the fixations"))
        card.body.addWidget(self.scores, 1)
        card.body.addWidget(self._note)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 8, 0, 0)
        lines.addWidget(card, 1)

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
