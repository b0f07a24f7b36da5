"""Record: charts are shown to the participant one by one; gaze and answers go to disk."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path

from PyQt6.QtCore import QSignalBlocker, QTimer, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QProgressBar, QSpinBox, QVBoxLayout, QWidget

from gazelab.calibration.targets import Target
from gazelab.core.errors import GazelabError
from gazelab.core.geometry import Placement
from gazelab.pipeline.drift import DriftOutcome
from gazelab.pipeline.study import RecordingStudy
from gazelab.ui.chart_choice import ChartChoice
from gazelab.ui.drift_choice import DriftChoice
from gazelab.ui.drift_step import drift_plan
from gazelab.ui.drift_text import outcome_text, role_of
from gazelab.ui.monitors import monitors
from gazelab.ui.operator_view import OperatorView
from gazelab.ui.parts import Card, Page, button, label, set_role
from gazelab.ui.stimulus_window import StimulusWindow
from gazelab.ui.workspace import Workspace

REFRESH_MS = 100
DEFAULT_TRIALS = 4


class RecordPage(Page):
    """Prepare and run one recording.

    Signals
    -------
    recorded : Path
        A session was closed.
    """

    recorded = pyqtSignal(object)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_head(
            self.tr("Record"),
            self.tr(
                "The participant sees question and chart full screen; nothing of the gaze is shown there."
            ),
        )
        self._work = workspace
        self.stimulus: StimulusWindow | None = None
        self.study: RecordingStudy | None = None
        self._wanted = DEFAULT_TRIALS
        self.charts = ChartChoice(workspace)
        self.charts.loaded.connect(self._charts_loaded)
        self._count = QSpinBox()
        self._count.setRange(1, 1)
        self._count.setAccessibleName(self.tr("How many charts"))
        self._shuffle = QCheckBox(self.tr("In random order"))
        self.drift = DriftChoice(workspace)
        self.drift.asked.connect(self._ask_check)
        self._name = QLineEdit("reading")
        self._name.setAccessibleName(self.tr("Name of the session"))
        self._override = QCheckBox(self.tr("Record without a valid calibration"))
        self._override.setToolTip(self.tr("Written into the session: its gaze is then not for datasets."))
        self._override.toggled.connect(self._set_override)
        self._gate = label("", "muted", wrap=True)
        self._begin = button(self.tr("Start recording"), self.begin, self.tr("Ctrl+Enter"), primary=True)
        self._stop = button(self.tr("Stop and save"), self._stop_now)
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._told = label("", wrap=True)
        self.operator = OperatorView(workspace)
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._refresh_live)
        self._lay_out()
        workspace.changed.connect(self._refresh)
        self._refresh()

    @property
    def running(self) -> bool:
        """Whether a recording runs."""
        return self.stimulus is not None

    def enter(self) -> None:
        """Read the charts and show live gaze."""
        if not self.charts.items:
            self.charts.load(self.charts.where)
        self._timer.start()
        self._refresh()

    def leave(self) -> None:
        """Stop drawing live gaze; a recording goes on."""
        if not self.running:
            self._timer.stop()

    def next_step(self) -> None:
        """Do what Ctrl+Enter does."""
        self._begin.click()

    def set_trials(self, n: int) -> None:
        """Choose how many charts are shown, of these and of the next set."""
        self._wanted = n
        self._count.setValue(n)

    def begin(self) -> None:
        """Create the session and show the first step to the participant."""
        work, monitor = self._work, self._work.monitor
        if self.running or monitor is None or work.acquisition is None or not self.charts.items:
            return
        items = list(self.charts.items)
        if self._shuffle.isChecked():
            random.shuffle(items)
        plan = drift_plan(work, self.drift.every)
        settings = {"drift_check": {"every": plan.schedule.every, **asdict(plan.limits)}}
        try:
            writer = work.start_session(self._name.text().strip(), for_dataset=True, settings=settings)
            study = RecordingStudy(items[: self._count.value()], writer, work.acquisition)
        except GazelabError as fault:
            work.end_session()
            work.told.emit(str(fault), "bad")
            return
        self.study = study
        self.stimulus = StimulusWindow(study, monitor, work.clock, plan)
        self.stimulus.stepped.connect(self._stepped)
        self.stimulus.ended.connect(self._ended)
        self.stimulus.shown.connect(self._shown)
        self.stimulus.checked.connect(self._checked)
        self.stimulus.drift.target_shown.connect(self._look_at)
        self.operator.start(study, second_screen=len(monitors()) > 1)
        self._refresh()
        self.stimulus.run()

    def _stop_now(self) -> None:
        if self.stimulus is not None:
            self.stimulus.stop(self.tr("Stopped by the operator; what was recorded is saved."))

    def _shown(self, placement: Placement, time_ns: int) -> None:
        work, screen = self._work, self._work.screen
        chart = None if self.study is None else self.study.current
        if chart is not None and screen is not None:
            work.driver.read(work.source, chart, placement, screen, time_ns)

    def _look_at(self, target: Target, time_ns: int) -> None:
        self._work.driver.look_at(self._work.source, target, time_ns)

    def _ask_check(self) -> None:
        if self.stimulus is not None:
            self.stimulus.ask_check()

    def _checked(self, outcome: DriftOutcome) -> None:
        if self.study is not None:
            self.operator.tell_drift(outcome, self.study.index)
        self._work.told.emit(outcome_text(outcome), role_of(outcome))

    def _stepped(self) -> None:
        if self.study is not None:
            self.operator.step(self.study)
            self._progress.setMaximum(len(self.study.charts))
            self._progress.setValue(self.study.index)
            number, total = min(self.study.index + 1, len(self.study.charts)), len(self.study.charts)
            self._told.setText(self.tr("Recording: chart {n} of {total}").format(n=number, total=total))
            set_role(self._told, "good")

    def _ended(self, why: str) -> None:
        window, study, self.stimulus, self.study = self.stimulus, self.study, None, None
        if window is not None:
            window.deleteLater()
        self.operator.end()
        path: Path | None = self._work.end_session()
        self._refresh()
        if path is None:
            return
        told = [why, self.tr("Saved as {name}.").format(name=path.name)]
        if study is not None and study.broken:
            missing = self.tr("Not shown: {n} of {total} charts ({why})")
            told.append(
                missing.format(n=len(study.broken), total=len(study.charts), why=" ".join(study.broken))
            )
        role = "warn" if why or len(told) > 2 else "good"
        self._told.setText(" ".join(told).strip())
        set_role(self._told, role)
        self._work.told.emit(self._told.text(), role)
        self.recorded.emit(path)

    def _set_override(self, on: bool) -> None:
        self._work.override("recorded without a valid calibration" if on else "")

    def _charts_loaded(self) -> None:
        n = len(self.charts.items)
        self._count.setRange(1, max(1, n))
        self._count.setValue(min(self._wanted, max(1, n)))
        self._refresh()

    def _refresh(self) -> None:
        why, work = self._work.may_record(), self._work
        self._override.setVisible(work.needs_calibration and work.profile is None)
        # Another participant or a new calibration takes it back: the box must not go on showing it.
        with QSignalBlocker(self._override):
            self._override.setChecked(work.overridden)
        self._begin.setEnabled(not why and bool(self.charts.items) and not self.running)
        self._stop.setEnabled(self.running)
        self.drift.refresh(running=self.running)
        text = self.tr("Participant {code}.") if self.running else self.tr("Ready for participant {code}.")
        self._gate.setText(why or text.format(code=work.participant))
        set_role(self._gate, "warn" if why or (not work.profile and work.needs_calibration) else "good")

    def _refresh_live(self) -> None:
        self.operator.refresh()

    def _lay_out(self) -> None:
        what = Card(self.tr("Charts"))
        what.body.addWidget(self.charts)
        line = QHBoxLayout()
        line.addWidget(label(self.tr("How many"), "muted"))
        line.addWidget(self._count)
        line.addWidget(self._shuffle)
        line.addStretch(1)
        what.body.addLayout(line)
        what.body.addWidget(self.drift)
        session = Card(self.tr("Session"))
        line = QHBoxLayout()
        line.addWidget(label(self.tr("Name"), "muted"))
        line.addWidget(self._name, 1)
        session.body.addLayout(line)
        session.body.addWidget(self._gate)
        session.body.addWidget(self._override)
        session.body.addStretch(1)
        session.body.addWidget(self._told)
        session.body.addWidget(self._progress)
        keys = self.tr(
            "The participant's keys: Space shows the chart, typing and Enter answers, D between charts checks"
            " for drift, Esc skips the chart and pauses, Esc again stops."
        )
        session.body.addWidget(label(keys, "muted", wrap=True))
        left = QVBoxLayout()
        left.setSpacing(12)
        left.addWidget(what)
        left.addWidget(session, 1)
        watch = Card(self.tr("Operator's view"))
        watch.body.addWidget(self.operator, 1)
        sides = QHBoxLayout()
        sides.setSpacing(12)
        sides.addLayout(left, 2)
        sides.addWidget(watch, 5)
        self.body.addLayout(sides, 1)
        self.foot.addStretch(1)
        self.foot.addWidget(self._stop)
        self.foot.addWidget(self._begin)
