"""The main window: the steps on the left, the page at hand on the right, the source's state below."""

from __future__ import annotations

import logging
from pathlib import Path

from PyQt6.QtCore import QSize, Qt, QTimer
from PyQt6.QtGui import QAction, QActionGroup, QCloseEvent, QKeySequence, QShortcut
from PyQt6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QMessageBox,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gazelab import __version__
from gazelab.core.gaze import SourceState
from gazelab.ui import theme
from gazelab.ui.calibrate_page import CalibratePage
from gazelab.ui.explore_page import ExplorePage
from gazelab.ui.keys import KeysDialog
from gazelab.ui.parts import Page, label, set_role
from gazelab.ui.record_page import RecordPage
from gazelab.ui.replay_page import ReplayPage
from gazelab.ui.setup_page import SetupPage
from gazelab.ui.theme import Theme
from gazelab.ui.workspace import Workspace

log = logging.getLogger(__name__)

STATUS_MS = 500
RAIL_WIDTH = 176
SETUP, CALIBRATE, RECORD, REPLAY, EXPLORE = range(5)


class MainWindow(QMainWindow):
    """Holds the pages and what is common to them.

    Parameters
    ----------
    workspace : Workspace
        Closed with the window.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setWindowTitle("gazelab")
        self.setMinimumSize(1080, 700)
        self._fit_screen(QSize(1280, 800))
        self.workspace = workspace
        self.setup = SetupPage(workspace)
        self.calibrate = CalibratePage(workspace)
        self.record = RecordPage(workspace)
        self.replay = ReplayPage(workspace)
        self.explore = ExplorePage(workspace)
        self.pages: tuple[Page, ...] = (self.setup, self.calibrate, self.record, self.replay, self.explore)
        self.names = (
            self.tr("Setup"),
            self.tr("Calibrate"),
            self.tr("Record"),
            self.tr("Replay"),
            self.tr("Explore"),
        )
        self.setup.go_on.connect(self._after_setup)
        self.calibrate.go_on.connect(lambda: self.go(RECORD))
        self.record.recorded.connect(self._recorded)
        self._stack = QStackedWidget()
        for page in self.pages:
            self._stack.addWidget(page)
        self._source_label = label("", "muted", wrap=True)
        self._told = label("", "muted")
        self._told.setContentsMargins(10, 0, 0, 0)
        self._steps = QButtonGroup(self)
        inner = QWidget()
        line = QHBoxLayout(inner)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self._make_rail())
        line.addWidget(self._stack, 1)
        self.setCentralWidget(inner)
        bar = self.statusBar()
        if bar is not None:
            bar.addWidget(self._told, 1)
            bar.setSizeGripEnabled(False)
        self._make_menu()
        workspace.told.connect(self.tell)
        workspace.changed.connect(self._refresh)
        self._timer = QTimer(self)
        self._timer.setInterval(STATUS_MS)
        self._timer.timeout.connect(self._refresh)
        self._timer.start()
        self.go(SETUP)

    @property
    def page(self) -> int:
        """Which page is on."""
        return self._stack.currentIndex()

    def go(self, index: int) -> None:
        """Show a page."""
        self.pages[self.page].leave()
        self._stack.setCurrentIndex(index)
        step = self._steps.button(index)
        if step is not None:
            step.setChecked(True)
        self.pages[index].enter()
        self._refresh()

    def open_session(self, path: Path) -> None:
        """Show a session on Replay."""
        self.go(REPLAY)
        self.replay.open_session(path)

    def tell(self, text: str, role: str) -> None:
        """Say a sentence in the status bar."""
        self._told.setText(text)
        self._told.setToolTip(text)
        set_role(self._told, role)

    def set_theme(self, choice: Theme) -> None:
        """Change the looks of the tools; stimuli stay as they are."""
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme.apply(app, choice)

    def save_now(self) -> None:
        """End and save what is being recorded: the state after an unexpected fault is not to be trusted."""
        if self.record.stimulus is not None:
            self.record.stimulus.stop(self.tr("The recording was ended by a fault of the program."))
        self.workspace.end_session()

    def closeEvent(self, a0: QCloseEvent | None) -> None:
        """Save what is being recorded, stop every thread, then go."""
        self._timer.stop()
        for page in self.pages:
            page.leave()
        if self.record.stimulus is not None:
            self.record.stimulus.stop(self.tr("gazelab was closed; what was recorded is saved."))
        if not self.workspace.close():
            log.error("a thread is stuck; everything is saved, so the process ends the hard way")
        super().closeEvent(a0)

    def _fit_screen(self, wanted: QSize) -> None:
        """Take this size, or what a smaller screen has room for."""
        screen = self.screen()
        self.resize(wanted if screen is None else wanted.boundedTo(screen.availableSize()))

    def _make_rail(self) -> QFrame:
        rail = QFrame()
        rail.setProperty("role", "rail")
        rail.setFixedWidth(RAIL_WIDTH)
        column = QVBoxLayout(rail)
        column.setContentsMargins(10, 16, 10, 14)
        column.setSpacing(4)
        name = label("gazelab", "title")
        name.setContentsMargins(6, 0, 0, 10)
        column.addWidget(name)
        for index, text in enumerate(self.names):
            step = QPushButton(f"{index + 1}   {text}" if index != EXPLORE else f"◦   {text}")
            step.setCheckable(True)
            step.setToolTip(self.tr("Ctrl+{number}").format(number=index + 1))
            step.setAccessibleName(text)
            self._steps.addButton(step, index)
            if index == EXPLORE:
                column.addSpacing(14)
            column.addWidget(step)
            keys = QShortcut(QKeySequence(f"Ctrl+{index + 1}"), self)
            keys.activated.connect(lambda index=index: self.go(index))
        self._steps.idClicked.connect(self.go)
        column.addStretch(1)
        self._source_label.setContentsMargins(6, 0, 0, 0)
        column.addWidget(self._source_label)
        for keys_text in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys_text), self).activated.connect(self._next_step)
        return rail

    def _make_menu(self) -> None:
        bar = self.menuBar()
        if bar is None:
            return
        file, view, more = (
            bar.addMenu(self.tr("&File")),
            bar.addMenu(self.tr("&View")),
            bar.addMenu(self.tr("&Help")),
        )
        if file is None or view is None or more is None:
            return
        self._action(file.addAction(self.tr("Open session…")), self._browse, "Ctrl+O")
        self._action(file.addAction(self.tr("Quit")), self.close, "Ctrl+Q")
        group = QActionGroup(self)
        for choice, text in (
            (Theme.SYSTEM, self.tr("As the desktop")),
            (Theme.LIGHT, self.tr("Light")),
            (Theme.DARK, self.tr("Dark")),
        ):
            action = view.addAction(text)
            if action is not None:
                action.setCheckable(True)
                action.setChecked(choice is Theme.SYSTEM)
                group.addAction(action)
                action.triggered.connect(lambda _on, choice=choice: self.set_theme(choice))
        self._action(more.addAction(self.tr("Keys")), self.show_keys, "F1")
        self._action(more.addAction(self.tr("About gazelab")), self._about, "")

    def _action(self, action: QAction | None, do: object, keys: str) -> None:
        if action is not None and callable(do):
            action.setShortcut(QKeySequence(keys))
            action.triggered.connect(lambda _on=False: do())

    def show_keys(self) -> None:
        """Show Help → Keys."""
        dialog = KeysDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _about(self) -> None:
        text = self.tr(
            "gazelab {version}\n\n"
            "A reader's gaze beside a vision-language model's attention on the same chart.\n"
            "GPL-3.0-or-later. Nothing leaves this computer.\n\nData: {root}"
        )
        QMessageBox.about(
            self, self.tr("About gazelab"), text.format(version=__version__, root=self.workspace.root)
        )

    def _browse(self) -> None:
        start = str(self.workspace.root / "sessions")
        folder = QFileDialog.getExistingDirectory(self, self.tr("Folder of a session"), start)
        if folder:
            self.open_session(Path(folder))

    def _next_step(self) -> None:
        page = self.pages[self.page]
        step = getattr(page, "next_step", None)
        if step is not None:
            step()

    def _after_setup(self) -> None:
        self.go(CALIBRATE if self.workspace.needs_calibration else RECORD)

    def _recorded(self, path: Path) -> None:
        self.replay.choice.refresh()
        if self.isVisible():
            self.raise_()
            self.activateWindow()
            self.open_session(path)

    def _refresh(self) -> None:
        work = self.workspace
        source, acquisition = work.source, work.acquisition
        if source is None or acquisition is None:
            text, role = self.tr("No source"), "muted"
        else:
            view = acquisition.snapshot()
            rate = "" if not view.rate_hz > 0 else self.tr(", {rate:.0f} Hz").format(rate=view.rate_hz)
            text = f"● {source.info.name}{rate}"
            role = "good" if view.state is SourceState.OK else "bad"
            if view.state is not SourceState.OK:
                text += "\n" + self.tr("Source: {state}").format(state=view.state.value)
        if work.participant:
            text += "\n" + self.tr("Participant {code}").format(code=work.participant)
        self._source_label.setText(text)
        set_role(self._source_label, role)
