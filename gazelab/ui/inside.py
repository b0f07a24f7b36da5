"""Opens the window that looks inside the model, on the answer that is shown."""

from __future__ import annotations

from PyQt6.QtCore import QObject
from PyQt6.QtWidgets import QWidget

from gazelab.ui.looking import Asked, Looking
from gazelab.ui.study_window import StudyWindow
from gazelab.ui.workspace import Workspace


class Inside(QObject):
    """One window a page; it goes on to the page's next answer while it is open.

    Parameters
    ----------
    workspace : Workspace
    looking : Looking
    parent : QWidget
        The page.
    """

    def __init__(self, workspace: Workspace, looking: Looking, parent: QWidget) -> None:
        super().__init__(parent)
        self._work, self._looking, self._page = workspace, looking, parent
        self.window: StudyWindow | None = None
        self._of: Asked | None = None
        looking.changed.connect(self._look_changed)

    def open(self) -> None:
        """Show the window, if there is a complete answer to look into."""
        asked, trace = self._looking.asked, self._looking.trace
        if asked is None or trace is None or not self._looking.complete:
            return
        if self.window is None:
            self.window = StudyWindow(self._work, self._page)
        self._of = asked
        self.window.open_on(asked.model, asked.picture, trace)

    def _look_changed(self) -> None:
        window, asked, trace = self.window, self._looking.asked, self._looking.trace
        if window is None or not window.isVisible() or asked is self._of:
            return
        if asked is None:
            self._of = None
            window.set_answer("", None, None)
        elif trace is not None and self._looking.complete:
            self._of = asked
            window.set_answer(asked.model, asked.picture, trace)
