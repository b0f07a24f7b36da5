"""The scores of a map, never without what chance and the picture's centre score."""

from __future__ import annotations

import math

from PyQt6.QtCore import QCoreApplication, Qt
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from gazelab.metrics.agreement import Agreement


def _metrics() -> dict[str, tuple[str, str]]:
    """Score name → (label, what it is)."""
    tr = QCoreApplication.translate
    return {
        "nss": (
            tr("Scores", "NSS ↑"),
            tr("Scores", "Normalised scanpath saliency: the map's z value at the fixations"),
        ),
        "auc": (
            tr("Scores", "AUC ↑"),
            tr("Scores", "Area under the ROC curve, fixated cells against all cells; .5 is chance"),
        ),
        "cc": (tr("Scores", "CC ↑"), tr("Scores", "Pearson correlation with the fixation density")),
        "sim": (tr("Scores", "SIM ↑"), tr("Scores", "Overlap with the fixation density, 0 to 1")),
        "kld": (tr("Scores", "KLD ↓"), tr("Scores", "Kullback-Leibler divergence, nats; lower is closer")),
        "ig_bits": (
            tr("Scores", "IG ↑"),
            tr("Scores", "Information gain over the centre prior, bits per fixation"),
        ),
        "shuffled_auc": (
            tr("Scores", "sAUC ↑"),
            tr("Scores", "AUC against fixations of other charts"),
        ),
    }


class ScoresTable(QTableWidget):
    """One row a score; columns: the map, the baselines, the chance interval."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setColumnCount(5)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setTabKeyNavigation(False)  # Tab goes on to the next control; the arrows go from cell to cell
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.setAccessibleName(self.tr("Scores"))
        self.setHorizontalHeaderLabels(
            ["", self.tr("Map"), self.tr("Centre"), self.tr("Uniform"), self.tr("Chance 95 %")]
        )
        tips = (
            "",
            self.tr("The model's attention map as chosen above"),
            self.tr("Centre prior: a Gaussian at the chart's centre, the same for every chart"),
            self.tr("A flat map: what no knowledge at all scores"),
            self.tr("Middle 95 % of the same map shifted at random over the chart"),
        )
        for column, tip in enumerate(tips):
            item = self.horizontalHeaderItem(column)
            if item is not None:
                item.setToolTip(tip)
        head, side = self.horizontalHeader(), self.verticalHeader()
        if head is not None and side is not None:
            head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            head.setSectionResizeMode(4, QHeaderView.ResizeMode.Stretch)
            head.setHighlightSections(False)
            head.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            side.hide()
            side.setDefaultSectionSize(26)

    def set_scores(self, agreement: Agreement | None) -> None:
        """Show an agreement, or nothing."""
        self.setRowCount(0)
        if agreement is None:
            return
        names = {key: text for key, text in _metrics().items() if key in agreement.rows["map"]}
        self.setRowCount(len(names))
        for line, (key, (name, what)) in enumerate(names.items()):
            self._put(line, 0, name, what)
            for column, row in enumerate(("map", "centre", "uniform"), 1):
                why = agreement.undefined.get(row, {}).get(key, "")
                self._put(line, column, number(agreement.rows[row][key]), why or what, bold=column == 1)
            low, high = agreement.chance.get(key, (math.nan, math.nan))
            known = math.isfinite(low) and math.isfinite(high)
            self._put(line, 4, f"{number(low)} … {number(high)}" if known else "–", what)

    def _put(self, line: int, column: int, text: str, tip: str, bold: bool = False) -> None:
        item = QTableWidgetItem(text)
        side = Qt.AlignmentFlag.AlignLeft if column == 0 else Qt.AlignmentFlag.AlignRight
        item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
        item.setToolTip(tip)
        if bold:
            font = item.font()
            font.setBold(True)
            item.setFont(font)
        self.setItem(line, column, item)


def number(value: float) -> str:
    """Write a score with two decimals; a dash where it is undefined."""
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else "–"
