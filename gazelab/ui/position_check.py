"""Before the targets: the participant sees the own picture, mirrored, and what to change.

It advises and never forbids: the space bar goes on whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Template

from PyQt6.QtCore import Qt, QTimer
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gazelab.sources.base import Clock
from gazelab.ui.camera_look import CameraLook
from gazelab.ui.hint_board import HintBoard
from gazelab.ui.hints import SteadyHints, ready
from gazelab.ui.parts import label, set_role
from gazelab.ui.preview import CameraPreview

LOOK_MS = 50
WIDEST_PX = 900
# Fixed colours on the fixed ground of all that a participant sees: 5.5 : 1 and more, whatever the theme.
_SHEET = Template("""
QLabel { color: #181c22; font-size: ${text}px; }
QLabel[role="title"] { font-size: ${title}px; }
QLabel[role="good"] { color: #0f4a24; }
QLabel[role="warn"] { color: #5f3500; }
QLabel[role="bad"] { color: #86140e; }
QLabel#state { font-size: ${state}px; }
""")
_SIZES = {False: {"text": 17, "state": 20, "title": 24}, True: {"text": 12, "state": 14, "title": 16}}
SMALL_PX = 560
"""Below this height, as on a laptop with everything drawn at twice its size, letters are smaller."""


class PositionCheck(QWidget):
    """A mirrored preview with an outline for the head, hints and a state.

    Parameters
    ----------
    look : callable
        Gives the newest `CameraLook`, or None.
    clock : Clock
    """

    def __init__(
        self, look: Callable[[], CameraLook | None], clock: Clock, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._small: bool | None = None
        self._look, self._clock = look, clock
        self._steady = SteadyHints()
        self.preview = CameraPreview()
        self.preview.setMinimumSize(120, 90)
        self.preview.set_message(self.tr("Waiting for the camera …"))
        self.board = HintBoard()
        self._state = label("", wrap=True)
        self._state.setObjectName("state")
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.refresh)
        self._lay_out()

    @property
    def is_ready(self) -> bool:
        """Whether nothing needs to be changed."""
        return bool(self._state.property("role") == "good")

    def start(self) -> None:
        """Look again and again."""
        self.refresh()
        self._timer.start()
        self.show()

    def stop(self) -> None:
        """Look no more."""
        self._timer.stop()
        self.hide()

    def refresh(self) -> None:
        """Look once; the timer calls it."""
        seen = self._look()
        if seen is None:
            self.board.show_hints(())
            self._say(self.tr("There is no picture yet. You can begin without it."), "warn")
            return
        said = self._steady.take(seen.hints, self._clock())
        fits = ready(said)
        self.preview.set_frame(seen.frame, seen.landmarks_px, seen.features)
        self.preview.set_outline("good" if fits else "warn")
        self.board.show_hints(said)
        if fits:
            self._say(self.tr("✓ Ready"), "good")
        else:
            self._say(self.tr("Better to change what is marked with !  You can begin anyway."), "warn")

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Take letters that fit."""
        small = self.height() < SMALL_PX
        if small is not self._small:
            self._small = small
            self.setStyleSheet(_SHEET.substitute(_SIZES[small]))
            edge = 8 if small else 20
            self._column.setContentsMargins(24, edge, 24, edge)
            self._column.setSpacing(4 if small else 12)
        super().resizeEvent(a0)

    def _say(self, text: str, role: str) -> None:
        self._state.setText(text)
        set_role(self._state, role)

    def _lay_out(self) -> None:
        middle = QWidget()
        middle.setMaximumWidth(WIDEST_PX)
        column = self._column = QVBoxLayout(middle)
        title = label(self.tr("Sit so that your face fills the outline."), "title", wrap=True)
        how = self.tr(
            "Then look at the middle of each target until it goes away; small movements of the head are fine."
        )
        keys = label(self.tr("Space: begin.   Esc: stop."), "title")
        lines = (title, self._state, label(how, wrap=True), keys)
        for line in lines:
            line.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(title)
        column.addWidget(self.preview, 1)
        column.addWidget(self.board)
        for line in lines[1:]:
            column.addWidget(line)
        sides = QHBoxLayout(self)
        sides.setContentsMargins(0, 0, 0, 0)
        sides.addStretch(1)
        sides.addWidget(middle, 12)
        sides.addStretch(1)
