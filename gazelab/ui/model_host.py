"""Opens models once and runs work with them in a thread of its own, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gazelab.attention.base import AttentionModel, open_model
from gazelab.core.errors import GazelabError
from gazelab.ui.workers import Job, Worker

T = TypeVar("T")


class ModelHost:
    """Holds the models that were opened; `close` ends the thread."""

    def __init__(self) -> None:
        self._worker = Worker("model")
        self._open: dict[str, AttentionModel] = {}

    @property
    def busy(self) -> bool:
        """Whether work runs or waits."""
        return self._worker.busy

    def run(
        self,
        name: str,
        work: Callable[[AttentionModel, Job], T],
        done: Callable[[T], None],
        failed: Callable[[GazelabError], None],
        report: Callable[[object], None] | None = None,
    ) -> Job:
        """Run work with a model, opened at its first use; earlier work is stopped.

        Parameters
        ----------
        name : str
            For `open_model`.
        work : callable
            Runs in the thread, with the model and its job.
        done, failed, report : callable
            As in `Worker.submit`.
        """
        self._worker.cancel_all()

        def with_model(job: Job) -> T:
            if name not in self._open:
                self._open[name] = open_model(name)
            job.check()
            return work(self._open[name], job)

        return self._worker.submit("running the model", with_model, done, failed, report)

    def close(self) -> bool:
        """Stop the work and the thread; False if it is stuck in a library."""
        return self._worker.stop()
