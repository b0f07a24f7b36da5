"""Looks after a running study: how its source is doing, and whether the disk still takes what it gets."""

from __future__ import annotations

from PyQt6.QtCore import QObject, QTimer, pyqtSignal

from gazelab.core.gaze import SourceState
from gazelab.pipeline.study import RecordingStudy

WATCH_MS = 200


class StudyWatch(QObject):
    """Looks a few times a second.

    Signals
    -------
    source_changed : SourceState
        To be written into the session.
    failed : str
        Nothing can be written any more, and why.
    """

    source_changed = pyqtSignal(object)
    failed = pyqtSignal(str)

    def __init__(self, study: RecordingStudy, parent: QObject) -> None:
        super().__init__(parent)
        self._study = study
        self._state: SourceState = study.acquisition.state
        self._timer = QTimer(self)
        self._timer.setInterval(WATCH_MS)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        """Begin to look."""
        self._timer.start()

    def stop(self) -> None:
        """Look no more."""
        self._timer.stop()

    def look(self) -> None:
        """Look once; the timer calls it."""
        state = self._study.acquisition.state
        if state is not self._state:
            self._state = state
            self.source_changed.emit(state)
        fault = self._study.writer.fault
        if fault is not None:
            self.failed.emit(str(fault))
