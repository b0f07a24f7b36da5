"""The validation in numbers, per target and overall, in degrees and px (after Dunn et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PyQt6.QtCore import QCoreApplication, Qt
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from gazelab.calibration.validation import TargetValidation, Validation

NO_DATA = "–"
ROW_PX = 20
LENGTHS = (1, 2, 3)
"""Columns with degrees and px, which take what room there is."""


def table_head() -> list[str]:
    """Give the columns' names."""
    tr = QCoreApplication.translate
    return [
        tr("ResultTable", "Target"),
        tr("ResultTable", "Accuracy"),
        tr("ResultTable", "RMS-S2S"),
        tr("ResultTable", "SD"),
        tr("ResultTable", "Loss"),
        tr("ResultTable", "Samples"),
    ]


def table_rows(validation: Validation) -> list[list[str]]:
    """Give one row for each validation target, and the overall one last; what is unknown is a dash."""
    overall = QCoreApplication.translate("ResultTable", "Overall")
    rows = [
        [f"V{t.index + 1}", *_measures(t), str(t.n_samples) if t.n_samples else NO_DATA]
        for t in sorted(validation.targets, key=lambda t: t.index)
    ]
    n = sum(t.n_samples for t in validation.targets)
    rate = f", {validation.rate_hz:.0f} Hz" if math.isfinite(validation.rate_hz) else ""
    return [*rows, [overall, *_measures(validation), f"{n}{rate}" if n else NO_DATA]]


def _measures(of: TargetValidation | Validation) -> list[str]:
    loss = f"{of.data_loss:.0%}" if math.isfinite(of.data_loss) else NO_DATA
    return [
        both(of.accuracy_deg, of.accuracy_px),
        both(of.rms_s2s_deg, of.rms_s2s_px),
        both(of.sd_deg, of.sd_px),
        loss,
    ]


def both(deg: float, px: float) -> str:
    """Write a length in degrees and px, in px alone without a screen's size, or as a dash."""
    if not math.isfinite(px):
        return NO_DATA
    return f"{deg:.2f}° · {px:.0f} px" if math.isfinite(deg) else f"{px:.0f} px"


class ResultTable(QTableWidget):
    """Shows a validation; nothing can be changed in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(table_head()), parent)
        self.setAccessibleName(self.tr("Validation in numbers"))
        self.setHorizontalHeaderLabels(table_head())
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setShowGrid(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        side, head = self.verticalHeader(), self.horizontalHeader()
        if side is not None and head is not None:
            side.hide()
            side.setMinimumSectionSize(ROW_PX)
            side.setDefaultSectionSize(ROW_PX)
            head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            for column in LENGTHS:
                head.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
            head.setSectionsClickable(False)
        self.set_validation(None)

    def set_validation(self, validation: Validation | None) -> None:
        """Show another one, or none."""
        rows = [] if validation is None else table_rows(validation)
        self.setRowCount(len(rows))
        for row, texts in enumerate(rows):
            for col, text in enumerate(texts):
                self.setItem(row, col, _item(text, bold=row == len(rows) - 1))
        head = self.horizontalHeader()
        self.setFixedHeight(len(rows) * ROW_PX + (head.sizeHint().height() if head is not None else 0) + 4)
        self.setVisible(bool(rows))

    def texts(self) -> Sequence[Sequence[str]]:
        """Give what is shown, row by row."""
        return [
            [item.text() if (item := self.item(row, col)) else "" for col in range(self.columnCount())]
            for row in range(self.rowCount())
        ]


def _item(text: str, *, bold: bool) -> QTableWidgetItem:
    item = QTableWidgetItem(text)
    item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
    font = item.font()
    font.setBold(bold)
    item.setFont(font)
    return item
