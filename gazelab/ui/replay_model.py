"""The model's side of Replay: its trace of the trial that is shown, one map of it, and the map's scores."""

from __future__ import annotations

from dataclasses import dataclass

from PyQt6.QtCore import QObject, pyqtSignal

from gazelab.attention.base import AttentionModel, TraceHead
from gazelab.attention.methods import Offer
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.metrics.agreement import Agreement
from gazelab.pipeline.compare import score_trial, trace_for
from gazelab.pipeline.replay import Replay
from gazelab.sessions.trials import Trial
from gazelab.ui.asking import Arrived, Watched, can_do
from gazelab.ui.look import FoundSinks, Look
from gazelab.ui.looking import Asked, Looking
from gazelab.ui.pair_view import PairView
from gazelab.ui.replay_side import AttentionTab, ScoresTab
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace


@dataclass(frozen=True, eq=False)
class _Traced:
    """A trial's trace; with `look` if it was stored, so that no token of it was told before."""

    trial: Trial
    asked: Asked
    trace: AttentionTrace
    look: Look | None
    sinks: FoundSinks | None
    offers: tuple[Offer, ...]
    about: str


class ReplayModel(QObject):
    """Asks the model in the background and shows what it gives, each token as it comes.

    Parameters
    ----------
    workspace : Workspace
    pair : PairView
        Where the map and the tokens are shown.
    tab : AttentionTab
        Where the model and the map are chosen.
    scores : ScoresTab

    Signals
    -------
    failed : GazelabError
        No trace, or no scores.
    """

    failed = pyqtSignal(object)

    def __init__(self, workspace: Workspace, pair: PairView, tab: AttentionTab, scores: ScoresTab) -> None:
        super().__init__(pair)
        self._work, self._pair, self._tab, self._scores = workspace, pair, tab, scores
        self.looking = Looking(pair, tab.panel)
        self._shown: tuple[Replay, Trial] | None = None
        self.trace: AttentionTrace | None = None
        self._scoring: Job | None = None
        self._tracing: Job | None = None
        self._stopped = False
        self.looking.changed.connect(self._score)
        pair.stop_asked.connect(self._stop)
        tab.model_changed.connect(self.ask)

    def clear(self) -> None:
        """Show no trial: an answer that is still on its way is dropped."""
        if self._tracing is not None:
            self._tracing.cancel()
        self._shown = self.trace = self._tracing = None
        self.looking.clear()
        self._tab.clear()
        self._scores.set_scores(None)

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
        self.trace, self._stopped = None, False
        self.looking.clear()
        self._set_scores(None)
        name = self._tab.model_choice.name
        opened_before = self._work.models.is_open(name)
        note = self.tr("Reading …") if opened_before else self.tr("Opening …")
        self._pair.set_model_note(note, waiting=True)

        def work(model: AttentionModel, job: Job) -> _Traced:
            watched = Watched(model, job)
            trace = trace_for(replay, trial, watched)
            look, sinks = (None, FoundSinks.of(trace)) if watched.asked else (Look.of(trace), None)
            asked = Asked(name, replay.picture(trial), trial.question)
            return _Traced(trial, asked, trace, look, sinks, can_do(model), model.about)

        self._tracing = self._work.models.run(name, work, self._traced, self._broken, self._came)

    def resume(self) -> None:
        """Ask again if other work with a model, such as on another page, has stopped the answer."""
        cut_off = self._tracing is not None and self._tracing.cancelled and not self._stopped
        if cut_off and self.trace is None:
            self.ask()

    def tell(self, fault: GazelabError) -> None:
        """Say on the model's side what went wrong."""
        self._pair.set_model_note(str(fault))

    def _score(self) -> None:
        """Score the map that is shown, once the answer is whole."""
        if self._scoring is not None:
            self._scoring.cancel()
        if self._shown is None or self.trace is None or not self.trace.tokens:
            return
        (replay, trial), trace, pick = self._shown, self.trace, self.looking.pick
        choice, made = pick.choice(), self.looking.made(pick)
        if choice.needs_model and made is None:
            self._set_scores(None)
            return

        def work(_job: Job) -> Agreement:
            return score_trial(replay, trial, made or choice.of(trace))

        self._scoring = self._work.io.submit(self.tr("scoring"), work, self._set_scores, self.failed.emit)

    def _set_scores(self, agreement: Agreement | None) -> None:
        self._tab.set_agreement(agreement)
        self._scores.set_scores(agreement)

    def _stop(self) -> None:
        self._stopped = True
        if self._tracing is not None:
            self._tracing.cancel()
        self._pair.set_model_note(self.tr("Stopped."))

    def _came(self, partial: object) -> None:
        if isinstance(partial, TraceHead):
            self.looking.begin(None, partial)
            self._pair.set_model_note(self.tr("Reading …"), waiting=True)
        elif isinstance(partial, Arrived):
            self.looking.add(partial.step, partial.sums)

    def _broken(self, fault: GazelabError) -> None:
        self.looking.clear()
        self.failed.emit(fault)

    def _traced(self, outcome: _Traced) -> None:
        trial, trace = outcome.trial, outcome.trace
        if self._shown is None or trial is not self._shown[1]:
            return
        self.trace = trace
        self._pair.set_model_note(self.tr("Answer: {answer}").format(answer=trace.answer or "–"))
        self._pair.model.setToolTip(outcome.about)
        if outcome.look is not None:
            self.looking.set_look(outcome.asked, outcome.look, outcome.offers)
        else:
            self.looking.asked = outcome.asked
            self.looking.finish(trace.answer, outcome.sinks, outcome.offers, whole=True)
