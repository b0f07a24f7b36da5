"""The same chart twice: a person's gaze on the left, a model's attention on the right, the tokens below."""

from __future__ import annotations

from collections.abc import Sequence

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget

from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.ui.canvas import ChartCanvas, heat_of
from gazelab.ui.model_canvas import ModelCanvas, unseen_share
from gazelab.ui.parts import NoteLabel, button, label
from gazelab.ui.token_strip import TokenStrip

HEADING_PX = 26
NOTES_PX = 20


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
        self.model = ModelCanvas()
        self.strip = TokenStrip()
        self.strip.chosen.connect(self.token_chosen)
        self._model_title = label(self.tr("Model: attention weights"), "heading")
        self._person_note = NoteLabel()
        self._model_note = NoteLabel()
        self._patch_note = NoteLabel(at_right=False)
        self._way_in = NoteLabel()
        self._note = ""
        self._grids: tuple[PatchGrid, ...] = ()
        self._stop = button(self.tr("Stop"), self.stop_asked.emit, self.tr("Stop the model"))
        self._stop.setProperty("role", "small")
        self._stop.hide()
        sides = QHBoxLayout()
        sides.setSpacing(14)
        sides.addLayout(_side(label(person, "heading"), self._person_note, self.person), 1)
        sides.addLayout(_side(self._model_title, self._model_note, self.model, self._stop), 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(6)
        outer.addLayout(sides, 1)
        outer.addLayout(self._notes())
        outer.addWidget(self.strip)

    def set_picture(self, picture: Picture | None) -> None:
        """Show a chart on both sides, without maps and tokens."""
        self.person.set_picture(picture)
        self.model.set_picture(picture)
        self.strip.set_picture(picture)
        self.set_model_note("")
        self.set_seen(())
        self.set_way_in("")
        self.set_patch_note("")

    def set_trace(self, trace: AttentionTrace) -> None:
        """Show the tokens of a finished answer."""
        self.strip.set_tokens(trace.tokens, trace.top)

    def set_map(self, made: AttentionMap | None) -> None:
        """Lay a map over the model's side; one without attention on the chart is told as such."""
        self.model.set_heat(None if made is None else heat_of(made))

    def set_model_title(self, method: str) -> None:
        """Say what the map shows, if it is not attention weights."""
        plain = self.tr("Model: attention weights")
        self._model_title.setText(self.tr("Model: {method}").format(method=method) if method else plain)

    def set_seen(self, grids: Sequence[PatchGrid]) -> None:
        """Hatch what no grid covers, and say it."""
        self._grids = tuple(grids)
        self.model.set_seen(self._grids)
        self.set_way_in(self._note)

    def set_person_note(self, text: str) -> None:
        """Say something of the gaze, such as its rate."""
        self._person_note.setText(text)

    def set_model_note(self, text: str, *, waiting: bool = False) -> None:
        """Say something of the model, such as its answer, on one line; while waiting it can be stopped."""
        self._model_note.setText(" ".join(text.split()))
        self._stop.setVisible(waiting)

    def set_patch_note(self, text: str) -> None:
        """Say something of the patch that is pointed at, on the line that is else about the model's input."""
        self._patch_note.setText(text)
        self._patch_note.setVisible(bool(text))
        self._way_in.setVisible(not text)

    def set_way_in(self, text: str) -> None:
        """Say what the model does to the picture, such as cutting its sides off."""
        self._note = text
        said = []
        lost = unseen_share(self._grids)
        if lost > 0:
            hatched = self.tr("Hatched: {share:.0%} of the chart, not seen by the model.")
            said.append(hatched.format(share=lost))
        if text:
            said.append(self.tr("Model input: {note}").format(note=text))
        self._way_in.setText(" ".join(said))

    def _notes(self) -> QHBoxLayout:
        """Lay out the line below the charts.

        Its room is kept when it is empty: a chart that moves would move away from the gaze on it.
        """
        line = QHBoxLayout()
        line.setSpacing(14)
        for note in (self._patch_note, self._way_in):
            note.setFixedHeight(NOTES_PX)
            line.addWidget(note, 1)
        return line


def _side(title: QLabel, note: NoteLabel, canvas: ChartCanvas, *more: QWidget) -> QLayout:
    heading = QWidget()
    heading.setFixedHeight(HEADING_PX)
    # A note or a button that comes must not move the chart away from the gaze on it.
    heading.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    head = QHBoxLayout(heading)
    head.setContentsMargins(0, 0, 0, 0)
    head.addWidget(title)
    head.addWidget(note, 1)
    for widget in more:
        head.addWidget(widget)
    side = QVBoxLayout()
    side.setSpacing(4)
    side.addWidget(heading)
    side.addWidget(canvas, 1)
    return side
