"""The drift check on the participant's screen: one target between two charts, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from PyQt6.QtCore import QObject, QPointF, QRectF, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QPainter

from gazelab.calibration.targets import Target, TargetKind
from gazelab.pipeline.drift import Decision, DriftCheck, DriftOutcome
from gazelab.pipeline.drift_plan import DriftLimits, DriftSchedule
from gazelab.pipeline.live import Acquisition
from gazelab.sources.base import Clock
from gazelab.ui.drift_text import reason_text
from gazelab.ui.step_words import LETTERS_PX
from gazelab.ui.target_art import INK, Looks, TargetStyle, draw_done, draw_target
from gazelab.ui.workspace import Workspace

TICK_MS = 33
TAIL_NS = 2_000_000_000
THANKS_NS = 1_000_000_000
"""How long the participant is told that the check is over, before the chart: enough to read two words."""
THANKS_BELOW_PX = 60
CALIBRATED_EVERY = 5
"""Trials between two checks where the settings leave it open: some two or three minutes of reading."""


@dataclass(frozen=True, slots=True)
class DriftPlan:
    """How a study checks for drift.

    Attributes
    ----------
    schedule : DriftSchedule
    limits : DriftLimits
    """

    schedule: DriftSchedule = field(default_factory=lambda: DriftSchedule(0))
    limits: DriftLimits = field(default_factory=DriftLimits)


def default_every(work: Workspace) -> int:
    """Say after how many charts a check comes by itself, where nobody chose: as the settings say."""
    wanted = work.settings.drift.check_every
    if wanted >= 0:
        return wanted
    return CALIBRATED_EVERY if work.needs_calibration else 0


def drift_plan(work: Workspace, every: int) -> DriftPlan:
    """Make the plan of a recording."""
    limits = work.settings.drift.limits
    if work.profile is not None:
        limits = limits.known_accuracy(work.profile.validation.accuracy_deg)
    if work.needs_calibration and work.profile is None:
        every = 0  # no gaze to check
    return DriftPlan(DriftSchedule(every), limits)


class DriftStep(QObject):
    """Runs one check at a time: `begin` when the target is on, keys by `key`, drawn by `draw`.

    Parameters
    ----------
    acquisition : Acquisition
    plan : DriftPlan
    clock : Clock
    parent : QObject

    Attributes
    ----------
    asked : bool
        Whether somebody wants a check before the next chart.

    Signals
    -------
    target_shown : Target, int
        It is on since that time.
    decided : DriftOutcome
        To be written; after a "recalibrate" the step goes on.
    ended
        The check is over: go on with the study.
    changed
        Something else is to be drawn.
    """

    target_shown = pyqtSignal(object, object)
    decided = pyqtSignal(object)
    ended = pyqtSignal()
    changed = pyqtSignal()

    def __init__(self, acquisition: Acquisition, plan: DriftPlan, clock: Clock, parent: QObject) -> None:
        super().__init__(parent)
        self._acquisition = acquisition
        self._plan = plan
        self._clock = clock
        self._check: DriftCheck | None = None
        self._refused: DriftOutcome | None = None
        self._thanks_ns: int | None = None
        self.asked = False
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self.tick)

    @property
    def running(self) -> bool:
        """Whether a target, or the word on it, is on."""
        return self._check is not None

    @property
    def refused(self) -> bool:
        """Whether the gaze was found too far off, and somebody has to say how to go on."""
        return self._refused is not None

    @property
    def looks(self) -> bool:
        """Whether the target is on and nothing is decided yet."""
        return self.running and not self.refused and self._thanks_ns is None

    def due(self, index: int) -> bool:
        """Whether a check comes before the chart of this place in the study."""
        return self.asked or self._plan.schedule.due(index)

    def done(self, index: int) -> None:
        """Take note that it was made, or skipped."""
        self.asked = False
        self._plan.schedule.done(index)

    def begin(self) -> None:
        """Start, or start anew: the target is on the screen now."""
        screen, now_ns = self._acquisition.screen, self._clock()
        centre_px = (screen.width_px / 2, screen.height_px / 2)
        correction_px = self._acquisition.correction_px
        self._check = DriftCheck(centre_px, screen, now_ns, correction_px, self._plan.limits)
        self._refused = self._thanks_ns = None
        self._timer.start()
        self.target_shown.emit(Target(0, *centre_px, TargetKind.VALIDATION), now_ns)
        self.changed.emit()

    def hold(self) -> None:
        """Wait: the participant's eyes are on another window; `begin` starts anew."""
        self._timer.stop()

    def tick(self) -> None:
        """Look at what came in; the timer calls it."""
        if self._thanks_ns is not None:
            self._thank(self._thanks_ns)
        if self._check is None or not self.looks:
            return
        outcome = self._check.look(self._acquisition.snapshot(TAIL_NS).samples, self._clock())
        self.changed.emit()
        if outcome is None:
            return
        if outcome.decision is Decision.RECALIBRATE:
            self._timer.stop()
            self._refused = outcome
        else:
            self._thanks_ns = self._clock()
        self.decided.emit(outcome)

    def key(self, key: int) -> None:
        """Take a fresh key press: the space bar, or R on a refusal."""
        if self._check is None or self._thanks_ns is not None:
            return
        if self._refused is None:
            if key == Qt.Key.Key_Space:
                self._check.press(self._clock())
        elif key == Qt.Key.Key_R:
            self.begin()
        elif key == Qt.Key.Key_Space:
            self._close(replace(self._refused, decision=Decision.OVERRIDDEN))

    def skip(self) -> None:
        """Leave without a check; what was decided before stands."""
        if self._check is None:
            return
        outcome = self._check.skipped() if self.looks else None
        self.stop()
        if outcome is not None:
            self.decided.emit(outcome)

    def stop(self) -> None:
        """End without an outcome."""
        self._timer.stop()
        self._check = self._refused = self._thanks_ns = None

    def draw(self, painter: QPainter, corner: QPointF, dpr: float) -> None:
        """Draw the target, or that it is done.

        The painter is in logical px of a window whose corner is at `corner`, physical.
        """
        check = self._check
        if check is None or self.refused:
            return
        painter.save()
        painter.scale(1 / dpr, 1 / dpr)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        centre = QPointF(*check.target_px) - corner
        if self._thanks_ns is None:
            draw_target(painter, centre, check.screen, Looks(progress=check.progress(self._clock())))
        else:
            share = (self._clock() - self._thanks_ns) / THANKS_NS
            draw_done(painter, centre, check.screen, min(share, 1.0), TargetStyle.DOT)
        painter.restore()
        if self._thanks_ns is not None:
            self._draw_thanks(painter, centre / dpr)

    def words(self) -> str:
        """Say what the participant reads: nothing but on a refusal."""
        outcome = self._refused
        if outcome is None:
            return ""
        return self.tr(
            "The gaze no longer fits: {why}.\n\n"
            "R: check once more.   Space bar: go on all the same.\n"
            "Esc: pause, then stop and calibrate again."
        ).format(why=reason_text(outcome))

    def _draw_thanks(self, painter: QPainter, at: QPointF) -> None:
        font = painter.font()
        font.setPixelSize(LETTERS_PX)
        painter.setFont(font)
        painter.setPen(INK)
        box = QRectF(0, 0, 2 * at.x(), 2 * LETTERS_PX).translated(0, at.y() + THANKS_BELOW_PX)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.tr("Thank you."))

    def _thank(self, since_ns: int) -> None:
        """Let the sign stand for its time, then go on."""
        if self._clock() - since_ns < THANKS_NS:
            self.changed.emit()
            return
        self.stop()
        self.ended.emit()

    def _close(self, outcome: DriftOutcome) -> None:
        self.stop()
        self.decided.emit(outcome)
        self.ended.emit()
