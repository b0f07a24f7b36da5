"""Calibration targets, full screen on one monitor: the procedure decides, this draws and passes keys on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from PyQt6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QColor, QGuiApplication, QKeyEvent, QPainter, QPaintEvent, QScreen
from PyQt6.QtWidgets import QWidget

from gazelab.calibration.procedure import RUNNING, CalibrationProcedure
from gazelab.calibration.targets import Target
from gazelab.core.geometry import Screen
from gazelab.sources.base import Clock
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.monitors import cover, device_corner, screen_of

Readings = Sequence[tuple[np.void | None, int]]

TICK_MS = 16
OUTER_DEG, INNER_DEG, DOT_DEG = 1.2, 0.5, 0.16
SHARE_OF_HEIGHT_PER_DEG = 0.025
"""Used where the millimetres are unknown: about right for a laptop."""
_INK, _PAPER = QColor(24, 28, 34), QColor(255, 255, 255)


def target_diameter_px(screen: Screen, progress: float) -> float:
    """Diameter of the outer disc in physical px: it shrinks from 1.2 to 0.5 degrees as samples come in."""
    per_deg = screen.px_per_deg()
    if not math.isfinite(per_deg):
        per_deg = SHARE_OF_HEIGHT_PER_DEG * min(screen.width_px, screen.height_px)
    share = min(max(progress, 0.0), 1.0)
    return float(per_deg * (OUTER_DEG + (INNER_DEG - OUTER_DEG) * share))


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
        self, procedure: CalibrationProcedure, take: Callable[[], Readings], clock: Clock, monitor: QScreen
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
        self._begin: Callable[[int], None] | None = None
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
            self._procedure.add(features, time_ns)
        if not readings:
            self._procedure.tick(self._clock())
        target = self._procedure.current_target
        if target is not None and target != self._target:
            self.target_shown.emit(target, self._clock())
        self._target = target
        if self._procedure.state not in RUNNING:
            self._end("")
        self.update()

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
            self._draw_instruction(painter)
            return
        target = self._procedure.current_target
        if target is None:
            return
        dpr = self.devicePixelRatioF()
        painter.scale(1 / dpr, 1 / dpr)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        centre = QPointF(target.x_px, target.y_px) - device_corner(self, self._monitor)
        screen = self._procedure.screen
        outer = target_diameter_px(screen, self._procedure.progress(self._clock()))
        dot = outer * DOT_DEG / OUTER_DEG if outer > 0 else 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        for colour, diameter in ((_INK, outer), (_PAPER, max(dot * 2.4, 6.0)), (_INK, max(dot, 3.0))):
            painter.setBrush(colour)
            painter.drawEllipse(centre, diameter / 2, diameter / 2)

    def closeEvent(self, a0: QCloseEvent | None) -> None:
        """Stop the calibration when the window is closed from outside."""
        if not self._over:
            self._procedure.cancel()
            self._end(self.tr("The calibration was stopped; none is in force now."))
        super().closeEvent(a0)

    def _start(self, fresh: bool) -> None:
        if fresh and self._begin is not None:
            begin, self._begin = self._begin, None
            self._take()
            begin(self._clock())
            self._procedure.key_space(self._clock(), pressed=True)
            self.update()

    def _draw_instruction(self, painter: QPainter) -> None:
        font = painter.font()
        font.setPixelSize(24)
        painter.setFont(font)
        painter.setPen(_INK)
        text = self.tr(
            "Look at the middle of each dot until it goes away.\n"
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
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.screenRemoved.disconnect(self._screen_removed)
        self.ended.emit(why)
        self.close()
