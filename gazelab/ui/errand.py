"""Further work with the model on the answer that is shown, one piece at a time; it ends with the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from PyQt6.QtCore import QObject, QTimer

from gazelab.attention.base import AttentionModel
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.ui.looking import Asked, Looking
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace

T = TypeVar("T")
WATCH_MS = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work is."""

    done: int
    total: int


class Errand(QObject):
    """Runs work with the model that gave the answer.

    Parameters
    ----------
    workspace : Workspace
    looking : Looking
        When what it shows is no longer the same answer, the work is dropped.
    """

    def __init__(self, workspace: Workspace, looking: Looking) -> None:
        super().__init__(looking)
        self._work, self._looking = workspace, looking
        self._job: Job | None = None
        self._asked: Asked | None = None
        self._ended: Callable[[], None] = lambda: None
        looking.changed.connect(self._look_changed)
        # Whoever else runs the model stops this work, and nobody tells.
        self._watch = QTimer(self)
        self._watch.setInterval(WATCH_MS)
        self._watch.timeout.connect(self._look_after)

    @property
    def running(self) -> bool:
        """Whether work runs or waits."""
        return self._job is not None

    def start(
        self,
        work: Callable[[AttentionModel, Job, Asked, AttentionTrace], T],
        done: Callable[[T], None],
        failed: Callable[[GazelabError], None],
        ended: Callable[[], None],
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> bool:
        """Run work with the model, the question and the trace; what ran before is stopped.

        Parameters
        ----------
        work : callable
            Runs in the model's thread; may `report` a `Progress`.
        done, failed : callable
            At most one of them is called.
        ended : callable
            Called in any case, before them.

        Returns
        -------
        bool
            False if there is no complete answer to work on.
        """
        asked, trace = self._looking.asked, self._looking.trace
        if asked is None or trace is None or not self._looking.complete:
            return False
        self.stop()
        self._asked, self._ended = asked, ended

        def told(value: object) -> None:
            if isinstance(value, Progress):
                progress(value.done, value.total)

        self._job = self._work.models.run(
            asked.model,
            lambda model, job: work(model, job, asked, trace),
            lambda value: self._settle(lambda: done(value)),
            lambda fault: self._settle(lambda: failed(fault)),
            told,
        )
        self._watch.start()
        return True

    def stop(self) -> None:
        """Stop what runs."""
        if self._job is not None:
            self._job.cancel()
            self._settle(lambda: None)

    def _look_after(self) -> None:
        if self._job is not None and self._job.cancelled:
            self._settle(lambda: None)

    def _settle(self, then: Callable[[], None]) -> None:
        self._watch.stop()
        self._job = self._asked = None
        ended, self._ended = self._ended, lambda: None
        ended()
        then()

    def _look_changed(self) -> None:
        if self._job is not None and self._looking.asked is not self._asked:
            self.stop()
