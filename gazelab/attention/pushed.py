"""Pull from what pushes: a callback-driven run as an iterator, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TypeVar

from gazelab.core.errors import AttentionError

T = TypeVar("T")
STOP_S = 60.0


class _Stopped(BaseException):
    """The reader has gone; unwinds the run through code that catches Exception."""


def pulled(run: Callable[[Callable[[T], None], Callable[[], None]], None], name: str) -> Iterator[T]:
    """Run a function that pushes items and yield them as they come.

    Closing the iterator stops the run at its next push or check, and waits for it.

    Parameters
    ----------
    run : callable
        Called with `push`, which takes an item, and `check`, to be called often in between: both end the run
        when nobody reads any more. Whatever `run` raises is raised here.
    name : str
        Of the thread.

    Raises
    ------
    AttentionError
        On closing, if the run goes on for longer than `STOP_S` seconds.
    """
    items: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise _Stopped

    def push(item: T) -> None:
        check()
        items.put((item,))

    def work() -> None:
        try:
            run(push, check)
        except _Stopped:
            return
        except BaseException as fault:  # noqa: BLE001  (the worker: handed to the reader, who raises it)
            items.put(fault)
        else:
            items.put(None)

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        while isinstance(item := items.get(), tuple):
            yield item[0]
        if item is not None:
            raise item
    finally:
        stop.set()
        thread.join(STOP_S)
        if thread.is_alive():
            raise AttentionError("the model did not stop in time.", where=name)
