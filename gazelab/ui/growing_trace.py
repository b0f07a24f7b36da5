"""A trace that grows by one token at a time without being copied each time."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.core.attention import AttentionTrace, LookView

FIRST_ROOM = 16
"""Tokens that there is room for at first; doubled when it is used up."""

Halves = NDArray[np.float16]
T = TypeVar("T", np.float16, np.float32)


class GrowingTrace:
    """Takes the steps of an answer and gives the trace so far.

    `gazelab.attention.base.trace_of` copies every step each time it is called, which is quadratic for whoever
    calls it after every token. Here each step is copied once; a trace that was given earlier stays as it was.

    Parameters
    ----------
    head : TraceHead
        Of the same picture and question.
    """

    def __init__(self, head: TraceHead) -> None:
        self.head = head
        self.n_tokens = 0
        self._texts: list[str] = []
        self._ids: list[int] = []
        self._top: list[tuple[tuple[str, float], ...]] = []
        heads = (len(head.layers), head.n_heads)
        grids = [head.grid, *(grid for _, grid in head.other_grids)]
        self._weights = [np.zeros((FIRST_ROOM, *heads, g.rows, g.cols), np.float16) for g in grids]
        self._text_share = np.zeros((FIRST_ROOM, *heads), np.float32)
        self._sink_share = np.zeros((FIRST_ROOM, *heads), np.float32)
        self._text_weights: Halves | None = np.zeros((FIRST_ROOM, *heads, 0), np.float16)
        self._n_keys = 0

    def add(self, step: TokenStep) -> None:
        """Add one more token."""
        k = self.n_tokens
        if k == len(self._text_share):
            self._weights = [_doubled(kept) for kept in self._weights]
            self._text_share, self._sink_share = _doubled(self._text_share), _doubled(self._sink_share)
        for kept, new in zip(self._weights, (step.weights, *step.other_weights), strict=True):
            kept[k] = new
        self._text_share[k] = step.text_share
        self._sink_share[k] = step.sink_share
        self._add_text(step.text_weights)
        self._texts.append(step.text)
        self._ids.append(step.token_id)
        self._top.append(step.top)
        self.n_tokens += 1

    def trace(self, answer: str = "") -> AttentionTrace:
        """Give the trace of the tokens so far; its arrays are views of what is kept here."""
        n, head = self.n_tokens, self.head
        known = {
            f.name: getattr(head, f.name) for f in fields(head) if f.name not in ("n_heads", "other_grids")
        }
        main, *others = (kept[:n] for kept in self._weights)
        kept_text = self._text_weights
        text = kept_text[:n, ..., : self._n_keys] if n and kept_text is not None else None
        return AttentionTrace(
            tokens=tuple(self._texts),
            weights=main,
            text_share=self._text_share[:n],
            sink_share=self._sink_share[:n],
            top=tuple(self._top),
            answer=answer,
            other_views=tuple(
                LookView(name, grid, kept)
                for (name, grid), kept in zip(head.other_grids, others, strict=True)
            ),
            text_weights=text,
            token_ids=tuple(self._ids),
            **known,
        )

    def _add_text(self, row: Halves | None) -> None:
        """Keep a row that may be longer than those before; one that is missing makes all of them useless."""
        if row is None or self._text_weights is None:
            self._text_weights = None
            return
        kept, k = self._text_weights, self.n_tokens
        n_rows, n_keys = max(len(kept), len(self._text_share)), row.shape[-1]
        self._n_keys = max(self._n_keys, n_keys)
        if n_rows > len(kept) or n_keys > kept.shape[-1]:
            wider = np.zeros(
                (n_rows, *kept.shape[1:-1], max(n_keys + FIRST_ROOM, kept.shape[-1])), np.float16
            )
            wider[: len(kept), ..., : kept.shape[-1]] = kept
            kept = self._text_weights = wider
        kept[k, ..., :n_keys] = row


def _doubled(kept: NDArray[T]) -> NDArray[T]:
    return np.concatenate([kept, np.zeros_like(kept)])
