"""Long work off the window's thread: one owned thread that takes jobs in turn.

A job is a plain function that gets its `Job`, asks it now and then whether to stop, and returns a value. The
outcome comes back on the window's thread. Stop is: ask, wait, say if it did not end.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from PyQt6.QtCore import QObject, pyqtSignal

from gazelab.core.errors import Cancelled, GazelabError

log = logging.getLogger(__name__)

STOP_DEADLINE_S = 5.0
T = TypeVar("T")


class Job(QObject):
    """One piece of work, seen from both sides.

    The working thread calls `check` and `report`; the window calls `cancel`.
    """

    _reported = pyqtSignal(object)
    _done = pyqtSignal(object)
    _failed = pyqtSignal(object)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self._cancel = threading.Event()
        self.finished = False

    @property
    def cancelled(self) -> bool:
        """Whether the window asked to stop."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ask the work to stop; its outcome is dropped."""
        self._cancel.set()

    def check(self) -> None:
        """Stop here if asked to.

        Raises
        ------
        Cancelled
            `cancel` was called.
        """
        if self._cancel.is_set():
            raise Cancelled(f"{self.name} was stopped.")

    def report(self, value: object) -> None:
        """Send an intermediate value to the window."""
        self.check()
        self._reported.emit(value)


class Worker:
    """A thread of its own that runs jobs one after another.

    Parameters
    ----------
    name : str
        Of the thread, for logs.
    """

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Job, Callable[[Job], object]] | None] = queue.SimpleQueue()
        self._alive: list[Job] = []
        self._thread: threading.Thread | None = None
        self._name = name
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return any(not job.finished for job in self._alive)

    def submit(
        self,
        name: str,
        work: Callable[[Job], T],
        done: Callable[[T], None],
        failed: Callable[[GazelabError], None],
        report: Callable[[object], None] | None = None,
        owner: QObject | None = None,
    ) -> Job:
        """Queue work; exactly one of `done` and `failed` is called later, unless it was cancelled.

        Parameters
        ----------
        name : str
            What it is, in words for the status line.
        work : callable
            Runs in the thread.
        done, failed, report : callable
            Run on the thread that called `submit`, from its event loop.
        owner : QObject, optional
            Whoever waits for the outcome: when it dies, the job is cancelled.
        """
        job = Job(name)
        self._alive = [j for j in self._alive if not j.finished]
        self._alive.append(job)

        def settle(outcome: Callable[[], None]) -> None:
            job.finished = True
            if not job.cancelled:
                outcome()

        if owner is not None:
            owner.destroyed.connect(job.cancel)
        job._done.connect(lambda value: settle(lambda: done(value)))
        job._failed.connect(lambda fault: settle(lambda: failed(fault)))
        if report is not None:
            told = report
            job._reported.connect(lambda value: None if job.cancelled else told(value))
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name=f"gazelab-{self._name}", daemon=True)
            self._thread.start()
        self._jobs.put((job, work))
        return job

    def cancel_all(self) -> None:
        """Ask every job to stop."""
        for job in self._alive:
            job.cancel()

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> bool:
        """Ask everything to stop and wait for the thread; may be called twice.

        Returns
        -------
        bool
            False if the thread still runs (it is stuck in a library's call).
        """
        self._closed = True
        self.cancel_all()
        thread = self._thread
        if thread is None:
            return True
        self._jobs.put(None)
        thread.join(deadline_s)
        if thread.is_alive():
            log.error("the %s thread does not stop", self._name)
            return False
        self._thread = None
        return True

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, work = item
            try:
                job.check()
                value = work(job)
            except GazelabError as fault:
                job._failed.emit(fault)
            except Exception as fault:
                log.exception("%s failed", job.name)
                job._failed.emit(GazelabError(f"{job.name} failed: {fault}", todo="See the log file."))
            else:
                job._done.emit(value)
            del item, job, work
