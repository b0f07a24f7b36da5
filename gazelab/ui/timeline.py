"""The trial's time: fixations, lost data and where replay stands; drag or use the keys to move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.core.gaze import EventArray, GazeArray, empty_events
from gazelab.sessions.trials import Trial
from gazelab.ui import theme
from gazelab.ui.colours import GAZE_RGB

STEP_NS = 100_000_000
LONG_STEP_NS = 1_000_000_000
GAP_NS = 75_000_000
SIDE = 10.0
TRACK_TOP, TRACK_HEIGHT = 8.0, 26.0


class Timeline(QWidget):
    """One trial from onset to offset.

    Signals
    -------
    moved : int
        ns since the trial's onset, when the user moved the playhead.
    play_toggled
        The space bar was pressed.
    """

    moved = pyqtSignal(object)
    play_toggled = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Timeline"))
        self.setToolTip(self.tr("Drag, or use Left and Right (Shift: a second), Home, End; Space plays."))
        self._duration_ns = 0
        self._now_ns = 0
        self._fixations = empty_events()
        self._gaps: NDArray[np.int64] = np.zeros((0, 2), np.int64)

    def sizeHint(self) -> QSize:
        """Give the size that a layout starts from."""
        return QSize(600, 60)

    @property
    def duration_ns(self) -> int:
        """The trial's length."""
        return self._duration_ns

    @property
    def now_ns(self) -> int:
        """Where the playhead stands, since the trial's onset."""
        return self._now_ns

    def set_trial(self, duration_ns: int, fixations: EventArray, gaps_ns: NDArray[np.int64]) -> None:
        """Show another trial, playhead at its start.

        Parameters
        ----------
        duration_ns : int
        fixations : numpy.ndarray, EVENT_DTYPE
            With times since the trial's onset.
        gaps_ns : numpy.ndarray, shape (n, 2)
            Stretches without valid gaze, since the trial's onset.
        """
        self._duration_ns, self._fixations, self._gaps = max(0, duration_ns), fixations, gaps_ns
        self.set_now(0)

    def set_now(self, now_ns: int) -> None:
        """Move the playhead without telling anybody."""
        self._now_ns = int(np.clip(now_ns, 0, self._duration_ns))
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the track, its events, the ticks and the playhead."""
        tokens = theme.current()
        painter = QPainter(self)
        track = QRectF(SIDE, TRACK_TOP, self.width() - 2 * SIDE, TRACK_HEIGHT)
        painter.fillRect(track, QColor(tokens.sunken))
        if not self._duration_ns:
            return
        for start, end in self._gaps:
            box = QRectF(self._x(start), TRACK_TOP, max(1.0, self._x(end) - self._x(start)), TRACK_HEIGHT)
            painter.fillRect(box, QColor(tokens.border))
        blue = QColor(*GAZE_RGB)
        for k, event in enumerate(self._fixations):
            left, right = self._x(int(event["onset_ns"])), self._x(int(event["offset_ns"]))
            box = QRectF(left, TRACK_TOP + 4, max(2.0, right - left), TRACK_HEIGHT - 8)
            painter.fillRect(box, blue)
            if box.width() > 16:
                painter.setPen(QColor(255, 255, 255))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(k + 1))
        self._draw_ticks(painter, QColor(tokens.muted))
        x = self._x(self._now_ns)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = QColor(tokens.accent if self.hasFocus() else tokens.text)
        painter.setPen(QPen(ink, 2))
        painter.drawLine(QPointF(x, TRACK_TOP - 4), QPointF(x, TRACK_TOP + TRACK_HEIGHT + 4))
        painter.setBrush(ink)
        painter.drawEllipse(QPointF(x, TRACK_TOP - 2), 5, 5)

    def mousePressEvent(self, a0: QMouseEvent | None) -> None:
        """Move the playhead to the click."""
        if a0 is not None:
            self._move_to(self._time_at(a0.position().x()))

    def mouseMoveEvent(self, a0: QMouseEvent | None) -> None:
        """Drag the playhead."""
        if a0 is not None and a0.buttons() & Qt.MouseButton.LeftButton:
            self._move_to(self._time_at(a0.position().x()))

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Step, jump or play."""
        if a0 is None:
            return
        step = LONG_STEP_NS if a0.modifiers() & Qt.KeyboardModifier.ShiftModifier else STEP_NS
        match a0.key():
            case Qt.Key.Key_Left:
                self._move_to(self._now_ns - step)
            case Qt.Key.Key_Right:
                self._move_to(self._now_ns + step)
            case Qt.Key.Key_Home:
                self._move_to(0)
            case Qt.Key.Key_End:
                self._move_to(self._duration_ns)
            case Qt.Key.Key_Space:
                self.play_toggled.emit()
            case _:
                super().keyPressEvent(a0)

    def _draw_ticks(self, painter: QPainter, colour: QColor) -> None:
        seconds = self._duration_ns / 1e9
        wanted = max(2.0, self.width() / 90)
        step = next((s for s in (0.5, 1, 2, 5, 10, 20, 30, 60, 120) if seconds / s <= wanted), 300)
        painter.setPen(colour)
        for k in range(int(seconds / step) + 1):
            x = self._x(round(k * step * 1e9))
            painter.drawLine(QPointF(x, TRACK_TOP + TRACK_HEIGHT), QPointF(x, TRACK_TOP + TRACK_HEIGHT + 4))
            text = self.tr("{seconds:g} s").format(seconds=k * step)
            width = 60.0
            left = min(max(0.0, x - width / 2), self.width() - width)
            flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
            if left == 0.0:
                flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
                left = SIDE - 2
            painter.drawText(QRectF(left, TRACK_TOP + TRACK_HEIGHT + 5, width, 18), flags, text)

    def _x(self, time_ns: int) -> float:
        return SIDE + (self.width() - 2 * SIDE) * time_ns / self._duration_ns

    def _time_at(self, x: float) -> int:
        return round((x - SIDE) / max(1.0, self.width() - 2 * SIDE) * self._duration_ns)

    def _move_to(self, now_ns: int) -> None:
        self.set_now(now_ns)
        self.moved.emit(self._now_ns)


def gaps_of(samples: GazeArray, trial: Trial) -> NDArray[np.int64]:
    """Find stretches of 75 ms or more without valid gaze, shape (n, 2), ns since the trial's onset."""
    seen = samples["time_ns"][samples["valid"]]
    edges = np.concatenate([[trial.onset_ns], seen, [trial.offset_ns]]).astype(np.int64)
    long = np.flatnonzero(np.diff(edges) >= GAP_NS)
    return np.stack([edges[long], edges[long + 1]], -1) - trial.onset_ns
