"""Setup: where gaze comes from, who looks, and at which screen of which size."""

from __future__ import annotations

from PyQt6.QtCore import QTimer, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gazelab.core.errors import GazelabError
from gazelab.ui.camera_look import camera_look, has_camera
from gazelab.ui.hint_board import HintBoard
from gazelab.ui.hints import SteadyHints
from gazelab.ui.parts import Card, Page, button, label, sentence, set_role
from gazelab.ui.preview import CameraPreview
from gazelab.ui.screen_form import ScreenForm
from gazelab.ui.source_form import SourceForm
from gazelab.ui.workspace import Workspace

PREVIEW_MS = 50


class SetupPage(Page):
    """Source, participant, screen; the camera's picture beside them.

    Signals
    -------
    go_on
        All is set.
    """

    go_on = pyqtSignal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_head(
            self.tr("Setup"),
            self.tr("Choose where gaze comes from, who looks, and the screen that is looked at."),
        )
        self._work = workspace
        self.source_form = SourceForm(workspace)
        self.screen_form = ScreenForm(workspace)
        self.participant = QLineEdit()
        self.participant.setPlaceholderText(self.tr("Letters and digits, such as P01"))
        self.participant.setAccessibleName(self.tr("Participant code"))
        self.participant.editingFinished.connect(self._set_participant)
        self.participant.textEdited.connect(lambda _text: self._refresh())
        self._participant_note = label(self.tr("A code, never a name."), "muted", wrap=True)
        self.preview = CameraPreview()
        self._rate = label("", "muted", wrap=True)
        self.board = HintBoard()
        self._steady = SteadyHints()
        self._next = button(self.tr("Go on  ›"), self._go_on, self.tr("Ctrl+Enter"), primary=True)
        self._timer = QTimer(self)
        self._timer.setInterval(PREVIEW_MS)
        self._timer.timeout.connect(self.refresh_preview)
        self._lay_out()
        workspace.changed.connect(self._refresh)
        self._refresh()

    def enter(self) -> None:
        """Draw the camera's picture while the page is on."""
        self.screen_form.refresh()
        self._timer.start()

    def leave(self) -> None:
        """Stop drawing it."""
        self._timer.stop()

    def next_step(self) -> None:
        """Do what Ctrl+Enter does."""
        self._set_participant()
        self._next.click()

    def _go_on(self) -> None:
        """Take the code as typed: a button that is clicked need not have taken the focus from its field."""
        self._set_participant()
        if self._work.participant:
            self.go_on.emit()

    def refresh_preview(self) -> None:
        """Show the newest reading; the timer calls it."""
        acquisition, source = self._work.acquisition, self._work.source
        if acquisition is None or source is None:
            opening = self.source_form.opening
            text = self.tr("Opening the source …") if opening else self.tr("No source is running.")
            self.preview.set_message(text)
            self.board.show_hints(())
            self._rate.setText("")
            return
        view = acquisition.snapshot()
        if acquisition.error is not None:
            self._rate.setText(str(acquisition.error))
            set_role(self._rate, "bad")
        elif view.rate_hz > 0:
            name = source.info.device or source.info.name
            text = self.tr("{device}: {rate:.0f} samples a second, measured")
            self._rate.setText(text.format(device=name, rate=view.rate_hz))
            set_role(self._rate, "muted")
        if not has_camera(self._work):
            self.preview.set_message(self.tr("This source has no camera picture."))
            self.board.show_hints(())
            return
        seen = camera_look(self._work)
        if seen is None:
            self.preview.set_message(self.tr("Waiting for the camera …"))
            return
        self.preview.set_frame(seen.frame, seen.landmarks_px, seen.features)
        self.screen_form.offer_distance(seen.distance_mm)
        self.board.show_hints(self._steady.take(seen.hints, self._work.clock()))

    def _set_participant(self) -> None:
        code = self.participant.text().strip()
        try:
            self._work.set_participant(code)
        except GazelabError as fault:
            self._participant_note.setText(sentence(fault))
            set_role(self._participant_note, "bad")
            return
        self._participant_note.setText(self.tr("A code, never a name."))
        set_role(self._participant_note, "muted")

    def _refresh(self) -> None:
        work = self._work
        code = self.participant.text().strip()
        self._next.setEnabled(work.source is not None and bool(code))
        missing = []
        if work.source is None:
            missing.append(self.tr("Start a source first."))
        if not code:
            missing.append(self.tr("Give a participant code."))
        self._next.setToolTip(" ".join(missing) or self.tr("Ctrl+Enter"))
        self._next.setText(self._next_words())

    def _next_words(self) -> str:
        if self._work.source is None:
            return self.tr("Go on  ›")
        if self._work.needs_calibration:
            return self.tr("Go on to Calibrate  ›")
        return self.tr("Go on to Record  ›")

    def _lay_out(self) -> None:
        who = Card(self.tr("Participant"))
        who.body.addWidget(self.participant)
        who.body.addWidget(self._participant_note)
        left = QVBoxLayout()
        left.setSpacing(12)
        for card in (self.source_form, who, self.screen_form):
            left.addWidget(card)
        left.addStretch(1)
        camera = Card(self.tr("Camera"))
        camera.body.addWidget(self.preview, 1)
        camera.body.addWidget(self.board)
        camera.body.addWidget(self._rate)
        effects = self.tr(
            "Switch off what alters the picture: eye-contact correction, auto-framing, background blur."
        )
        camera.body.addWidget(label(effects, "muted", wrap=True))
        sides = QHBoxLayout()
        sides.setSpacing(12)
        sides.addLayout(left, 4)
        sides.addWidget(camera, 6)
        self.body.addLayout(sides, 1)
        self.foot.addStretch(1)
        self.foot.addWidget(self._next)
