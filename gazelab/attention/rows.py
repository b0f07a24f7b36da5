"""Which query row belongs to which produced token, and which rows of a forward pass are wanted."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex

from gazelab.core.errors import AttentionError

Rows = str | SupportsIndex | slice | Iterable[SupportsIndex] | None
"""Wanted query rows as positions in the whole sequence: "last" or None (the last row of every forward pass,
from which `generate` predicts), "all", one position, a slice, or a list of positions. Negative positions
count from the end of the sequence as it is in that forward pass."""


def predicting_row(prompt_length: int, token: int) -> int:
    """Give the position whose query predicts a produced token.

    A decoder reads a token at one position and predicts the next one, so the row that predicts token `token`
    sits one position before it: the prompt's last position for token 0. The last produced token was never
    read and has no row of its own.

    Parameters
    ----------
    prompt_length : int
        Tokens before the answer, picture tokens included.
    token : int
        Index of the produced token, from 0.

    Returns
    -------
    int
        Position in the sequence prompt + answer, from 0.
    """
    if prompt_length < 1 or token < 0:
        raise ValueError(f"token {token} after a prompt of {prompt_length} tokens")
    return prompt_length - 1 + token


def wanted_rows(rows: Rows, start: int, stop: int) -> list[int]:
    """Pick the wanted rows of a forward pass over the positions `start` to `stop` (exclusive).

    Returns
    -------
    list of int
        Positions in the whole sequence, in ascending order, without repeats.
    """
    if rows is None or isinstance(rows, str):
        if rows not in (None, "last", "all"):
            raise AttentionError(f'rows = "{rows}" is unknown.', todo='Use "last", "all" or positions.')
        return list(range(start, stop)) if rows == "all" else [stop - 1]
    if isinstance(rows, slice):
        wanted = set(range(*rows.indices(stop)))
    else:
        numbers = _numbers(rows)
        wanted = {row if row >= 0 else stop + row for row in numbers}
    return sorted(row for row in wanted if start <= row < stop)


def _numbers(rows: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    try:
        return [operator.index(rows)]  # type: ignore[arg-type]
    except TypeError:  # arrays have `__index__` too, and refuse it
        return [operator.index(row) for row in rows]  # type: ignore[union-attr]
