"""A model in a process of its own, used like any other: what it takes or breaks is not the app's.

Where memory runs out, the system ends the process that holds most of it: here that is no longer the one that
records. And a window stands still while torch and transformers are loaded beside it: at worst 1.7 s if they
are loaded in its own process, 0.17 s in another, on the same busy machine. While a model answers there is no
such difference: torch gives Python's lock back. The process costs 0.4 GB beside the model.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

import numpy as np

from gazelab.attention.base import MAX_TOKENS, AttentionModel, TokenStep, TraceHead, open_model, trace_of
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.hub_download import Progress, silent
from gazelab.attention.worker_process import Opener, serve
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError, Cancelled
from gazelab.core.picture import Picture

log = logging.getLogger(__name__)

POLL_S = 0.1
"""How often a waiting reader asks whether to stop."""
STOP_S = 20.0
"""How long a process may take to stop its work, or to end, before it is killed."""
T = TypeVar("T")


class ProcessModel:
    """A model in another process, as an `AttentionModel`; one thread at a time may use it.

    Parameters
    ----------
    name, options
        As for `open_model`.
    opener : callable
        What opens it there.
    """

    def __init__(self, name: str, options: ModelOptions, opener: Opener = open_model) -> None:
        self._name, self._options, self._opener = name, options, opener
        self._process: Any = None
        self._pipe: Connection | None = None
        self._number = 0
        self._busy: int | None = None
        self._sent = ""
        self._texts: dict[tuple[int, ...], str] = {}
        self._check: Callable[[], None] = lambda: None
        self._progress: Progress = silent
        self._told: Callable[[int, int], None] | None = None
        self.model_id, self.about, self.kind = name, "", "self"
        self.layers: tuple[int, ...] = ()
        self.n_heads = 0
        self.revision = ""

    @classmethod
    def open(
        cls,
        name: str,
        options: ModelOptions = ModelOptions(),  # noqa: B008  (frozen)
        *,
        check: Callable[[], None] = lambda: None,
        progress: Progress = silent,
        opener: Opener = open_model,
    ) -> ProcessModel:
        """Start a process and open a model in it.

        Parameters
        ----------
        check : callable
            Called while it opens; what it raises ends the process.
        progress : callable
            Told of a download.

        Raises
        ------
        AttentionError
            It cannot be opened, or the process ended.
        """
        model = cls(name, options, opener)
        model._progress = progress
        with model.checking(check):
            model._start()
        return model

    @property
    def pid(self) -> int | None:
        """The process's number; None while there is none."""
        return None if self._process is None else int(self._process.pid)

    @contextmanager
    def checking(self, check: Callable[[], None]) -> Iterator[None]:
        """Call `check` while the model is waited for; what it raises stops the model."""
        before, self._check = self._check, check
        try:
            yield
        finally:
            self._check = before

    def head(self, picture: Picture, question: str) -> TraceHead:
        """Tell all that is known before the first token."""
        return cast(TraceHead, self._ask("head", lambda: (self._shown(picture), question)))

    def stream(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> Iterator[TokenStep]:
        """Answer a question; each token as soon as it is known. Closing the iterator stops the model."""
        self._texts.clear()
        number = self._begin("stream", lambda: (self._shown(picture), question, max_tokens))
        ids: list[int] = []
        try:
            for kind, value in self._answers(number):
                if kind == "step":
                    step, text = value
                    ids.append(step.token_id)
                    self._texts[tuple(ids)] = text
                    yield step
        finally:
            self._stop()

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        """Give the answer that the steps spell."""
        ids = tuple(step.token_id for step in steps)
        if ids not in self._texts:
            light = [_without_weights(step) for step in steps]
            self._texts[ids] = str(self._ask("answer_text", lambda: (light,)))
        return self._texts[ids]

    def trace(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> AttentionTrace:
        """Answer a question and keep the whole look."""
        steps = list(self.stream(picture, question, max_tokens))
        return trace_of(self.head(picture, question), steps, self.answer_text(steps))

    def call(
        self,
        function: Callable[..., T],
        *arguments: Any,
        progress: Callable[[int, int], None] | None = None,
    ) -> T:
        """Run a function of the model there: `function(model, *arguments)`.

        Parameters
        ----------
        function : callable
            Of a module's top level; its arguments and its outcome must be plain data.
        progress : callable, optional
            If given, the function gets a `progress` of its own, and what it tells that comes here.
        """
        before, self._told = self._told, progress
        try:
            return cast(T, self._ask("call", lambda: (function, arguments, progress is not None)))
        finally:
            self._told = before

    def close(self) -> None:
        """End the process; may be called twice, and the next question would start it again."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = self._busy = None
        if pipe is not None:
            pipe.close()  # the process ends with it
        if process is not None:
            process.join(STOP_S)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def _start(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(
            target=serve,
            args=(theirs, self._name, self._options, self._opener),
            name="gazelab-model",
            daemon=True,
        )
        process.start()
        theirs.close()  # only the process holds it now: when it dies, ours says so
        self._process, self._pipe, self._sent, self._busy = process, ours, "", 0
        self._number = 0
        try:
            for _, facts in self._answers(0):
                for name, value in facts.items():
                    setattr(self, name, value)
        except BaseException:
            self._kill()  # half a model is worth nothing
            raise

    def _ask(self, verb: str, arguments: Callable[[], tuple[Any, ...]]) -> Any:
        return self._outcome(self._begin(verb, arguments))

    def _begin(self, verb: str, arguments: Callable[[], tuple[Any, ...]]) -> int:
        """Send a request; work that still runs is stopped, and a process that has died is started again."""
        self._stop()
        if self._process is not None and not self._process.is_alive():
            self._kill()
        if self._pipe is None:
            self._start()
        self._number += 1
        self._busy = self._number
        self._send((self._number, verb, arguments()))
        return self._number

    def _outcome(self, number: int) -> Any:
        try:
            return [value for _, value in self._answers(number)][-1]
        finally:
            self._stop()

    def _answers(self, number: int) -> Iterator[tuple[str, Any]]:
        """Yield what comes for a request, its outcome last."""
        while self._busy == number:
            self._check()
            if not self._ready():
                continue
            came, kind, value = self._receive()
            if came != number:
                continue
            if kind == "progress":
                self._progress(*value)
                continue
            if kind == "told":
                if self._told is not None:
                    self._told(*value)
                continue
            if kind != "step":
                self._busy = None
            if kind == "fault":
                what, where, todo = value
                raise AttentionError(what, where=where, todo=todo)
            if kind == "stopped":
                raise Cancelled("the answer was stopped.")
            yield kind, value

    def _stop(self) -> None:
        """End what still runs, and wait until it has: the model is free afterwards."""
        number = self._busy
        if number is None or self._pipe is None:
            return
        with suppress(AttentionError, Cancelled), self.checking(_Patience(STOP_S / POLL_S).check):
            self._send((number, "stop", ()))
            for _ in self._answers(number):
                pass
        if self._busy is not None:
            log.warning("the model's process does not stop; it is ended")
            self._kill()

    def _shown(self, picture: Picture) -> tuple[Any, str] | None:
        """Send a picture once: it may be large."""
        if picture.sha256 == self._sent:
            return None
        self._sent = picture.sha256
        return picture.rgb, picture.sha256

    def _ready(self) -> bool:
        return bool(self._pipe is not None and wait([self._pipe], POLL_S))

    def _send(self, message: tuple[int, str, tuple[Any, ...]]) -> None:
        try:
            cast(Connection, self._pipe).send(message)
        except OSError as fault:
            raise self._died() from fault

    def _receive(self) -> tuple[int, str, Any]:
        try:
            return cast("tuple[int, str, Any]", cast(Connection, self._pipe).recv())
        except (EOFError, OSError) as fault:
            raise self._died() from fault

    def _died(self) -> AttentionError:
        """Say how the process ended; the next question starts another."""
        process = self._process
        process.join(STOP_S)
        code = process.exitcode
        self._kill()
        why = (
            "the system ended its process, most likely because memory ran out."
            if code is not None and code < 0
            else f"its process ended (exit code {code})."
        )
        return AttentionError(
            why,
            where=self._name,
            todo="Ask again to start it anew; for less memory take a smaller model or picture, another number"
            " type (bfloat16) or a quantisation.",
        )

    def _kill(self) -> None:
        process, pipe = self._process, self._pipe
        self._process = self._pipe = self._busy = None
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()
            process.join()
            process.close()


class _Patience:
    """Raises after so many looks."""

    def __init__(self, looks: float) -> None:
        self._left = looks

    def check(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Cancelled("it does not stop.")


def _without_weights(step: TokenStep) -> TokenStep:
    none16, none32 = np.zeros((1, 1, 1, 1), np.float16), np.zeros((1, 1), np.float32)
    return TokenStep(step.text, step.token_id, step.top, none16, none32, none32)


def run_with(
    model: AttentionModel,
    function: Callable[..., T],
    *arguments: Any,
    progress: Callable[[int, int], None] | None = None,
) -> T:
    """Run a function of a model where the model is: here, or in its own process.

    Parameters
    ----------
    model : AttentionModel
    function : callable
        Called as `function(model, *arguments)`; of a module's top level, with plain data in and out.
    progress : callable, optional
        Handed to the function as `progress`: (steps done, steps in all).
    """
    if isinstance(model, ProcessModel):
        return model.call(function, *arguments, progress=progress)
    return function(model, *arguments, **({} if progress is None else {"progress": progress}))
