"""Corrections in Replay: gaze moved or recalibrated by section, taken back, and seen with and without.

What is tried out is only drawn; what is saved is an entry of the session's audit file. The samples stay as
they were measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from PyQt6.QtCore import QSignalBlocker, pyqtSignal
from PyQt6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QLineEdit, QSpinBox, QVBoxLayout, QWidget

from gazelab.calibration.profile import list_profiles
from gazelab.core.errors import GazelabError
from gazelab.core.gaze import GazeView
from gazelab.pipeline import correcting
from gazelab.pipeline.corrected import live_lines
from gazelab.pipeline.replay import Replay
from gazelab.processing.shifts import move_px
from gazelab.sessions.correction_entries import Correction, ShiftEntry, UndoEntry
from gazelab.sessions.corrections import append_correction, read_corrections
from gazelab.sessions.sections import Section
from gazelab.sessions.trials import Trial
from gazelab.ui.corrections_list import CorrectionsList
from gazelab.ui.nudge_pad import NudgePad
from gazelab.ui.parts import Card, button, label, sentence
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace

FARTHEST_PX = 20_000


class CorrectionsPanel(QWidget):
    """One session's corrections, and a shift that is being tried out.

    Parameters
    ----------
    workspace : Workspace

    Signals
    -------
    tried
        Another shift is tried out: draw the moment anew, through `preview`.
    changed : str
        Read the session's gaze anew, with these layers.
    """

    tried = pyqtSignal()
    changed = pyqtSignal(str)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._work = workspace
        self._replay: Replay | None = None
        self._trial: Trial | None = None
        self._job: Job | None = None
        self.layers = QComboBox()
        self.layers.setAccessibleName(self.tr("Which gaze is shown"))
        for layers, text in (
            ("all", self.tr("Corrected")),
            ("live", self.tr("As it was live: drift checks only")),
            ("raw", self.tr("As recorded")),
        ):
            self.layers.addItem(text, layers)
        self.layers.activated.connect(lambda _index: self._show_layers())
        self.list = CorrectionsList()
        self.list.looked_at.connect(self._enable)
        self.pad = NudgePad()
        self.pad.nudged.connect(self._nudge)
        self.right, self.down = self._px(self.tr("px to the right")), self._px(self.tr("px down"))
        self.section = QComboBox()
        self.section.setAccessibleName(self.tr("For which trials"))
        for text in (self.tr("This trial"), self.tr("From this trial on"), self.tr("Whole session")):
            self.section.addItem(text)
        self.reason = QLineEdit()
        self.reason.setAccessibleName(self.tr("Reason"))
        self.reason.setPlaceholderText(self.tr("Why? Kept with the correction."))
        self.reason.textChanged.connect(lambda _text: self._enable())
        self.profiles = QComboBox()
        self.profiles.setAccessibleName(self.tr("Calibration profile"))
        needs = self.tr("Needs a reason, in the field below")
        self._back = button(self.tr("Undo"), self._undo_or_redo, needs)
        needs = self.tr("Needs a shift and a reason")
        self._save = button(self.tr("Save the shift"), self._save_shift, needs, primary=True)
        self._reset = button(self.tr("Reset"), self.reset, self.tr("Shift by nothing"))
        self._recalibrate = button(
            self.tr("Recalibrate"), self._save_profile, self.tr("Predict the gaze anew by this calibration")
        )
        self._lay_out()
        self.set_replay(None)

    @property
    def shift_px(self) -> tuple[int, int]:
        """What is tried out: + right, + down."""
        return self.right.value(), self.down.value()

    def set_replay(self, replay: Replay | None) -> None:
        """Show a session's corrections, or none."""
        self._replay = replay
        self._trial = None
        self.reset()
        self.profiles.clear()
        if replay is None:
            self.list.clear()
        else:
            self.layers.setCurrentIndex(self.layers.findData(replay.layers))
            try:
                log = read_corrections(replay.session.path)
                self.list.show_log(live_lines(replay.session, log), log, replay.trials)
            except GazelabError as fault:
                self._failed(fault)
            if replay.session.header.feature_version:
                for path in list_profiles(self._work.root, replay.session.header.participant):
                    self.profiles.addItem(path.name, path)
        self._enable()

    def show_trial(self, trial: Trial) -> None:
        """Take note which trial is shown; a shift that was tried out goes on."""
        self._trial = trial
        self._enable()

    def preview(self, view: GazeView) -> GazeView:
        """Give what is to be drawn: moved by what is tried out."""
        dx_px, dy_px = self.shift_px
        if not dx_px and not dy_px:
            return view
        samples, fixations = view.samples.copy(), view.fixations.copy()
        move_px(samples, dx_px, dy_px)
        fixations["x_px"] += dx_px
        fixations["y_px"] += dy_px
        return replace(view, samples=samples, fixations=fixations)

    def reset(self) -> None:
        """Try out nothing."""
        self._set_shift(0, 0)

    def _px(self, name: str) -> QSpinBox:
        box = QSpinBox()
        box.setRange(-FARTHEST_PX, FARTHEST_PX)
        box.setSuffix(self.tr(" px"))
        box.setAccessibleName(name)
        box.valueChanged.connect(lambda _value: self._shift_changed())
        return box

    def _nudge(self, dx_px: int, dy_px: int) -> None:
        self._set_shift(self.right.value() + dx_px, self.down.value() + dy_px)

    def _set_shift(self, dx_px: int, dy_px: int) -> None:
        with QSignalBlocker(self.right), QSignalBlocker(self.down):
            self.right.setValue(dx_px)
            self.down.setValue(dy_px)
        self._shift_changed()

    def _shift_changed(self) -> None:
        self.pad.set_shift(*self.shift_px)
        self._enable()
        if self._trial is not None:
            self.tried.emit()

    def _show_layers(self) -> None:
        layers = str(self.layers.currentData())
        if self._replay is not None and layers != self._replay.layers:
            self.reset()
            self.changed.emit(layers)

    def _section(self, trial: Trial) -> Section:
        return (
            Section(trials=(trial.index, trial.index)),
            Section(from_ns=trial.onset_ns),
            Section(),
        )[self.section.currentIndex()]

    def _save_shift(self) -> None:
        replay, trial = self._replay, self._trial
        if replay is not None and trial is not None:
            dx_px, dy_px = self.shift_px
            entry = ShiftEntry(self._section(trial), float(dx_px), float(dy_px))
            self._do(lambda reason: correcting.shift(replay.session, entry, reason))

    def _save_profile(self) -> None:
        replay, trial = self._replay, self._trial
        path = cast(Path | None, self.profiles.currentData())
        if replay is not None and trial is not None and path is not None:
            section = self._section(trial)
            self._do(lambda reason: correcting.recalibrate(replay.session, path, section, reason))

    def _undo_or_redo(self) -> None:
        replay, entry = self._replay, self.list.chosen
        if replay is None or entry is None:
            return
        taken_back = entry if entry.in_force else self.list.undo_of(entry)
        if taken_back is not None:
            undo = UndoEntry(taken_back.number)
            self._do(lambda reason: append_correction(replay.session.path, undo, reason))

    def _do(self, write: Callable[[str], Correction]) -> None:
        reason = self.reason.text()
        self.list.setFocus()  # the buttons are about to be disabled, which would send the focus away
        self._save.setEnabled(False)

        def done(_made: Correction) -> None:
            self.reason.clear()
            self.reset()
            self.changed.emit("all")

        self._job = self._work.io.submit(
            self.tr("writing the correction"), lambda _job: write(reason), done, self._failed
        )

    def _failed(self, fault: GazelabError) -> None:
        self._work.told.emit(sentence(fault), "bad")
        self._enable()

    def _enable(self) -> None:
        there = self._replay is not None and self._trial is not None
        why = bool(self.reason.text().strip())
        moved = self.shift_px != (0, 0)
        entry = self.list.chosen
        self._back.setText(self.tr("Undo") if entry is None or entry.in_force else self.tr("Put back"))
        self._back.setEnabled(there and why and entry is not None)
        self._save.setEnabled(there and why and moved)
        self._reset.setEnabled(moved)
        for widget in (self.pad, self.right, self.down, self.section, self.reason, self.layers):
            widget.setEnabled(there)
        self.profiles.setEnabled(there and self.profiles.count() > 0)
        self._recalibrate.setEnabled(there and why and self.profiles.count() > 0)

    def _lay_out(self) -> None:
        seen = Card(self.tr("Gaze"))
        seen.body.addWidget(self.layers)
        seen.body.addWidget(self.list, 1)
        line = QHBoxLayout()
        line.addWidget(label(self.tr("The samples stay as measured."), "muted"), 1)
        line.addWidget(self._back)
        seen.body.addLayout(line)
        change = Card(self.tr("Correct"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.addWidget(self.pad, 0, 0, 2, 1)
        for row, (text, box) in enumerate(((self.tr("Right"), self.right), (self.tr("Down"), self.down))):
            grid.addWidget(label(text, "muted"), row, 1)
            grid.addWidget(box, row, 2)
        grid.setColumnStretch(2, 1)
        change.body.addLayout(grid)
        change.body.addWidget(self.section)
        change.body.addWidget(self.reason)
        line = QHBoxLayout()
        line.addWidget(self._reset)
        line.addWidget(self._save, 1)
        change.body.addLayout(line)
        line = QHBoxLayout()
        line.addWidget(self.profiles, 1)
        line.addWidget(self._recalibrate)
        change.body.addLayout(line)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 8, 0, 0)
        lines.setSpacing(12)
        lines.addWidget(seen, 1)
        lines.addWidget(change)
