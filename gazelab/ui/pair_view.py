"""The same chart twice: a person's gaze on the left, a model's attention on the right, the tokens below."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.picture import Picture
from gazelab.ui.canvas import ChartCanvas, Heat
from gazelab.ui.colours import MODEL_MAP
from gazelab.ui.parts import NoteLabel, button, label
from gazelab.ui.token_strip import TokenStrip

HEADING_PX = 26


class PairView(QWidget):
    """Two canvases and a token strip; whoever owns it decides which map is shown.

    Signals
    -------
    token_chosen : int
        Of the strip.
    stop_asked
        The user does not want to wait for the model any longer.
    """

    token_chosen = pyqtSignal(int)
    stop_asked = pyqtSignal()

    def __init__(self, person: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.person = ChartCanvas()
        self.model = ChartCanvas()
        self.strip = TokenStrip()
        self.strip.chosen.connect(self.token_chosen)
        self._model_title = label(self.tr("Model: attention weights"), "heading")
        self._person_note = NoteLabel()
        self._model_note = NoteLabel()
        self._way_in = NoteLabel()
        # Its room is kept when it is empty: a chart that moves would move away from the gaze on it.
        self._way_in.setFixedHeight(20)
        self._stop = button(self.tr("Stop"), self.stop_asked.emit, self.tr("Stop the model"))
        self._stop.setProperty("role", "small")
        self._stop.hide()
        sides = QHBoxLayout()
        sides.setSpacing(14)
        for title, note, canvas in (
            (label(person, "heading"), self._person_note, self.person),
            (self._model_title, self._model_note, self.model),
        ):
            side = QVBoxLayout()
            side.setSpacing(4)
            heading = QWidget()
            heading.setFixedHeight(HEADING_PX)
            head = QHBoxLayout(heading)
            head.setContentsMargins(0, 0, 0, 0)
            head.addWidget(title)
            head.addWidget(note, 1)
            if canvas is self.model:
                head.addWidget(self._stop)
            side.addWidget(heading)
            side.addWidget(canvas, 1)
            sides.addLayout(side, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(6)
        outer.addLayout(sides, 1)
        outer.addWidget(self._way_in)
        outer.addWidget(self.strip)

    def set_picture(self, picture: Picture | None) -> None:
        """Show a chart on both sides, without maps and tokens."""
        self.person.set_picture(picture)
        self.model.set_picture(picture)
        self.strip.clear()
        self.set_model_note("")
        self.set_way_in("")

    def set_trace(self, trace: AttentionTrace) -> None:
        """Show the tokens of a finished answer."""
        self.strip.set_tokens(trace.tokens)

    def set_map(self, made: AttentionMap | None) -> None:
        """Lay a map over the model's side; one without attention on the chart is told as such."""
        if made is None or not np.isfinite(made.values).all():
            self.model.set_heat(None)
            return
        self.model.set_heat(Heat(made.values, made.grid, MODEL_MAP, smooth=False))

    def set_person_note(self, text: str) -> None:
        """Say something of the gaze, such as its rate."""
        self._person_note.setText(text)

    def set_model_note(self, text: str, *, waiting: bool = False) -> None:
        """Say something of the model, such as its answer; while waiting it can be stopped."""
        self._model_note.setText(text)
        self._stop.setVisible(waiting)

    def set_way_in(self, text: str) -> None:
        """Say what the model does to the picture, such as cutting its sides off."""
        self._way_in.setText(self.tr("Model input: {note}").format(note=text) if text else "")
