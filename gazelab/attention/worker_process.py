"""The process that holds a large model: takes questions from a pipe, and sends each token with its look.

It is started afresh (spawned), so it holds neither a window nor a camera, and what it does to memory happens
to it alone. It ends with the pipe: when the app has gone, however it went, so has this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from gazelab.attention.base import AttentionModel, open_model
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.interrupt import stopping_at
from gazelab.core.errors import Cancelled, GazelabError
from gazelab.core.picture import Picture

Opener = Callable[..., AttentionModel]
"""Called as `open_model` is; given by reference, so it must be found by its name in a module."""
NICE = 5
"""How far the model steps back behind the window and the camera, where the system knows niceness."""
OOM_SCORE = 500
"""Where memory runs out on Linux, this process is ended rather than one that is recording."""


def serve(pipe: Connection, name: str, options: ModelOptions, opener: Opener = open_model) -> None:
    """Open a model and answer until the pipe closes; the process's main function.

    Messages in: (number, verb, arguments); verb "stop" ends the work of that number. Messages out: (number,
    kind, value), of kind "step", "progress", and as the last of its number "done", "stopped" or "fault".
    """
    step_back()
    service = _Service(pipe)
    threading.Thread(target=service.listen, name="listener", daemon=True).start()
    service.run(0, partial(service.open, name, options, opener))
    while (message := service.inbox.get()) is not None:
        number, verb, arguments = message
        service.run(number, partial(getattr(service, verb), *arguments))


def step_back() -> None:
    """Let the window and the camera go first, and let the system end this process first."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C in the terminal is for the app, which then closes us
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))


class _Service:
    """What can be asked of the process; a method a verb."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self.inbox: SimpleQueue[tuple[int, str, tuple[Any, ...]] | None] = SimpleQueue()
        self._model: AttentionModel | None = None
        self._picture: Picture | None = None
        self._number = 0
        self._stopped = -1

    def listen(self) -> None:
        """Take messages while the model works; a stop counts at once."""
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):  # whoever asked has gone: nothing is worth finishing
                os._exit(0)
            if message[1] == "stop":
                self._stopped = max(self._stopped, message[0])
            else:
                self.inbox.put(message)

    def run(self, number: int, work: Callable[[], object]) -> None:
        """Do one piece of work, and send how it ended."""
        self._number = number
        try:
            self._send("done", work())
        except Cancelled:
            self._send("stopped", None)
        except GazelabError as fault:
            self._send("fault", (fault.what, fault.where, fault.todo))

    def open(self, name: str, options: ModelOptions, opener: Opener) -> dict[str, Any]:
        """Open the model, and tell about it."""
        self._model = model = opener(
            name, **options.as_arguments(), progress=lambda *told: self._send("progress", told)
        )
        facts = ("model_id", "about", "kind", "layers", "n_heads")
        return {"revision": model.revision, **{fact: getattr(model, fact) for fact in facts}}

    def head(self, picture: Any, question: str) -> object:
        """Tell what is known before the first token."""
        return self._opened.head(self._seen(picture), question)

    def stream(self, picture: Any, question: str, max_tokens: int) -> None:
        """Answer; each token goes out with the answer so far."""
        model, steps = self._opened, []
        with stopping_at(model, self._check):
            for step in model.stream(self._seen(picture), question, max_tokens):
                steps.append(step)
                self._check()
                self._send("step", (step, model.answer_text(steps)))

    def answer_text(self, steps: list[Any]) -> str:
        """Spell an answer."""
        return self._opened.answer_text(steps)

    def call(self, function: Callable[..., object], arguments: tuple[Any, ...], telling: bool) -> object:
        """Run a function with the model; where somebody listens, it tells how far it is."""
        more = {"progress": lambda *told: self._send("told", told)} if telling else {}
        with stopping_at(self._opened, self._check):
            return function(self._opened, *arguments, **more)

    @property
    def _opened(self) -> AttentionModel:
        if self._model is None:
            raise GazelabError("the model was not opened.")
        return self._model

    def _seen(self, picture: Any) -> Picture:
        """Take a picture that was sent, or the last one again."""
        if picture is not None:
            self._picture = Picture(*picture)
        if self._picture is None:
            raise GazelabError("no picture was sent.")
        return self._picture

    def _check(self) -> None:
        if self._stopped >= self._number:
            raise Cancelled("the answer was stopped.")

    def _send(self, kind: str, value: object) -> None:
        with self._lock:
            try:
                self._pipe.send((self._number, kind, value))
            except OSError:
                os._exit(0)
