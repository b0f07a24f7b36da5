"""Replay: what a participant looked at beside what a model attended to, on the same chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QKeySequence, QShortcut
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget

from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.pipeline.blur import sigma_of
from gazelab.pipeline.layers import Layers
from gazelab.pipeline.replay import Replay
from gazelab.sessions.trials import Trial
from gazelab.ui.canvas import Heat
from gazelab.ui.corrections_panel import CorrectionsPanel
from gazelab.ui.gaze_plot import GazePlot
from gazelab.ui.look_tools import LookTools
from gazelab.ui.pair_view import PairView
from gazelab.ui.parts import Page, label
from gazelab.ui.quality_view import QualityTab
from gazelab.ui.replay_model import ReplayModel
from gazelab.ui.replay_side import AttentionTab, ScoresTab
from gazelab.ui.session_choice import SessionChoice
from gazelab.ui.side_tabs import SideTabs
from gazelab.ui.timeline import gaps_of
from gazelab.ui.transport import Transport
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace


class ReplayPage(Page):
    """One session, trial by trial.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_head(
            self.tr("Replay"),
            self.tr("Gaze and attention weights side by side. Where they agree is measured, not explained."),
        )
        self._work = workspace
        self._replay: Replay | None = None
        self._complained = False
        self._trial: Trial | None = None
        self._loading: Job | None = None
        self.choice = SessionChoice(workspace)
        self.choice.opened.connect(self.open_session)
        self.choice.trial_chosen.connect(self._show_trial)
        self.pair = PairView(self.tr("Person: gaze and fixations"))
        self.transport = Transport()
        self.transport.moved.connect(self._show_moment)
        self.plot = GazePlot()
        self.plot.moved.connect(self._go_to)
        self.attention = AttentionTab(workspace.settings.model.name)
        self.agreement = ScoresTab()
        self.model_choice, self.scores = self.attention.model_choice, self.agreement.scores
        self.side = SideTabs()
        self.quality = QualityTab(workspace)
        self.quality.trial_chosen.connect(self.choice.go_to)
        self.quality.judged.connect(self._describe)
        self.side.addTab(self.attention, self.tr("Attention"))
        self.side.addTab(self.agreement, self.tr("Scores"))
        self.attention.scores_asked.connect(lambda: self.side.setCurrentWidget(self.agreement))
        self._model = ReplayModel(workspace, self.pair, self.attention, self.agreement)
        self._model.failed.connect(self._failed)
        looking, panel = self._model.looking, self.attention.panel
        self.tools = LookTools(workspace, looking, panel, self.side, self._work_failed)
        self.side.addTab(self.quality, self.tr("Quality"))
        self.corrections = CorrectionsPanel(workspace)
        self.corrections.tried.connect(lambda: self._show_moment(self.transport.timeline.now_ns))
        self.corrections.changed.connect(self._read_again)
        self.side.addTab(self.corrections, self.tr("Corrections"))
        self._question = label("", wrap=True)
        self._lay_out()
        self._add_keys()
        self._tell_nothing(self.tr("Choose a session above, or record one."))

    @property
    def trial(self) -> Trial | None:
        """The trial that is shown."""
        return self._trial

    @property
    def trace(self) -> AttentionTrace | None:
        """The model's trace of it, once it is there."""
        return self._model.trace

    def enter(self) -> None:
        """Look which sessions there are."""
        self.choice.refresh()
        self._model.resume()

    def seek(self, share: float) -> None:
        """Go to a share of the trial, 0..1."""
        self._go_to(round(share * self.transport.timeline.duration_ns))

    def _go_to(self, now_ns: int) -> None:
        self.transport.timeline.set_now(now_ns)
        self.transport.rewound()
        self._show_moment(now_ns)

    def set_layers(self, *, gaze: bool, fixations: bool, heat: bool) -> None:
        """Choose what lies on the person's chart."""
        self._trail_box.setChecked(gaze)
        self._fixation_box.setChecked(fixations)
        self._heat_box.setChecked(heat)

    def leave(self) -> None:
        """Stop playing, and what the model is doing beside."""
        self.transport.stop()
        self.tools.errand.stop()

    def open_session(self, path: Path) -> None:
        """Read a session in the background and show its first trial."""
        # Nothing of the one before may be chosen or read beside the name of this one.
        self._replay = None
        self.choice.set_session(path, ())
        self.quality.set_replay(None)
        self.corrections.set_replay(None)
        self.pair.set_person_note("")
        if self._complained:
            self._complained = False
            self._work.told.emit("", "muted")
        self._tell_nothing(self.tr("Reading {name} …").format(name=path.name))
        self._read(path, "all", self._opened)

    def _read(self, path: Path, layers: Layers, done: Callable[[Replay], None]) -> None:
        if self._loading is not None:
            self._loading.cancel()

        detector = self._work.settings.events.detector

        def work(_job: Job) -> Replay:
            replay = Replay.open_or_live(path, layers, detector)
            for trial in replay.trials:
                replay.fixations(trial)
            return replay

        self._loading = self._work.io.submit(self.tr("reading the session"), work, done, self._failed)

    def _read_again(self, layers: Layers) -> None:
        """Show the same moment with other corrections."""
        if self._replay is not None:
            self._read(self._replay.session.path, layers, self._corrected)

    def _corrected(self, replay: Replay) -> None:
        index, now_ns = self._trial.index if self._trial else 0, self.transport.timeline.now_ns
        self._replay = replay
        self.quality.set_replay(replay)
        self.corrections.set_replay(replay)
        if replay.problem:
            self._work.told.emit(replay.problem, "bad")
        if replay.trials:
            self._show_trial(index)
            self._go_to(now_ns)

    def _opened(self, replay: Replay) -> None:
        self._replay = replay
        self.choice.set_session(replay.session.path, replay.trials)
        self.quality.set_replay(replay)
        self.corrections.set_replay(replay)
        problems = [replay.problem] if replay.problem else replay.session.report
        if problems:
            self._complained = True
            self._work.told.emit(problems[0], "warn")
        if replay.trials:
            self._show_trial(0)
            self.transport.timeline.setFocus()
        else:
            self._tell_nothing(self.tr("This session has no trials: no chart was shown."))

    def _failed(self, fault: GazelabError) -> None:
        self._complained = True
        self._work.told.emit(str(fault), "bad")
        if self._trial is None:
            self._tell_nothing(str(fault))
        else:
            self._model.tell(fault)

    def _work_failed(self, fault: GazelabError) -> None:
        """Tell of work beside the answer; what is shown stays."""
        self._work.told.emit(str(fault), "bad")

    def _show_trial(self, index: int) -> None:
        replay = self._replay
        if replay is None:
            return
        trial = replay.trials[index]
        self._trial = trial
        self.quality.show_trial(index)
        self.corrections.show_trial(trial)
        self._model.clear()
        try:
            self.pair.set_picture(replay.picture(trial))
        except GazelabError as fault:
            self._tell_nothing(str(fault))
            return
        self._describe()
        events = replay.online_fixations(trial).copy()
        for name in ("onset_ns", "offset_ns"):
            events[name] -= trial.onset_ns
        samples = replay.samples(trial)
        duration_ns = trial.offset_ns - trial.onset_ns
        self.transport.timeline.set_trial(duration_ns, events, gaps_of(samples, trial))
        self.plot.set_trial(samples, events, trial.onset_ns, duration_ns, replay.screen)
        self.plot.show()
        self.transport.rewound()
        self._show_heat()
        self._show_moment(0)
        self._model.show(replay, trial)

    def _show_moment(self, since_ns: int) -> None:
        replay, trial = self._replay, self._trial
        if replay is None or trial is None:
            return
        view = self.corrections.preview(replay.view_at(trial, trial.onset_ns + since_ns))
        self.pair.person.set_view(view)
        self.plot.set_now(since_ns)
        if np.isfinite(view.rate_hz):
            text = self.tr("{rate:.0f} Hz, {loss:.0%} lost").format(rate=view.rate_hz, loss=view.data_loss)
            self.pair.set_person_note(text)

    def _show_heat(self) -> None:
        replay, trial = self._replay, self._trial
        if replay is None or trial is None or not self._heat_box.isChecked():
            self.pair.person.set_heat(None)
            return
        sigma_px, _ = sigma_of(replay, trial)
        self.pair.person.set_heat(Heat(replay.density(trial, sigma_px)))

    def _describe(self) -> None:
        trial = self._trial
        if trial is None:
            return
        given = trial.given if trial.given is not None else self.tr("none")
        gold = trial.answer if trial.answer is not None else self.tr("unknown")
        text = self.tr("{question}   Answered: {given}.   Expected: {gold}.")
        said = [text.format(question=trial.question, given=given, gold=gold)]
        if trial.n_focus_lost:
            times = self.tr("Another window took the keyboard {n} times.")
            said.append(times.format(n=trial.n_focus_lost))
        if verdict := self.quality.verdict(trial.index):
            words = self.tr("Gaze: {verdict}").format(verdict=verdict)
            said.append(words.replace(" ", "\N{NO-BREAK SPACE}"))  # the mark stays with its word
        self._question.setText("   ".join(said))

    def _tell_nothing(self, why: str) -> None:
        self._trial = None
        self._model.clear()
        self.pair.set_picture(None)
        self.pair.person.set_message(why)
        self.pair.model.set_message("")
        self._question.setText("")
        empty: NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self.transport.timeline.set_trial(0, self.pair.person.view.fixations[:0], empty)
        self.plot.show_nothing()
        self.plot.hide()
        self.transport.rewound()

    def _lay_out(self) -> None:
        self._trail_box = self._layer_box(self.tr("Gaze"), True)
        self._fixation_box = self._layer_box(self.tr("Fixations"), True)
        self._heat_box = self._layer_box(self.tr("Heat map"), False)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.choice, 1)
        top.addWidget(self.side.toggle())
        self.body.addLayout(top)
        line = QHBoxLayout()
        line.addWidget(self._question, 1)
        for box in (self._trail_box, self._fixation_box, self._heat_box):
            line.addWidget(box)
        left = QVBoxLayout()
        left.setSpacing(8)
        left.addLayout(line)
        left.addWidget(self.pair, 1)
        left.addWidget(self.plot)
        left.addWidget(self.transport)
        sides = QHBoxLayout()
        sides.setSpacing(14)
        sides.addLayout(left, 1)
        sides.addWidget(self.side)
        self.body.addLayout(sides, 1)

    def _layer_box(self, text: str, on: bool) -> QCheckBox:
        box = QCheckBox(text)
        box.setChecked(on)
        box.toggled.connect(lambda _on: self._show_layers())
        return box

    def _show_layers(self) -> None:
        canvas = self.pair.person
        canvas.show_trail = self._trail_box.isChecked()
        canvas.show_fixations = self._fixation_box.isChecked()
        self._show_heat()
        canvas.update()

    def _add_keys(self) -> None:
        for keys, do in (
            (Qt.Key.Key_PageUp, lambda: self.choice.step(-1)),
            (Qt.Key.Key_PageDown, lambda: self.choice.step(1)),
            ("Ctrl+Left", lambda: self.pair.strip.step(-1)),
            ("Ctrl+Right", lambda: self.pair.strip.step(1)),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.activated.connect(do)
