from __future__ import annotations

import threading

import pytest

from gazelab.core.errors import CameraError, GazelabError
from gazelab.ui.workers import Job, Worker


@pytest.fixture
def worker(qapp):
    made = Worker("test")
    yield made
    assert made.stop()


def test_outcomes_come_on_the_windows_thread(qtbot, worker):
    seen = []

    def work(job: Job) -> int:
        job.report("half")
        return threading.get_ident()

    def done(value: int) -> None:
        seen.append(("done", value != threading.get_ident()))

    worker.submit("a job", work, done, pytest.fail, seen.append)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen == ["half", ("done", True)]


def test_a_fault_is_told_with_its_words(qtbot, worker):
    faults: list[GazelabError] = []

    def work(_job: Job) -> None:
        raise CameraError("is gone.", where="cam", todo="Plug it in.")

    worker.submit("a job", work, pytest.fail, faults.append)
    qtbot.waitUntil(lambda: bool(faults))
    assert str(faults[0]) == "cam: is gone. Plug it in."


def test_a_bug_becomes_a_fault_and_the_thread_lives_on(qtbot, worker, caplog):
    seen: list[object] = []
    worker.submit("a job", lambda _job: 1 // 0, pytest.fail, seen.append)
    worker.submit("another", lambda _job: 7, seen.append, pytest.fail)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert "a job failed" in str(seen[0])
    assert seen[1] == 7
    assert "ZeroDivisionError" in caplog.text


def test_a_cancelled_job_says_nothing(qtbot, worker):
    started, seen = threading.Event(), []

    def work(job: Job) -> None:
        started.set()
        while True:
            job.check()

    job = worker.submit("a job", work, seen.append, seen.append)
    assert started.wait(5)
    job.cancel()
    worker.submit("the next", lambda _job: "next", seen.append, pytest.fail)
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == ["next"]


def test_U7_a_thread_that_does_not_end_is_reported(qapp, caplog):
    worker, started, let_go = Worker("stuck"), threading.Event(), threading.Event()

    def work(_job: Job) -> None:
        started.set()
        let_go.wait(30)

    worker.submit("a job", work, lambda _v: None, lambda _f: None)
    assert started.wait(5)
    assert not worker.stop(deadline_s=0.1)
    assert "does not stop" in caplog.text
    let_go.set()
    assert worker.stop()


def test_stop_may_be_called_twice_and_before_any_job(qapp):
    worker = Worker("idle")
    assert worker.stop()
    assert worker.stop()
