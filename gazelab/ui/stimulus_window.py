"""What a participant sees: question above, chart below, a field for the answer; nothing of the gaze.

The study decides what comes next and writes the markers; this window shows it, stamps the moment of showing,
and reads keys. A chart is laid out in physical px of its monitor, and that rectangle is what is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import StrEnum
from typing import ParamSpec

from PyQt6.QtCore import QEvent, QObject, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import (
    QCloseEvent,
    QColor,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QScreen,
)
from PyQt6.QtWidgets import QLineEdit, QWidget

from gazelab.core.errors import GazelabError, PictureError
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sessions.markers import MarkerKind
from gazelab.sources.base import Clock
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.monitors import cover, device_corner
from gazelab.ui.trial_view import INK, TrialView

log = logging.getLogger(__name__)

WATCH_MS = 200
P = ParamSpec("P")


class Phase(StrEnum):
    """What is on the screen."""

    READY = "ready"
    READING = "reading"
    PAUSED = "paused"
    OVER = "over"


class StimulusWindow(QWidget):
    """Runs one study on one monitor.

    Parameters
    ----------
    study : RecordingStudy
    monitor : QScreen
    clock : Clock

    Signals
    -------
    shown : Placement, int
        A chart is on since that time.
    stepped
        A trial began or ended.
    ended : str
        "" when all charts were shown, else why not.
    """

    shown = pyqtSignal(object, object)
    stepped = pyqtSignal()
    ended = pyqtSignal(str)

    def __init__(self, study: RecordingStudy, monitor: QScreen, clock: Clock) -> None:
        super().__init__(None, Qt.WindowType.Window | Qt.WindowType.FramelessWindowHint)
        self.setWindowTitle(self.tr("Reading"))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.phase = Phase.READY
        self._study = study
        self._monitor = monitor
        self._clock = clock
        self._note = ""
        self._step = 0
        self._armed = False
        self._key_down = False
        self._focused = True
        self._picture: Picture | None = None
        self._trial: TrialView | None = None
        self._source_state = study.acquisition.state
        self._answer = QLineEdit(self)
        self._answer.setStyleSheet(
            "QLineEdit { background: white; color: #14181e; border: 2px solid #14181e; border-radius: 6px;"
            " padding: 4px 10px; font-size: 22px; }"
        )
        self._answer.setPlaceholderText(self.tr("Your answer, then Enter"))
        self._answer.setAccessibleName(self.tr("Your answer"))
        self._answer.installEventFilter(self)
        self._answer.hide()
        self._watch = QTimer(self)
        self._watch.setInterval(WATCH_MS)
        self._watch.timeout.connect(self._look_after)
        monitor.geometryChanged.connect(self._geometry_changed)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.screenRemoved.connect(self._screen_removed)

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
        """Take the chart off (it counts as skipped) and wait."""
        if self.phase in (Phase.PAUSED, Phase.OVER):
            return
        self._guard(self._leave_trial, reason)
        self._guard(self._study.event, MarkerKind.PAUSE, self._clock(), reason=reason)
        if self._study.state is StudyState.DONE:
            self._finish("")
        else:
            self._go(Phase.PAUSED)

    def stop(self, why: str) -> None:
        """End the study here; what was recorded stays."""
        if self.phase is not Phase.OVER:
            self._guard(self._study.abort, self._clock())
            self._finish(why)

    def give(self, answer: str) -> None:
        """Answer in the participant's place, as if it had been typed."""
        self._answer.setText(answer)
        self._give_answer(skip=False)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Space goes on, Esc pauses or stops."""
        if a0 is None or a0.isAutoRepeat():
            return
        fresh = self._armed and not self._key_down
        if a0.key() == Qt.Key.Key_Escape:
            self._escape()
        elif a0.key() == Qt.Key.Key_Space:
            self._key_down = True
            if fresh and self.phase in (Phase.READY, Phase.PAUSED):
                self._next()

    def keyReleaseEvent(self, a0: QKeyEvent | None) -> None:
        """See the space bar come up again."""
        if a0 is not None and a0.key() == Qt.Key.Key_Space and not a0.isAutoRepeat():
            self._key_down = False

    def eventFilter(self, a0: QObject | None, a1: QEvent | None) -> bool:
        """Take Enter and Esc out of the answer field, and everything typed before the chart was on."""
        if a0 is self._answer and isinstance(a1, QKeyEvent) and a1.type() == QEvent.Type.KeyPress:
            if a1.key() == Qt.Key.Key_Escape:
                self._escape()
                return True
            if not self._armed:
                return True
            if a1.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                if not a1.isAutoRepeat():
                    self._give_answer(skip=bool(a1.modifiers() & Qt.KeyboardModifier.ShiftModifier))
                return True
        return super().eventFilter(a0, a1)

    def changeEvent(self, a0: QEvent | None) -> None:
        """Log it when another window takes the keyboard, and when it comes back."""
        if a0 is not None and a0.type() == QEvent.Type.ActivationChange and self.phase is not Phase.OVER:
            self._focus_is(self.isActiveWindow())
        super().changeEvent(a0)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Lay the chart out anew and log its new rectangle."""
        self._relayout()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the step that is on."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(*NEUTRAL_RGB))
        if self.phase is Phase.READING and self._trial is not None:
            self._trial.draw(painter, self.font())
        else:
            font = QFont(self.font())
            font.setPixelSize(24)
            painter.setFont(font)
            painter.setPen(INK)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(40, 40, -40, -40), flags, self._words())
        if not self._armed:
            # Runs once the pixels above have gone to the window system: the nearest we get to the swap.
            step = self._step
            QTimer.singleShot(0, lambda: self._now_on_screen(step))

    def closeEvent(self, a0: QCloseEvent | None) -> None:
        """Stop the study when the window is closed from outside."""
        self.stop(self.tr("The reading window was closed."))
        super().closeEvent(a0)

    def _words(self) -> str:
        if self.phase is Phase.PAUSED:
            return self.tr("{note}\n\nSpace bar: go on.   Esc: stop and save.").format(note=self._note)
        chart, total = self._study.index + 1, len(self._study.charts)
        return self.tr(
            "Chart {chart} of {total}\n\n"
            "Read the question, look at the chart, type the answer, press Enter.\n\n"
            "Press the space bar when you are ready."
        ).format(chart=chart, total=total)

    def _go(self, phase: Phase) -> None:
        """Change the step, unless all is over; keys count only once it has been drawn."""
        if self.phase is Phase.OVER:
            return
        self.phase = phase
        self._step += 1
        self._armed = False
        self._answer.clear()
        self._answer.setVisible(phase is Phase.READING)
        self.raise_()
        self.activateWindow()
        (self._answer if phase is Phase.READING else self).setFocus()
        self._relayout()
        self.update()
        self.stepped.emit()

    def _next(self) -> None:
        if self.phase is Phase.PAUSED:
            self._guard(self._study.event, MarkerKind.RESUME, self._clock())
        self._note = ""
        self._trial = None
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

    def _now_on_screen(self, step: int) -> None:
        """Take note that a step is on; an earlier one's paint event does not count for a later one."""
        if self._armed or step != self._step or self.phase is Phase.OVER:
            return
        self._armed = True
        placement = self.placement
        if self.phase is Phase.READING and placement is not None:
            time_ns = self._clock()
            self._guard(self._study.show, placement, time_ns)
            self.shown.emit(placement, time_ns)
            self.stepped.emit()

    def _give_answer(self, skip: bool) -> None:
        text = self._answer.text().strip()
        if not text and not skip:
            self._answer.setPlaceholderText(self.tr("Shift+Enter: no answer"))
            return
        if skip:
            self._guard(self._study.skip, self._clock(), "no answer")
        else:
            self._guard(self._study.answer, text, self._clock())
        if self.phase is Phase.OVER:
            return
        if self._study.state is StudyState.DONE:
            self._finish("")
        else:
            self._go(Phase.READY)

    def _escape(self) -> None:
        if self.phase is Phase.PAUSED:
            self.stop(self.tr("Stopped by the Esc key; what was recorded is saved."))
        else:
            self._note = self.tr("Paused.")
            self.pause("esc")

    def _leave_trial(self, reason: str) -> None:
        if self._study.state is StudyState.SHOWING:
            self._study.skip(self._clock(), reason)

    def _focus_is(self, active: bool) -> None:
        if active == self._focused:
            return
        self._focused = active
        self._key_down = False
        kind = MarkerKind.FOCUS_BACK if active else MarkerKind.FOCUS_LOST
        self._guard(self._study.event, kind, self._clock())
        if active and self.phase is Phase.READING:
            self._answer.setFocus()

    def _geometry_changed(self) -> None:
        if self.phase is not Phase.OVER:
            self._note = self.tr("The screen's resolution changed; the calibration no longer fits.")
            self.pause("resolution changed")

    def _screen_removed(self, gone: QScreen | None) -> None:
        if self.phase is not Phase.OVER and (gone is None or gone is self._monitor):
            self._note = self.tr("The monitor was unplugged.")
            self.pause("monitor unplugged")

    def _look_after(self) -> None:
        """Write changes of the source's state, and stop if the disk is full."""
        state = self._study.acquisition.state
        if state is not self._source_state:
            self._source_state = state
            self._guard(self._study.event, MarkerKind.SOURCE_STATE, self._clock(), state=state.value)
        fault = self._study.writer.fault
        if fault is not None:
            self._finish(str(fault))

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
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.screenRemoved.disconnect(self._screen_removed)
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
