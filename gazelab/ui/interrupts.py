"""Ctrl-C, and the system's request to end: the window closes in order, as if by its own button."""

from __future__ import annotations

import signal
from types import FrameType

from PyQt6.QtCore import QObject, QTimer
from PyQt6.QtWidgets import QApplication, QWidget

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
TICK_MS = 200


class Interrupts(QObject):
    """Turns signals into the closing of a window, so that a recording is saved and its end is written.

    Without it Ctrl-C would become an exception in whichever slot happens to run, and the rest would end the
    process where it stands.

    Parameters
    ----------
    window : QWidget
        The main window.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._before: dict[int, signal._HANDLER] = {}
        # Qt's loop is no Python: a signal is seen when Python runs, which on a quiet page may be never.
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(lambda: None)

    def install(self) -> None:
        """Take over; what is ignored already, as by nohup, stays so."""
        for number in (getattr(signal, name, None) for name in NAMES):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._asked)
        self._tick.start()

    def uninstall(self) -> None:
        """Give back."""
        self._tick.stop()
        while self._before:
            signal.signal(*self._before.popitem())

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        """Leave what runs now first: it may be half-way through a trial's step."""
        QTimer.singleShot(0, lambda: self._close(number))

    def _close(self, number: int) -> None:
        self._window.close()
        QApplication.exit(128 + number)
