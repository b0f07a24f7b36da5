"""Ask a model in the background and show its answer as it comes, token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PyQt6.QtCore import QObject, QTimer

from gazelab.attention.base import MAX_TOKENS, AttentionModel, TokenStep, TraceHead, trace_of
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.core.picture import Picture
from gazelab.pipeline.map_choice import MapChoice
from gazelab.ui.pair_view import PairView
from gazelab.ui.token_strip import ALL_TOKENS
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace

PACE_MS = 450
"""Least time a token stays: a small model answers faster than anybody can look."""


class Stoppable:
    """A model whose work on a trace ends when its job is cancelled.

    Parameters
    ----------
    model : AttentionModel
    job : Job
        Asked after every token.
    """

    def __init__(self, model: AttentionModel, job: Job) -> None:
        self._model, self._job = model, job
        self.model_id, self.revision = model.model_id, model.revision
        self.about, self.kind = model.about, model.kind
        self.layers, self.n_heads = model.layers, model.n_heads

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
        for step in self._model.stream(picture, question, max_tokens):
            self._job.check()
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
    """

    def __init__(self, workspace: Workspace, pair: PairView, failed: Callable[[GazelabError], None]) -> None:
        super().__init__(pair)
        self._work, self._pair, self._tell_fault = workspace, pair, failed
        self.trace: AttentionTrace | None = None
        self._waiting: list[AttentionTrace] = []
        self._whole: AttentionTrace | None = None
        self._job: Job | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(PACE_MS)
        self._timer.timeout.connect(self.show_next)
        pair.token_chosen.connect(self._show_token)
        pair.stop_asked.connect(self._stop_asked)

    @property
    def running(self) -> bool:
        """Whether an answer is on its way."""
        return self._timer.isActive()

    def ask(self, model: str, picture: Picture, question: str) -> None:
        """Ask; an answer that is still on its way is dropped."""
        self.stop()
        self._pair.strip.clear()
        self._pair.set_map(None)
        self._pair.set_model_note(self.tr("The model is reading …"), waiting=True)

        def work(opened: AttentionModel, job: Job) -> AttentionTrace:
            head = opened.head(picture, question)
            steps: list[TokenStep] = []
            for step in opened.stream(picture, question):
                steps.append(step)
                job.report(trace_of(head, steps, opened.answer_text(steps)))
            return trace_of(head, steps, opened.answer_text(steps))

        self._timer.start()
        self._job = self._work.models.run(model, work, self._finished, self._broken, self._came)

    def stop(self) -> None:
        """Drop the answer that is on its way."""
        if self._job is not None:
            self._job.cancel()
        self._timer.stop()
        self._waiting, self._whole, self._job, self.trace = [], None, None, None

    def show_next(self) -> None:
        """Show one more token, or the end; the timer calls it."""
        if self._waiting:
            self.trace = self._waiting.pop(0)
            newest = len(self.trace.tokens) - 1
            self._pair.strip.append(self.trace.tokens[newest])
            self._pair.strip.choose(newest)
            self._show_token(newest)
        elif self._whole is not None:
            self.trace, self._whole = self._whole, None
            self._timer.stop()
            self._pair.set_model_note(self.tr("Answer: {answer}").format(answer=self.trace.answer or "–"))
            self._pair.set_way_in(self.trace.note)

    def _stop_asked(self) -> None:
        self.stop()
        self._pair.set_model_note(self.tr("Stopped."))

    def _came(self, partial: object) -> None:
        if isinstance(partial, AttentionTrace):
            self._waiting.append(partial)

    def _finished(self, whole: AttentionTrace) -> None:
        self._whole = whole

    def _broken(self, fault: GazelabError) -> None:
        self.stop()
        self._pair.set_model_note(str(fault))
        self._tell_fault(fault)

    def _show_token(self, index: int) -> None:
        if self.trace is not None and self.trace.tokens:
            tokens = None if index == ALL_TOKENS else (index,)
            self._pair.set_map(MapChoice(tokens=tokens).of(self.trace))
