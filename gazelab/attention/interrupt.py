"""Stop a model within a token: a check that it calls before each of its attention layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gazelab.attention.base import AttentionModel


@contextmanager
def stopping_at(model: AttentionModel, check: Callable[[], None]) -> Iterator[None]:
    """Call `check` while a model works, often enough that what it raises ends the work within one token.

    Parameters
    ----------
    model : AttentionModel
        A checkpoint is asked before each attention layer, so also within the first long pass over a picture;
        a model in a process of its own every tenth of a second; a small one is left to finish its token.
    check : callable
        Raises to end the work.
    """
    checkpoint, checking = getattr(model, "checkpoint", None), getattr(model, "checking", None)
    if checking is not None:
        with checking(check):
            yield
    elif checkpoint is not None:
        from gazelab.attention.generation import interruptible

        with interruptible(checkpoint.model, check):
            yield
    else:
        yield
