"""The model's side of Replay: its trace of the trial that is shown, one map of it, and the map's scores."""

from __future__ import annotations

from PyQt6.QtCore import QObject, pyqtSignal

from gazelab.attention.base import AttentionModel
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.pipeline.compare import score_trial, trace_for
from gazelab.pipeline.replay import Replay
from gazelab.sessions.trials import Trial
from gazelab.ui.asking import Stoppable
from gazelab.ui.pair_view import PairView
from gazelab.ui.replay_side import AttentionTab
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace


class ReplayModel(QObject):
    """Asks the model in the background and shows what it gives.

    Parameters
    ----------
    workspace : Workspace
    pair : PairView
        Where the map and the tokens are shown.
    tab : AttentionTab
        Where the model and the map are chosen, and the scores shown.

    Signals
    -------
    failed : GazelabError
        No trace, or no scores.
    """

    failed = pyqtSignal(object)

    def __init__(self, workspace: Workspace, pair: PairView, tab: AttentionTab) -> None:
        super().__init__(pair)
        self._work, self._pair, self._tab = workspace, pair, tab
        self._shown: tuple[Replay, Trial] | None = None
        self.trace: AttentionTrace | None = None
        self._scoring: Job | None = None
        self._tracing: Job | None = None
        pair.token_chosen.connect(lambda _token: self.show_map())
        pair.stop_asked.connect(self._stop)
        tab.model_changed.connect(self.ask)
        tab.map_changed.connect(self.show_map)

    def clear(self) -> None:
        """Show no trial: an answer that is still on its way is dropped."""
        self._shown = self.trace = None
        self._tab.clear()

    def show(self, replay: Replay, trial: Trial) -> None:
        """Ask the chosen model about a trial."""
        self.clear()
        self._shown = replay, trial
        self.ask()

    def ask(self) -> None:
        """Ask the chosen model about the trial that is shown."""
        if self._shown is None:
            return
        replay, trial = self._shown
        self._pair.set_model_note(self.tr("The model is reading …"), waiting=True)

        def work(model: AttentionModel, job: Job) -> tuple[Trial, AttentionTrace, str]:
            return trial, trace_for(replay, trial, Stoppable(model, job)), model.about

        name = self._tab.model_choice.name
        self._tracing = self._work.models.run(name, work, self._traced, self.failed.emit)

    def show_map(self) -> None:
        """Show the map that is chosen, and score it."""
        if self._shown is None or self.trace is None or not self.trace.tokens:
            self._pair.set_map(None)
            return
        replay, trial = self._shown
        made = self._tab.controls.choice(self._pair.strip.current).of(self.trace)
        self._pair.set_map(made)
        text, sink = (float(str(made.how[key])) for key in ("text_share", "sink_share"))
        self._tab.controls.set_shares(made.picture_share, text, sink)
        if self._scoring is not None:
            self._scoring.cancel()
        self._scoring = self._work.io.submit(
            self.tr("scoring"),
            lambda _job: score_trial(replay, trial, made),
            self._tab.set_scores,
            self.failed.emit,
        )

    def tell(self, fault: GazelabError) -> None:
        """Say on the model's side what went wrong."""
        self._pair.set_model_note(str(fault))

    def _stop(self) -> None:
        if self._tracing is not None:
            self._tracing.cancel()
        self._pair.set_model_note(self.tr("Stopped."))

    def _traced(self, outcome: tuple[Trial, AttentionTrace, str]) -> None:
        trial, trace, about = outcome
        if self._shown is None or trial is not self._shown[1]:
            return
        self.trace = trace
        self._pair.set_trace(trace)
        self._pair.set_model_note(self.tr("Answer: {answer}").format(answer=trace.answer or "–"))
        self._pair.set_way_in(trace.note)
        self._pair.model.setToolTip(about)
        self._tab.controls.set_trace(trace)
        self.show_map()
