"""Choose a recorded session and one of its trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QSizePolicy, QWidget

from gazelab.sessions.trials import Trial
from gazelab.ui.parts import button
from gazelab.ui.workspace import Workspace


class SessionChoice(QWidget):
    """Two lists and buttons.

    Signals
    -------
    opened : Path
        Of a session's folder that the user wants to see.
    trial_chosen : int
        Place of the trial in the session.
    """

    opened = pyqtSignal(object)
    trial_chosen = pyqtSignal(int)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._work = workspace
        self._shown: Path | None = None
        self._sessions = QComboBox()
        self._sessions.setAccessibleName(self.tr("Session"))
        self._sessions.setToolTip(self.tr("Sessions in {root}").format(root=workspace.root / "sessions"))
        self._sessions.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._sessions.setPlaceholderText(self.tr("Choose a session"))
        self._sessions.activated.connect(lambda index: self.opened.emit(self._sessions.itemData(index)))
        self._trials = QComboBox()
        self._trials.setAccessibleName(self.tr("Trial"))
        self._trials.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._trials.activated.connect(self.trial_chosen)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(self._sessions, 3)
        line.addWidget(button(self.tr("Open folder…"), self._browse))
        line.addWidget(self._trials, 3)
        line.addWidget(button(self.tr("‹ Previous"), lambda: self.step(-1), self.tr("Page Up")))
        line.addWidget(button(self.tr("Next ›"), lambda: self.step(1), self.tr("Page Down")))

    def refresh(self) -> None:
        """Read the list of sessions again, newest first."""
        folder = self._work.root / "sessions"
        found = sorted((p.parent for p in folder.glob("*/session.json")), key=lambda p: p.name, reverse=True)
        self._sessions.clear()
        for path in found:
            self._sessions.addItem(path.name, path)
        self._mark()

    def set_session(self, path: Path, trials: Sequence[Trial]) -> None:
        """Show which session is open and list its trials."""
        self._shown = path
        if self._place(path) < 0:
            self._sessions.insertItem(0, path.name, path)
        self._mark()
        self._trials.clear()
        for trial in trials:
            self._trials.addItem(
                self.tr("{number}: {question}").format(number=trial.index + 1, question=trial.question)
            )

    def step(self, by: int) -> None:
        """Go to the next or previous trial."""
        self.go_to(self._trials.currentIndex() + by)

    def go_to(self, index: int) -> None:
        """Go to a trial by its place in the session, if there is such a one."""
        if 0 <= index < self._trials.count():
            self._trials.setCurrentIndex(index)
            self.trial_chosen.emit(index)

    def _mark(self) -> None:
        self._sessions.setCurrentIndex(-1 if self._shown is None else self._place(self._shown))

    def _place(self, path: Path) -> int:
        return next((i for i in range(self._sessions.count()) if self._sessions.itemData(i) == path), -1)

    def _browse(self) -> None:
        start = str(self._work.root / "sessions")
        folder = QFileDialog.getExistingDirectory(self, self.tr("Folder of a session"), start)
        if folder:
            self.opened.emit(Path(folder))
