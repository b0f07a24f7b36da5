"""Ask a model in the background and show its answer as it comes, token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from PyQt6.QtCore import QObject, QTimer

from gazelab.attention.base import MAX_TOKENS, AttentionModel, TokenStep, TraceHead, trace_of
from gazelab.attention.methods import Offer, offers
from gazelab.attention.worker import run_with
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.core.picture import Picture
from gazelab.ui.look import FoundSinks
from gazelab.ui.look_panel import LookPanel
from gazelab.ui.look_sums import StepSums, sums_of_step
from gazelab.ui.looking import Asked, Looking
from gazelab.ui.pair_view import PairView
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace

PACE_MS = 450
"""Least time a token stays: a small model answers faster than anybody can look."""


@dataclass(frozen=True, eq=False)
class Arrived:
    """A token on its way to the window, with what a click will ask of it."""

    step: TokenStep
    sums: StepSums


@dataclass(frozen=True, eq=False)
class Answered:
    """The end of an answer, with what is only known then."""

    answer: str
    sinks: FoundSinks
    offers: tuple[Offer, ...]


def can_do(model: AttentionModel) -> tuple[Offer, ...]:
    """Tell which methods a model can do; on its own thread, where it loads what they need."""
    return run_with(model, offers)


class Watched:
    """A model whose work on a trace ends when its job is cancelled, and whose tokens are told as they come.

    Parameters
    ----------
    model : AttentionModel
    job : Job
        Asked after every token; told the `TraceHead`, then an `Arrived` a token.
    """

    def __init__(self, model: AttentionModel, job: Job) -> None:
        self._model, self._job = model, job
        self.model_id, self.revision = model.model_id, model.revision
        self.about, self.kind = model.about, model.kind
        self.layers, self.n_heads = model.layers, model.n_heads
        self.asked = False

    def head(self, picture: Picture, question: str) -> TraceHead:
        """Tell what is known before the first token."""
        return self._model.head(picture, question)

    def stream(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> Iterator[TokenStep]:
        """Answer, looking after every token whether to stop.

        Raises
        ------
        Cancelled
            The job was cancelled.
        """
        self.asked = True
        self._job.report(self.head(picture, question))
        for step in self._model.stream(picture, question, max_tokens):
            self._job.report(Arrived(step, sums_of_step(step)))
            yield step

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        """Give the answer that the steps spell."""
        return self._model.answer_text(steps)

    def trace(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> AttentionTrace:
        """Answer a question and keep the whole look."""
        steps = list(self.stream(picture, question, max_tokens))
        return trace_of(self.head(picture, question), steps, self.answer_text(steps))


class Asking(QObject):
    """One question at a time; what the model gives is shown at a pace that can be followed.

    Parameters
    ----------
    workspace : Workspace
    pair : PairView
        Where tokens, map and answer are shown.
    failed : callable
        Told of a fault, which the pair shows too.
    panel : LookPanel, optional
        Beside the pair.
    """

    def __init__(
        self,
        workspace: Workspace,
        pair: PairView,
        failed: Callable[[GazelabError], None],
        panel: LookPanel | None = None,
    ) -> None:
        super().__init__(pair)
        self._work, self._pair, self._tell_fault = workspace, pair, failed
        self.looking = Looking(pair, panel)
        self._waiting: list[Arrived] = []
        self._whole: Answered | None = None
        self._asked: Asked | None = None
        self._job: Job | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(PACE_MS)
        self._timer.timeout.connect(self.show_next)
        pair.stop_asked.connect(self._stop_asked)

    @property
    def running(self) -> bool:
        """Whether an answer is on its way."""
        return self._timer.isActive()

    @property
    def trace(self) -> AttentionTrace | None:
        """The trace of the tokens that are shown."""
        return self.looking.trace

    def ask(self, model: str, picture: Picture, question: str) -> None:
        """Ask; an answer that is still on its way is dropped."""
        self.stop()
        opened_before = self._work.models.is_open(model)
        note = self.tr("Reading …") if opened_before else self.tr("Opening …")
        self._pair.set_model_note(note, waiting=True)

        def work(opened: AttentionModel, job: Job) -> Answered:
            trace = Watched(opened, job).trace(picture, question)
            return Answered(trace.answer, FoundSinks.of(trace), can_do(opened))

        self._timer.start()
        self._asked = Asked(model, picture, question)
        self._job = self._work.models.run(model, work, self._finished, self._broken, self._came)

    def stop(self) -> None:
        """Drop the answer that is on its way, and the one that is shown."""
        self._halt()
        self.looking.clear()

    def show_next(self) -> None:
        """Show one more token, or the end; the timer calls it."""
        if self._waiting:
            arrived = self._waiting.pop(0)
            self.looking.add(arrived.step, arrived.sums)
        elif self._whole is not None:
            whole, self._whole = self._whole, None
            self._timer.stop()
            self._pair.set_model_note(self.tr("Answer: {answer}").format(answer=whole.answer or "–"))
            self.looking.finish(whole.answer, whole.sinks, whole.offers)
        elif self._job is not None and self._job.cancelled:  # other work with a model has taken its place
            self._stop_asked()

    def halt(self) -> None:
        """Stop an answer that is on its way; what came of it stays."""
        if self.running:
            self._stop_asked()

    def _halt(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._timer.stop()
        self._waiting, self._whole, self._job = [], None, None

    def _stop_asked(self) -> None:
        """Stop, and keep what is shown."""
        self._halt()
        self._pair.set_model_note(self.tr("Stopped."))

    def _came(self, partial: object) -> None:
        if isinstance(partial, TraceHead) and self._asked is not None:
            self.looking.begin(self._asked, partial)
            self._pair.set_model_note(self.tr("Reading …"), waiting=True)
        elif isinstance(partial, Arrived):
            self._waiting.append(partial)

    def _finished(self, whole: Answered) -> None:
        self._whole = whole

    def _broken(self, fault: GazelabError) -> None:
        self.stop()
        self._pair.set_model_note(str(fault))
        self._tell_fault(fault)
