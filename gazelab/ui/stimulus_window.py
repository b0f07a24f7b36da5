"""What a participant sees: question above, chart below, a field for the answer; nothing of the gaze.

The study decides what comes next and writes the markers; this window shows it, stamps the moment of showing,
and reads keys. A chart is laid out in physical px of its monitor, and that rectangle is what is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import StrEnum
from typing import ParamSpec

from PyQt6.QtCore import QCoreApplication, Qt, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QPainter, QResizeEvent, QScreen

from gazelab.core.errors import GazelabError, PictureError
from gazelab.core.gaze import SourceState
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.pipeline.drift import DriftOutcome
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sessions.markers import MarkerKind
from gazelab.sources.base import Clock
from gazelab.ui.answer_field import AnswerField
from gazelab.ui.drift_step import DriftPlan, DriftStep
from gazelab.ui.monitors import cover, device_corner
from gazelab.ui.step_window import StepWindow
from gazelab.ui.step_words import draw_words, paused_words, ready_words
from gazelab.ui.study_watch import StudyWatch
from gazelab.ui.trial_view import TrialView

log = logging.getLogger(__name__)

P = ParamSpec("P")


class Phase(StrEnum):
    """What is on the screen."""

    READY = "ready"
    CHECKING = "checking"
    READING = "reading"
    PAUSED = "paused"
    OVER = "over"


class StimulusWindow(StepWindow):
    """Runs one study on one monitor.

    Parameters
    ----------
    study : RecordingStudy
    monitor : QScreen
    clock : Clock
    plan : DriftPlan, optional
        When to check for drift; by default only when asked.

    Signals
    -------
    shown : Placement, int
        A chart is on since that time.
    checked : DriftOutcome
        A drift check came to that.
    stepped
        A trial began or ended.
    ended : str
        "" when all charts were shown, else why not.
    """

    shown = pyqtSignal(object, object)
    stepped = pyqtSignal()
    checked = pyqtSignal(object)
    ended = pyqtSignal(str)

    def __init__(
        self, study: RecordingStudy, monitor: QScreen, clock: Clock, plan: DriftPlan | None = None
    ) -> None:
        super().__init__(monitor, QCoreApplication.translate("StimulusWindow", "Reading"))
        self.phase = Phase.READY
        self._study = study
        self._clock = clock
        self._note = ""
        self._skipped = False
        self._picture: Picture | None = None
        self._trial: TrialView | None = None
        self._answer = AnswerField(self)
        self._answer.given.connect(self._answered)
        self._answer.skipped.connect(self._answered)
        self._answer.escaped.connect(self.escape)
        self._reads_next = False
        self.drift = DriftStep(study.acquisition, plan or DriftPlan(), clock, self)
        self.drift.decided.connect(self._write_check)
        self.drift.ended.connect(self._after_check)
        self.drift.changed.connect(self.update)
        self._watch = StudyWatch(study, self)
        self._watch.source_changed.connect(self._write_source)
        self._watch.failed.connect(self._finish)

    @property
    def placement(self) -> Placement | None:
        """Where the chart lies now, in physical px of the monitor."""
        return self._trial.placement if self._trial else None

    def run(self) -> None:
        """Show the first "ready" step."""
        cover(self, self._monitor)
        self._watch.start()
        self._go(Phase.READY)

    def pause(self, reason: str) -> None:
        """Take the chart off (it counts as skipped) and wait, even after the last: one key ends nothing."""
        if self.phase in (Phase.PAUSED, Phase.OVER):
            return
        self.drift.skip()
        self._skipped = self._study.state is StudyState.SHOWING
        self._guard(self._leave_trial, reason)
        self._guard(self._study.event, MarkerKind.PAUSE, self._clock(), reason=reason)
        self._go(Phase.PAUSED)

    def stop(self, why: str) -> None:
        """End the study here; what was recorded stays."""
        if self.phase is not Phase.OVER:
            self.drift.skip()
            self._guard(self._study.abort, self._clock())
            self._finish(why)

    def give(self, answer: str) -> None:
        """Answer in the participant's place, as if it had been typed."""
        self._answer.setText(answer)
        self._answer.give(skip=False)

    def ask_check(self) -> None:
        """Check for drift now, or before the next chart if one is on."""
        self.drift.asked = True
        waits = self._armed and self.phase in (Phase.READY, Phase.PAUSED)
        if waits and self._study.state is StudyState.READY:
            self._begin_check(reads_next=False)

    def fresh_key(self, key: int) -> None:
        """Space goes on, D checks for drift."""
        if self.phase is Phase.CHECKING:
            self.drift.key(key)
        elif key == Qt.Key.Key_Space and self.phase in (Phase.READY, Phase.PAUSED):
            self._next()
        elif key == Qt.Key.Key_D:
            self.ask_check()

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Lay the chart out anew and log its new rectangle."""
        self._relayout()

    def draw_step(self, painter: QPainter) -> None:
        """Draw the chart, the drift check's target, or words."""
        if self.phase is Phase.READING and self._trial is not None:
            self._trial.draw(painter, self.font())
        elif self.phase is Phase.CHECKING and not self.drift.refused:
            self.drift.draw(painter, device_corner(self, self._monitor), self.devicePixelRatioF())
        else:
            draw_words(painter, self.rect(), self.font(), self._words())

    def closeEvent(self, a0: QCloseEvent | None) -> None:
        """Stop the study when the window is closed from outside."""
        self.stop(self.tr("The reading window was closed."))
        super().closeEvent(a0)

    def _words(self) -> str:
        if self.phase is Phase.CHECKING:
            return self.drift.words()
        study = self._study
        if self.phase is Phase.PAUSED:
            return paused_words(self._note, study.index + 1, len(study.charts), skipped=self._skipped)
        return ready_words(study.index + 1, len(study.charts), self.drift.due(study.index))

    def _go(self, phase: Phase) -> None:
        """Change the step, unless all is over; keys count only once it has been drawn."""
        if self.phase is Phase.OVER:
            return
        self.phase = phase
        self._answer.armed = False
        self._answer.clear()
        self._answer.setVisible(phase is Phase.READING)
        self.begin_step()
        (self._answer if phase is Phase.READING else self).setFocus()
        self._relayout()
        self.stepped.emit()

    def _next(self) -> None:
        if self._study.state is StudyState.READY and self.drift.due(self._study.index):
            self._begin_check(reads_next=True)
        else:
            self._read()

    def _resume(self) -> None:
        if self.phase is Phase.PAUSED:
            self._guard(self._study.event, MarkerKind.RESUME, self._clock())
        self._note = ""
        self._trial = None

    def _read(self) -> None:
        self._resume()
        while self._study.state is StudyState.READY:
            try:
                self._picture = self._study.prepare()
            except PictureError as fault:
                self._guard(self._study.skip_broken, self._clock(), str(fault))
                continue
            except GazelabError as fault:
                self._finish(str(fault))
                return
            self._go(Phase.READING)
            return
        self._finish("")

    def _begin_check(self, *, reads_next: bool) -> None:
        self._resume()
        self._reads_next = reads_next
        self._go(Phase.CHECKING)

    def _write_check(self, outcome: DriftOutcome) -> None:
        self.drift.done(self._study.index)
        self._guard(self._study.drift_check, outcome, self._clock())
        self.checked.emit(outcome)
        self.update()

    def _after_check(self) -> None:
        if self.phase is Phase.OVER:
            return
        if self._reads_next:
            self._read()
        else:
            self._go(Phase.READY)

    def step_is_on(self) -> None:
        """Stamp the chart's onset, or begin the check."""
        self._answer.armed = True
        placement = self.placement
        if self.phase is Phase.CHECKING and self._focused:
            self.drift.begin()
        if self.phase is Phase.READING and placement is not None:
            time_ns = self._clock()
            self._guard(self._study.show, placement, time_ns)
            self.shown.emit(placement, time_ns)
            self.stepped.emit()

    def _answered(self, text: str = "") -> None:
        if text:
            self._guard(self._study.answer, text, self._clock())
        else:
            self._guard(self._study.skip, self._clock(), "no answer")
        if self.phase is Phase.OVER:
            return
        if self._study.state is StudyState.DONE:
            self._finish("")
        else:
            self._go(Phase.READY)

    def escape(self) -> None:
        """Pause; in a pause, stop."""
        if self.phase is Phase.PAUSED and self._study.state is StudyState.DONE:
            self._read()  # nothing was left out: this is no stop before the end
        elif self.phase is Phase.PAUSED:
            self.stop(self.tr("Stopped by the Esc key; what was recorded is saved."))
        else:
            self._note = self.tr("Paused.")
            self.pause("esc")

    def _leave_trial(self, reason: str) -> None:
        if self._study.state is StudyState.SHOWING:
            self._study.skip(self._clock(), reason)

    def focus_is(self, active: bool) -> None:
        """Log it when another window takes the keyboard, and when it comes back."""
        kind = MarkerKind.FOCUS_BACK if active else MarkerKind.FOCUS_LOST
        self._guard(self._study.event, kind, self._clock())
        if active and self.phase is Phase.READING:
            self._answer.setFocus()
        if self.phase is Phase.CHECKING and self._armed and self.drift.looks:
            # Eyes on another window were not on the target.
            (self.drift.begin if active else self.drift.hold)()

    def monitor_changed(self, why: str) -> None:
        """Pause: the chart is not where it was, or on no screen at all."""
        unplugged = why == "monitor unplugged"
        self._note = (
            self.tr("The monitor was unplugged.")
            if unplugged
            else self.tr("The screen's resolution changed; the calibration no longer fits.")
        )
        self.pause(why)

    def _write_source(self, state: SourceState) -> None:
        self._guard(self._study.event, MarkerKind.SOURCE_STATE, self._clock(), state=state.value)

    def _guard(self, step: Callable[P, None], *values: P.args, **more: P.kwargs) -> None:
        """Do a step of the study; a fault of the disk ends it with a sentence."""
        try:
            step(*values, **more)
        except GazelabError as fault:
            log.error("the study stopped: %s", fault)
            self._finish(str(fault))

    def _finish(self, why: str) -> None:
        if self.phase is Phase.OVER:
            return
        self.phase = Phase.OVER
        self._watch.stop()
        self.drift.stop()
        self.let_go()
        self.ended.emit(why)
        self.close()

    def _relayout(self) -> None:
        chart = self._study.current
        if self._picture is None or chart is None or self.phase is not Phase.READING:
            return
        dpr = self.devicePixelRatioF()
        extent = Screen(self._monitor.name(), round(self.width() * dpr), round(self.height() * dpr))
        corner = device_corner(self, self._monitor)
        before = self.placement
        self._trial = TrialView(self._picture, chart.question, extent, corner, dpr)
        self._answer.setGeometry(self._trial.answer_box(48))
        placement = self._trial.placement
        if self._study.state is StudyState.SHOWING and before != placement:
            self._guard(self._study.moved, placement, self._clock())
