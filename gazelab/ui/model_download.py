"""Download a checkpoint: what it costs, its size from the hub, progress by bytes; stopped and resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PyQt6.QtCore import QSignalBlocker, Qt
from PyQt6.QtGui import QCloseEvent
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QLineEdit,
    QProgressBar,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gazelab.attention.catalogue import CATALOGUE, KnownCheckpoint
from gazelab.attention.hub import DownloadPlan, is_hub_name, plan_download, size_text
from gazelab.attention.hub_download import download
from gazelab.attention.memory_free import free_host_bytes
from gazelab.core.errors import GazelabError
from gazelab.ui.parts import button, label, row, sentence, set_role
from gazelab.ui.workers import Job, Worker

PARTS = 1000
"""Steps of the progress bar, which counts in whole numbers only."""
STOP_S = 1.0
"""How long the window waits for a connection that gives nothing; it ends at its next byte, or by itself."""
T = TypeVar("T")


class ModelDownload(QDialog):
    """A list of checkpoints for charts, a field for any other, and the download of one.

    Nothing is asked of the hub before its button is pressed. Accepted once the checkpoint is here: `name`.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Download a model"))
        self.resize(900, 560)
        self._worker = Worker("download")
        self._job: Job | None = None
        self.plan: DownloadPlan | None = None
        self.table = self._table()
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("owner/name of a checkpoint at the hub"))
        self.field.setAccessibleName(self.tr("Checkpoint"))
        self.field.textChanged.connect(lambda _text: self._show_plan(None))
        self.note = label("", "muted", wrap=True)
        self.bar = QProgressBar()
        self.bar.setRange(0, PARTS)
        self.bar.setTextVisible(False)
        self.look_up_button = button(
            self.tr("Ask for its size"), self.look_up, self.tr("Asks the hub for the list of its files.")
        )
        self.go_button = button(self.tr("Download"), self.start, primary=True)
        self.stop_button = button(
            self.tr("Stop"), self.stop, self.tr("What was fetched is kept; go on whenever you like.")
        )
        self.close_button = button(self.tr("Close"), self.reject)
        self._lay_out()
        self.table.itemSelectionChanged.connect(self._take_row)
        self.table.selectRow(0)

    @property
    def name(self) -> str:
        """The checkpoint in the field."""
        return self.field.text().strip()

    def look_up(self) -> None:
        """Ask the hub for the size; only when asked."""
        name = self.name
        self._run(self.tr("Asking the hub …"), lambda _job: plan_download(name), self._show_plan)

    def start(self) -> None:
        """Fetch what is missing."""
        plan = self.plan
        if plan is None:
            return

        def work(job: Job) -> Path:
            return download(plan, lambda _what, done, total: job.report((done, total)), job.check)

        self._run(self.tr("Downloading …"), work, lambda _folder: self.accept())

    def stop(self) -> None:
        """Stop what runs; a begun file stays."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self._say(self.tr("Stopped. What was fetched is kept: download again to go on."), "muted")
        self._enable()

    def done(self, a0: int) -> None:
        """Stop and wait for the thread before the dialog goes."""
        self._worker.stop(STOP_S)
        super().done(a0)

    def closeEvent(self, a0: QCloseEvent | None) -> None:
        """Stop and wait for the thread before the dialog goes."""
        self._worker.stop(STOP_S)
        super().closeEvent(a0)

    def _run(self, what: str, work: Callable[[Job], T], came: Callable[[T], None]) -> None:
        self._say(what, "muted")
        self._job = self._worker.submit(what, work, came, self._failed, self._progress)
        self._enable()

    def _progress(self, told: object) -> None:
        if isinstance(told, tuple):
            done, total = told
            self.bar.setValue(int(PARTS * done / max(1, total)))
            text = self.tr("{done} of {total}")
            self._say(text.format(done=size_text(done), total=size_text(total)), "muted")

    def _failed(self, fault: GazelabError) -> None:
        self._job = None
        self._say(sentence(fault), "bad")
        self._enable()

    def _show_plan(self, plan: DownloadPlan | None) -> None:
        """Say what would be fetched; None: it is not known yet."""
        self.plan, self._job = plan, None
        self.bar.setValue(0)
        if plan is None:
            self._say(self._known_note(), "muted")
        else:
            with QSignalBlocker(self.field):
                self.field.setText(plan.name)  # as the hub spells it
            self.bar.setValue(int(PARTS * plan.here_bytes / max(1, plan.total_bytes)))
            text = self.tr("{left} to fetch of {total}, into {folder}.")
            said = text.format(
                left=size_text(plan.left_bytes), total=size_text(plan.total_bytes), folder=plan.folder
            )
            self._say(said, "muted")
        self._enable()

    def _known_note(self) -> str:
        entry = next((entry for entry in CATALOGUE if entry.name == self.name), None)
        return entry.note if entry is not None else ""

    def _say(self, text: str, role: str) -> None:
        self.note.setText(text)
        set_role(self.note, role)

    def _enable(self) -> None:
        running = self._job is not None
        self.table.setEnabled(not running)
        self.field.setEnabled(not running)
        self.look_up_button.setEnabled(not running and is_hub_name(self.name))
        self.go_button.setEnabled(not running and self.plan is not None)
        self.stop_button.setEnabled(running)
        left = 0 if self.plan is None else self.plan.left_bytes
        text = self.tr("Download {size}").format(size=size_text(left)) if left else self.tr("Download")
        self.go_button.setText(text)

    def _take_row(self) -> None:
        rows = self.table.selectionModel()
        chosen = rows.selectedRows() if rows is not None else []
        if chosen:
            self.field.setText(CATALOGUE[chosen[0].row()].name)

    def _table(self) -> QTableWidget:
        headings = [
            self.tr("Model"),
            self.tr("Download"),
            self.tr("Memory"),
            self.tr("Tokens of a chart"),
            self.tr("CPU s a question"),
            self.tr("Fits"),
            self.tr("Here"),
        ]
        table = QTableWidget(len(CATALOGUE), len(headings))
        table.setAccessibleName(self.tr("Models for charts"))
        table.setHorizontalHeaderLabels(headings)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        for bar in (table.verticalHeader(), table.horizontalHeader()):
            if bar is not None:
                bar.setVisible(bar is table.horizontalHeader())
        if (head := table.horizontalHeader()) is not None:
            head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        free = free_host_bytes()
        for number, entry in enumerate(CATALOGUE):
            for column, text in enumerate(self._cells(entry, free)):
                cell = QTableWidgetItem(text)
                cell.setToolTip(entry.note)
                if column:
                    cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                table.setItem(number, column, cell)
        return table

    def _cells(self, entry: KnownCheckpoint, free: int | None) -> tuple[str, ...]:
        words = {True: self.tr("yes"), False: self.tr("no"), None: "?"}
        here = {"yes": self.tr("yes"), "begun": self.tr("begun"), "no": self.tr("no")}
        about = "" if entry.measured_seconds else "~"
        return (
            entry.name,
            size_text(entry.download_bytes),
            size_text(entry.memory_bytes),
            str(entry.chart_tokens),
            f"{about}{entry.seconds:.0f}",
            words[entry.fits(free)],
            here[entry.here],
        )

    def _lay_out(self) -> None:
        whole = QVBoxLayout(self)
        whole.setContentsMargins(20, 16, 20, 16)
        whole.setSpacing(10)
        lead = self.tr(
            "Sizes are about; the hub says the exact one before anything is fetched. Seconds are of one"
            " processor core and an answer of eight tokens; with ~ they are estimated, not measured."
        )
        whole.addWidget(label(lead, "lead", wrap=True))
        whole.addWidget(self.table, 1)
        whole.addLayout(row(self.field, self.look_up_button))
        whole.addWidget(self.note)
        whole.addWidget(self.bar)
        whole.addLayout(row(1, self.close_button, self.stop_button, self.go_button))
