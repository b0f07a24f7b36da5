"""Takes a picture of every page with real content on it, for the documentation.

A synthetic participant calibrates and reads on the screen that is there; nothing of what is seen is made up
for the picture.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QEvent, QObject, Qt, QTimer
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QApplication, QWidget

from gazelab.calibration.result import CalibrationState
from gazelab.ui.live_sources import SourceKind
from gazelab.ui.main_window import CALIBRATE, EXPLORE, RECORD, REPLAY, SETUP, MainWindow
from gazelab.ui.stimulus_window import Phase

log = logging.getLogger(__name__)

POLL_MS = 50
LIMIT_MS = 120_000
LAPTOP_MM = (345.0, 194.0)
DISTANCE_MM = 600.0
READING_MS = 4500
LOOK_AT_SHARE = 0.75

Wait = Callable[[], bool]


class Tour(QObject):
    """Goes through the pages; quits the application at the end, with 1 if a step did not come about.

    Parameters
    ----------
    window : MainWindow
    folder : Path
        Where `setup.png`, `calibrate.png`, … are written.
    session : Path or None
        Shown on Replay; by default the one that the tour records.
    """

    def __init__(self, window: MainWindow, folder: Path, session: Path | None) -> None:
        super().__init__(window)
        self._window, self._folder, self._session = window, folder, session
        self._steps: Iterator[Wait] = self._route()
        self._wait: Wait | None = None
        self._failed = False
        self._waited_ms = 0
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._poll)

    def start(self) -> None:
        """Begin."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._timer.start()

    def _poll(self) -> None:
        if self._wait is not None and not self._wait():
            self._waited_ms += POLL_MS
            if self._waited_ms < LIMIT_MS:
                return
            log.error("the tour waited too long on page %d", self._window.page)
            self._failed = True
        self._waited_ms = 0
        try:
            self._wait = next(self._steps)
        except StopIteration:
            self._timer.stop()
            self._window.close()
            QApplication.exit(int(self._failed))

    def _route(self) -> Iterator[Wait]:
        yield from self._setup()
        yield from self._calibrate()
        yield from self._record()
        yield from self._replay()
        yield from self._explore()

    def _setup(self) -> Iterator[Wait]:
        window, work = self._window, self._window.workspace
        window.go(SETUP)
        screen = work.screen
        if screen is not None and not screen.width_mm > 0:
            width, height = LAPTOP_MM
            work.set_size(replace(screen, width_mm=width, height_mm=height, size_source="user"))
        work.set_distance(DISTANCE_MM)
        window.setup.participant.setText("DEMO1")
        work.set_participant("DEMO1")
        window.setup.source_form.choose(SourceKind.SYNTHETIC)
        window.setup.source_form.start()
        yield lambda: work.acquisition is not None and work.acquisition.count > 100
        self._take(window, "setup")

    def _calibrate(self) -> Iterator[Wait]:
        window = self._window
        window.go(CALIBRATE)
        window.calibrate.start()
        targets = window.calibrate.window_
        if targets is not None:
            yield _after(900)
            self._take(targets, "calibrate-check")
            _press(targets, Qt.Key.Key_Space)
            yield _after(1300)
            self._take(targets, "calibrate-target")
        yield lambda: window.calibrate.window_ is None
        procedure = window.calibrate.procedure
        if procedure is not None and procedure.result().state is CalibrationState.REVIEW:
            window.calibrate.accept("synthetic participant: concerns are part of what is shown")
        yield _after(200)
        self._take(window, "calibrate")

    def _record(self) -> Iterator[Wait]:
        window = self._window
        window.go(RECORD)
        yield lambda: bool(window.record.charts.items)
        window.record.set_trials(2)
        window.record.begin()
        for trial in range(2):
            stimulus = window.record.stimulus
            if stimulus is None:
                return
            yield _after(300)
            _press(stimulus, Qt.Key.Key_Space)
            yield _after(READING_MS)
            if trial == 0:
                self._take(stimulus, "record-participant")
                self._take(window, "record")
            study = window.record.study
            chart = study.current if study is not None else None
            if chart is not None and stimulus.phase is Phase.READING:
                stimulus.give(chart.answer)
        yield lambda: not window.record.running

    def _replay(self) -> Iterator[Wait]:
        window = self._window
        if self._session is not None:
            window.open_session(self._session)
        else:
            window.go(REPLAY)
        page = window.replay
        yield lambda: page.trace is not None and page.scores.rowCount() > 0
        page.set_layers(gaze=True, fixations=True, heat=True)
        page.seek(LOOK_AT_SHARE)
        yield _after(300)
        self._take(window, "replay")
        page.side.setCurrentWidget(page.quality)
        yield lambda: page.quality.quality is not None
        yield _after(200)
        self._take(window, "replay-quality")
        page.side.setCurrentWidget(page.corrections)
        yield lambda: page.corrections.isVisible()
        self._take(window, "replay-corrections")
        page.side.setCurrentWidget(page.attention)

    def _explore(self) -> Iterator[Wait]:
        window = self._window
        window.go(EXPLORE)
        yield lambda: window.explore.pair.person.picture is not None
        page, work = window.explore, window.workspace
        placement, screen = page.pair.person.screen_placement(work.monitor), work.screen
        if placement is not None and screen is not None:
            work.driver.read(work.source, page.charts.items[0], placement, screen, work.clock())
        yield _after(READING_MS)
        page.ask()
        yield lambda: page.asking.trace is not None and not page.asking.running
        yield _after(200)
        self._take(window, "explore")
        page.panel.check_asked.emit()
        page.tools.check.run_asked.emit()
        yield lambda: page.tools.check.result is not None and not page.tools.errand.running
        yield _after(200)
        self._take(window, "explore-check")

    def _take(self, widget: QWidget, name: str) -> None:
        path = self._folder / f"{name}.png"
        if not widget.grab().save(str(path)):
            log.error("%s cannot be written", path)
            self._failed = True


def _after(ms: int) -> Wait:
    """Wait for a time, counted in polls."""
    left = [ms]

    def due() -> bool:
        left[0] -= POLL_MS
        return left[0] <= 0

    return due


def _press(widget: QWidget, key: Qt.Key) -> None:
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(widget, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier))
