"""Quality of the trials in Replay: verdicts with reasons, and a person's decision with theirs."""

from __future__ import annotations

import logging
from collections.abc import Callable

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from gazelab.core.errors import GazelabError, SessionError
from gazelab.pipeline.quality_text import calibration_lines
from gazelab.pipeline.quality_verdict import Verdict
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.session_quality import (
    SessionQuality,
    TrialReport,
    assess,
    decide_trial,
    keep_quality,
)
from gazelab.ui.parts import Card, button, label, sentence
from gazelab.ui.quality_table import QualityTable, verdict_words
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace

log = logging.getLogger(__name__)

REASONS_PX = 132


class QualityTab(QWidget):
    """The trials of the session that is shown, what the limits say of them, and what a person says.

    Parameters
    ----------
    workspace : Workspace

    Signals
    -------
    trial_chosen : int
        Place of a trial that is to be shown.
    judged
        The verdicts are there, or have changed.
    """

    trial_chosen = pyqtSignal(int)
    judged = pyqtSignal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._work = workspace
        self._replay: Replay | None = None
        self._job: Job | None = None
        self._shown = 0
        self.quality: SessionQuality | None = None
        self.summary = label("", wrap=True)
        self.table = QualityTable()
        self.table.opened.connect(self.trial_chosen)
        self.table.looked_at.connect(lambda _row: self._show_reasons())
        self.reasons = label("", wrap=True)
        self.reasons.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.reasons.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.why = QLineEdit()
        self.why.setAccessibleName(self.tr("Reason of the decision"))
        self.why.setPlaceholderText(self.tr("Decide otherwise: why?"))
        self.why.setToolTip(
            self.tr("Written into the session with your verdict. The samples stay, and it can be taken back.")
        )
        self.why.textChanged.connect(lambda _text: self._enable())
        self._verdicts = [self._verdict_button(verdict) for verdict in Verdict]
        self._back = button(
            self.tr("Take back"), lambda: self._decide(None), self.tr("Follow the limits again")
        )
        self._lay_out()
        self.set_replay(None)

    def set_replay(self, replay: Replay | None) -> None:
        """Judge the trials of a session in the background, or show none."""
        self._replay, self.quality = replay, None
        if self._job is not None:
            self._job.cancel()
        self.table.show_reports(())
        self.why.clear()
        self._show_reasons()
        self.summary.setText("" if replay is None else self.tr("Looking at the gaze …"))
        if replay is not None:
            limits = self._work.settings.quality.limits
            self._run(self.tr("judging the gaze"), replay, lambda: assess(replay, limits))

    def show_trial(self, index: int) -> None:
        """Mark the trial that is shown."""
        self._shown = index
        if self.table.currentRow() != index and index < self.table.rowCount():
            self.table.setCurrentCell(index, 1)

    def verdict(self, index: int) -> str:
        """Give a trial's verdict in words; "" while it is not known."""
        trials = () if self.quality is None else self.quality.trials
        return verdict_words()[trials[index].verdict] if index < len(trials) else ""

    def _run(self, name: str, replay: Replay, work: Callable[[], SessionQuality]) -> None:
        def done(quality: SessionQuality) -> None:
            if self._replay is replay:  # else another session has been opened meanwhile
                self._show(quality)

        self._job = self._work.io.submit(name, lambda _job: work(), done, self._failed)

    def _show(self, quality: SessionQuality) -> None:
        self.quality = quality
        self.table.show_reports(quality.trials)
        if self.table.currentRow() < 0 and self.table.rowCount():
            self.table.setCurrentCell(min(self._shown, self.table.rowCount() - 1), 1)
        counts = self.tr("{keep} to keep, {review} to review, {exclude} to exclude").format(
            **{verdict.value: quality.count(verdict) for verdict in Verdict}
        )
        self.summary.setText("\n".join([counts, *calibration_lines(quality), *quality.concerns]))
        self._show_reasons()
        self.judged.emit()

    def _failed(self, fault: GazelabError) -> None:
        self._work.told.emit(sentence(fault), "bad")
        if self.quality is None:
            self.summary.setText(str(fault))
        self._enable()

    def _decide(self, verdict: Verdict | None) -> None:
        replay, quality, row = self._replay, self.quality, self.table.currentRow()
        if replay is None or quality is None or row < 0:
            return
        reason = self.why.text()
        self.table.setFocus()  # the buttons are about to be disabled, which would send the focus away
        self.why.clear()

        def work() -> SessionQuality:
            decided = decide_trial(replay, quality, row, verdict and verdict.value, reason)
            try:
                keep_quality(replay, decided)
            except SessionError as fault:
                log.warning("the quality report is not kept: %s", fault)
            return decided

        self._run(self.tr("writing the decision"), replay, work)

    def _show_reasons(self) -> None:
        report = self._report()
        if report is None:
            self.reasons.setText("")
        else:
            said = report.reasons or (self.tr("Nothing is beyond its limit."),)
            head = self.tr("Trial {n}: {verdict}").format(
                n=report.trial.index + 1, verdict=verdict_words()[report.verdict]
            )
            self.reasons.setText("\n".join([head, *(f"• {text}" for text in said)]))
        self._enable()

    def _enable(self) -> None:
        report = self._report()
        for box in self._verdicts:
            box.setEnabled(report is not None and bool(self.why.text().strip()))
        self.why.setEnabled(report is not None)
        self._back.setEnabled(report is not None and report.decision is not None)

    def _report(self) -> TrialReport | None:
        row = self.table.currentRow()
        trials = () if self.quality is None else self.quality.trials
        return trials[row] if 0 <= row < len(trials) else None

    def _verdict_button(self, verdict: Verdict) -> QPushButton:
        tip = self.tr("Decide so about this trial, for the reason that is written above")
        out = button(verdict_words()[verdict], lambda: self._decide(verdict), tip)
        out.setProperty("role", "small")
        return out

    def _lay_out(self) -> None:
        self._back.setProperty("role", "small")
        card = Card(self.tr("Quality of the gaze"))
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(self.reasons)
        scroll.setFixedHeight(REASONS_PX)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        decide = QHBoxLayout()
        decide.setSpacing(6)
        for box in (*self._verdicts, self._back):
            decide.addWidget(box)
        card.body.addWidget(self.summary)
        card.body.addWidget(self.table, 1)
        card.body.addWidget(scroll)
        card.body.addWidget(self.why)
        card.body.addLayout(decide)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 8, 0, 0)
        lines.addWidget(card)
