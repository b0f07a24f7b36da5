"""Calibration targets, full screen on one monitor: the procedure decides, this draws and passes keys on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PyQt6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import (
    QCloseEvent,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QScreen,
)
from PyQt6.QtWidgets import QApplication, QWidget

from gazelab.calibration.collect import Point
from gazelab.calibration.procedure import RUNNING, CalibrationProcedure, Part
from gazelab.calibration.targets import Target
from gazelab.sources.base import Clock
from gazelab.ui.asked import draw_asked, in_words, move_of
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.monitors import cover, device_corner, screen_of
from gazelab.ui.position_check import PositionCheck
from gazelab.ui.target_art import Looks, TargetStyle, draw_done, draw_target, px_per_deg, room_px

Readings = Sequence[tuple[np.void | None, int]]

TICK_MS = 16
DONE_NS = 250_000_000
"""A target's sign that it is done fades before the eyes have left for the next."""
LEAST_LOOK_NS = 500_000_000
"""After a target is drawn: eyes leave the old one after some 200 ms and have settled by then. The procedure's
own time to settle is longer, and counts from the reading that ended the target before."""
CLEAR_DEG = 2.4
"""Kept free of words round the target."""
_INK = QColor(24, 28, 34)


class TargetWindow(QWidget):
    """Runs one calibration, or the redoing of one point.

    Parameters
    ----------
    procedure : CalibrationProcedure
    take : callable
        Gives the readings since the last call: (features or None, time_ns).
    clock : Clock
    monitor : QScreen
        The one whose `Screen` the procedure has.
    style : TargetStyle
        How targets look.
    beep : bool
        Let the system beep when a target is done.
    check : PositionCheck, optional
        Shown in place of the instruction.

    Signals
    -------
    target_shown : Target, int
        It is on since that time.
    ended : str
        Why it closed: "" for a finished procedure, else a sentence.
    """

    target_shown = pyqtSignal(object, object)
    ended = pyqtSignal(str)

    def __init__(
        self,
        procedure: CalibrationProcedure,
        take: Callable[[], Readings],
        clock: Clock,
        monitor: QScreen,
        *,
        style: TargetStyle = TargetStyle.DOT,
        beep: bool = False,
        check: PositionCheck | None = None,
    ) -> None:
        super().__init__(None, Qt.WindowType.Window | Qt.WindowType.FramelessWindowHint)
        self.setWindowTitle(self.tr("Calibration"))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCursor(Qt.CursorShape.BlankCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._procedure = procedure
        self._take = take
        self._clock = clock
        self._monitor = monitor
        self._style = style
        self._beep = beep
        self._check = check
        if check is not None:
            check.setParent(self)
        self._begin: Callable[[int], None] | None = None
        self._place: Point | None = None
        self._done: tuple[Point, int] | None = None
        self._settled_ns = 0
        self._target: Target | None = None
        self._key_down = False
        self._over = False
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self.tick)
        monitor.geometryChanged.connect(self._geometry_changed)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.screenRemoved.connect(self._screen_removed)

    @property
    def waiting(self) -> bool:
        """Whether the instruction is still on."""
        return self._begin is not None

    def run(self, begin: Callable[[int], None]) -> None:
        """Show the instruction; `begin(time_ns)` is called at the first fresh press of the space bar."""
        self._begin = begin
        self._key_down = False
        cover(self, self._monitor)
        if self._check is not None:
            self._check.setGeometry(self.rect())
            self._check.start()
        self.raise_()
        self.activateWindow()
        self.setFocus()
        self._timer.start()

    def tick(self) -> None:
        """Hand over what the source gave and draw; the timer calls it."""
        readings = self._take()
        if self.waiting or self._over:
            return
        for features, time_ns in readings:
            self._procedure.add(features if time_ns >= self._settled_ns else None, time_ns)
            self._see_target()
        if not readings:
            self._procedure.tick(self._clock())
        self._see_target()
        if self._procedure.state not in RUNNING:
            self._end("")
        self.update()

    def _see_target(self) -> None:
        """Notice that another target is up, and that the one before is done."""
        now, target = self._clock(), self._procedure.current_target
        if target != self._target:
            if self._target is not None and self._place is not None:
                self._done = self._place, now
                if self._beep:
                    QApplication.beep()
            if target is not None:
                self.target_shown.emit(target, now)
            # A fit may have held the screen up: what was seen meanwhile is no look at what comes on only now.
            self._settled_ns = now + LEAST_LOOK_NS
        self._target, self._place = target, self._procedure.target_at(now)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Space: begin, or "I am looking"; Esc: stop."""
        if a0 is None:
            return
        if a0.key() == Qt.Key.Key_Escape:
            self._procedure.cancel()
            self._end(self.tr("The calibration was stopped; none is in force now."))
        elif a0.key() == Qt.Key.Key_Space:
            if self.waiting:
                self._start(fresh=not a0.isAutoRepeat() and not self._key_down)
            else:
                self._procedure.key_space(self._clock(), pressed=True, auto_repeat=a0.isAutoRepeat())
            self._key_down = True

    def keyReleaseEvent(self, a0: QKeyEvent | None) -> None:
        """Tell the procedure that the space bar is up again."""
        if a0 is not None and a0.key() == Qt.Key.Key_Space and not a0.isAutoRepeat():
            self._key_down = False
            self._procedure.key_space(self._clock(), pressed=False)

    def changeEvent(self, a0: QEvent | None) -> None:
        """Forget held keys when another window takes the keyboard."""
        if a0 is not None and a0.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self._key_down = False
            self._procedure.key_space(self._clock(), pressed=False)
        super().changeEvent(a0)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the ground and the target, or the instruction."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(*NEUTRAL_RGB))
        if self.waiting:
            if self._check is None:
                self._draw_instruction(painter)
            return
        now = self._clock()
        place = self._procedure.target_at(now)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if place is not None:
            self._draw_asked(painter, place, now)
        dpr = self.devicePixelRatioF()
        painter.scale(1 / dpr, 1 / dpr)
        screen, corner = self._procedure.screen, device_corner(self, self._monitor)
        if self._done is not None and now - self._done[1] < DONE_NS:
            share = (now - self._done[1]) / DONE_NS
            draw_done(painter, QPointF(*self._done[0]) - corner, screen, share, self._style)
        if place is not None:
            # A star is wider than a corner has room for: half a face draws the eyes off its middle.
            centre = QPointF(*place) - corner
            room = room_px(centre, QRectF(0, 0, self.width() * dpr, self.height() * dpr))
            looks = Looks(self._style, self._procedure.progress(now), now / 1e9 % 3600, room)
            draw_target(painter, centre, screen, looks)

    def _draw_asked(self, painter: QPainter, place: Point, now: int) -> None:
        """Write what is asked for; not beside a target that moves, which would cross the words."""
        procedure = self._procedure
        if procedure.part is Part.PURSUIT and procedure.progress(now) > 0:
            return
        dpr = self.devicePixelRatioF()
        at = (QPointF(*place) - device_corner(self, self._monitor)) / dpr
        gap = CLEAR_DEG * px_per_deg(procedure.screen) / dpr
        text, move = in_words(procedure.instruction), move_of(procedure.current_target)
        draw_asked(painter, QRectF(self.rect()), at, gap, text, move)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Let the position check fill the window."""
        if self._check is not None:
            self._check.setGeometry(self.rect())
        super().resizeEvent(a0)

    def closeEvent(self, a0: QCloseEvent | None) -> None:
        """Stop the calibration when the window is closed from outside."""
        if not self._over:
            self._procedure.cancel()
            self._end(self.tr("The calibration was stopped; none is in force now."))
        super().closeEvent(a0)

    def _start(self, fresh: bool) -> None:
        if fresh and self._begin is not None:
            begin, self._begin = self._begin, None
            self._stop_check()
            self._take()
            begin(self._clock())
            self._procedure.key_space(self._clock(), pressed=True)
            self.update()

    def _stop_check(self) -> None:
        if self._check is not None:
            self._check.stop()
        self.setFocus()

    def _draw_instruction(self, painter: QPainter) -> None:
        font = painter.font()
        font.setPixelSize(24)
        painter.setFont(font)
        painter.setPen(_INK)
        text = self.tr(
            "Look at the middle of each target until it goes away.\n"
            "Sit as you will sit while reading; small movements of the head are fine.\n\n"
            "Press the space bar to begin, Esc to stop."
        )
        box = QRectF(self.rect()).adjusted(40, 40, -40, -40)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, text)

    def _geometry_changed(self) -> None:
        if not self._over and self._procedure.screen_changed(screen_of(self._monitor)):
            self._end(self.tr("The screen's resolution changed. Calibrate again."))

    def _screen_removed(self, gone: QScreen | None) -> None:
        if not self._over and (gone is None or gone is self._monitor):
            self._procedure.cancel()
            self._end(self.tr("The monitor was unplugged. Choose another one and calibrate again."))

    def _end(self, why: str) -> None:
        if self._over:
            return
        self._over = True
        self._timer.stop()
        self._stop_check()
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.screenRemoved.disconnect(self._screen_removed)
        self.ended.emit(why)
        self.close()
