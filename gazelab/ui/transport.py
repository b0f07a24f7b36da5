"""Play, speed and scrub: where replay stands within a trial."""

from __future__ import annotations

from PyQt6.QtCore import QElapsedTimer, QTimer, pyqtSignal
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from gazelab.ui.parts import button, label
from gazelab.ui.timeline import Timeline

FRAME_MS = 33
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)


class Transport(QWidget):
    """The row below the canvases.

    Signals
    -------
    moved : int
        ns since the trial's onset, by play or by hand.
    """

    moved = pyqtSignal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeline = Timeline()
        self.timeline.moved.connect(self._by_hand)
        self.timeline.play_toggled.connect(self.toggle)
        self._play = button(self.tr("▶  Play"), self.toggle, self.tr("Play or stop (Space)"))
        self._play.setMinimumWidth(92)
        self._speed = QComboBox()
        self._speed.setAccessibleName(self.tr("Speed"))
        self._speed.setToolTip(self.tr("Speed"))
        for speed in SPEEDS:
            self._speed.addItem(self.tr("{speed:g} ×").format(speed=speed), speed)
        self._speed.setCurrentIndex(SPEEDS.index(1.0))
        self._time = label("", "muted")
        self._time.setMinimumWidth(104)
        self._since = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._tick)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        for widget in (self._play, self._speed, self._time):
            line.addWidget(widget)
        line.addWidget(self.timeline, 1)
        self._tell()

    @property
    def playing(self) -> bool:
        """Whether time goes by itself."""
        return self._timer.isActive()

    def toggle(self) -> None:
        """Play, from the start if at the end, or stop."""
        if self.playing:
            self.stop()
            return
        if not self.timeline.duration_ns:
            return
        if self.timeline.now_ns >= self.timeline.duration_ns:
            self._move(0)
        self._since.start()
        self._timer.start()
        self._play.setText(self.tr("❚❚  Stop"))

    def stop(self) -> None:
        """Hold where it stands."""
        self._timer.stop()
        self._play.setText(self.tr("▶  Play"))

    def advance(self, elapsed_ms: float) -> None:
        """Let time go by at the chosen speed; stop at the trial's end."""
        speed = float(self._speed.currentData())
        self._move(self.timeline.now_ns + round(elapsed_ms * 1e6 * speed))
        if self.timeline.now_ns >= self.timeline.duration_ns:
            self.stop()

    def rewound(self) -> None:
        """Show the time after the timeline got another trial."""
        self.stop()
        self._tell()

    def _tick(self) -> None:
        self.advance(self._since.restart())

    def _by_hand(self, now_ns: int) -> None:
        self._tell()
        self.moved.emit(now_ns)

    def _move(self, now_ns: int) -> None:
        self.timeline.set_now(now_ns)
        self._tell()
        self.moved.emit(self.timeline.now_ns)

    def _tell(self) -> None:
        text = self.tr("{now:.2f} of {total:.2f} s")
        now, total = self.timeline.now_ns / 1e9, self.timeline.duration_ns / 1e9
        self._time.setText(text.format(now=now, total=total))
