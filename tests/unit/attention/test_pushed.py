import threading
from contextlib import suppress

import pytest

from gazelab.attention import pushed
from gazelab.attention.pushed import pulled
from gazelab.core.errors import AttentionError


def count_to(n):
    def run(push, check):
        for i in range(n):
            push(i)

    return run


@pytest.mark.parametrize("n", [0, 1, 5])
def test_items_come_in_order_and_the_thread_is_gone(n):
    before = threading.active_count()
    assert list(pulled(count_to(n), "count")) == list(range(n))
    assert threading.active_count() == before


def test_a_fault_comes_after_the_items_before_it():
    def run(push, check):
        push(1)
        raise AttentionError("no more")

    items = pulled(run, "faulty")
    assert next(items) == 1
    with pytest.raises(AttentionError, match="no more"):
        next(items)


def test_closing_unwinds_the_run_through_code_that_catches_exceptions():
    unwound = threading.Event()

    def run(push, check):
        try:
            while True:
                with suppress(Exception):  # what a library may do
                    push(0)
        finally:
            unwound.set()

    items = pulled(run, "endless")
    assert next(items) == 0
    items.close()
    assert unwound.is_set()


def test_closing_stops_a_run_between_its_items():

    def run(push, check):
        push(0)
        while True:
            check()

    items = pulled(run, "silent")
    assert next(items) == 0
    items.close()
    assert "silent" not in [thread.name for thread in threading.enumerate()]


def test_a_run_that_does_not_stop_is_an_error(monkeypatch):
    monkeypatch.setattr(pushed, "STOP_S", 0.01)
    go_on = threading.Event()

    def run(push, check):
        push(0)
        go_on.wait(5)

    items = pulled(run, "stuck")
    next(items)
    with pytest.raises(AttentionError, match="stuck: the model did not stop in time"):
        items.close()
    go_on.set()
