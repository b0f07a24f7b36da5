"""The trials of a session with their verdicts: coloured, and marked so that colour is not needed."""

from __future__ import annotations

from collections.abc import Sequence

from PyQt6.QtCore import QCoreApplication, QEvent, QModelIndex, Qt, pyqtSignal
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from gazelab.pipeline.quality_text import number, precision, share
from gazelab.pipeline.quality_verdict import Verdict
from gazelab.pipeline.session_quality import TrialReport
from gazelab.ui import theme

ROW_PX = 26


def verdict_words() -> dict[Verdict, str]:
    """Give each verdict with its mark."""
    tr = QCoreApplication.translate
    return {
        Verdict.KEEP: tr("Quality", "✓ Keep"),
        Verdict.REVIEW: tr("Quality", "? Review"),
        Verdict.EXCLUDE: tr("Quality", "✕ Exclude"),
    }


class QualityTable(QTableWidget):
    """One row a trial.

    Signals
    -------
    looked_at : int
        A row is current: its reasons are to be shown. -1 for none.
    opened : int
        A row was clicked, or Enter was pressed on it.
    """

    looked_at = pyqtSignal(int)
    opened = pyqtSignal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, 6, parent)
        self._reports: tuple[TrialReport, ...] = ()
        self.setAccessibleName(self.tr("Quality of each trial"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalHeaderLabels(
            [
                self.tr("No."),
                self.tr("Verdict"),
                self.tr("Lost"),
                self.tr("Rate"),
                self.tr("RMS"),
                self.tr("Fix."),
            ]
        )
        tips = {
            2: self.tr("Of the samples or of the time, whichever lost more; blinks included"),
            0: self.tr("The trial's place in the session"),
            3: self.tr("Measured: from the median step between samples"),
            4: self.tr("Precision: RMS of successive samples within fixations, median"),
            5: self.tr("Fixations, found offline: the set that scores use"),
        }
        for column, tip in tips.items():
            item = self.horizontalHeaderItem(column)
            if item is not None:
                item.setToolTip(tip)
        head, side = self.horizontalHeader(), self.verticalHeader()
        if head is not None and side is not None:
            head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            head.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
            head.setHighlightSections(False)
            side.hide()
            side.setDefaultSectionSize(ROW_PX)
        self.currentCellChanged.connect(lambda row, *_rest: self.looked_at.emit(row))
        self.cellClicked.connect(lambda row, _column: self.opened.emit(row))
        self.activated.connect(self._activated)

    def show_reports(self, reports: Sequence[TrialReport]) -> None:
        """Show the trials of a session; the current row stays if there is one."""
        row = self.currentRow()
        self._reports = tuple(reports)
        self.setRowCount(len(self._reports))
        self._fill()
        if 0 <= row < len(self._reports):
            self.looked_at.emit(row)

    def changeEvent(self, a0: QEvent | None) -> None:
        """Take over the theme's colours."""
        super().changeEvent(a0)
        if a0 is not None and a0.type() == QEvent.Type.PaletteChange:
            self._fill()

    def _activated(self, index: QModelIndex) -> None:
        self.opened.emit(index.row())

    def _fill(self) -> None:
        tokens, words = theme.current(), verdict_words()
        colours = {Verdict.KEEP: tokens.good, Verdict.REVIEW: tokens.warn, Verdict.EXCLUDE: tokens.bad}
        for row, report in enumerate(getattr(self, "_reports", ())):
            q = report.quality
            verdict = words[report.verdict] + (self.tr(" (hand)") if report.decision else "")
            tip = "\n".join(report.reasons) or self.tr("Nothing is beyond its limit.")
            cells = [
                str(row + 1),
                verdict,
                share(q.loss),
                number(q.rate_hz, "{:.0f} Hz"),
                precision(q.rms_s2s_deg, q.rms_s2s_px),
                str(q.n_fixations),
            ]
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setToolTip(tip)
                left = column == 1
                side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
                item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
                if left:
                    item.setForeground(QColor(colours[report.verdict]))
                    font = item.font()
                    font.setBold(True)
                    item.setFont(font)
                self.setItem(row, column, item)
