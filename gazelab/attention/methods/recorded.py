"""What was recorded of one answered question: queries, keys and values of each layer, never an N×N matrix.

Weights are computed from them a few query rows at a time. The gradient of a logit with respect to the weights
needs no matrix either: the output of a head is A·V, so ∂/∂A = ∂/∂output · Vᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gazelab.attention.row_weights import row_scores
from gazelab.core.geometry import PatchGrid

VALUES_AT_ONCE = 16_000_000
"""Weights that are computed at a time, over heads, rows and keys: 64 MB in float32."""


@dataclass(frozen=True, eq=False)
class Beyond:
    """What a few families ask of their scores.

    Attributes
    ----------
    softcap : float or None
        Scores are squashed to ± this by tanh, before the mask (Gemma 2).
    sinks : Tensor or None, shape (head,)
        A learned score that takes part in the softmax, and carries nothing (GPT-OSS).
    """

    softcap: float | None = None
    sinks: Tensor | None = None

    def capped(self, scores: Tensor) -> Tensor:
        """Squash scores."""
        return scores if self.softcap is None else (scores / self.softcap).tanh() * self.softcap

    def softmax(self, scores: Tensor, heads: Sequence[int]) -> Tensor:
        """Give weights of scores (head, row, key); with a sink, rows sum to less than 1."""
        if self.sinks is None:
            return scores.softmax(-1)
        sinks = self.sinks.detach()[list(heads)].to(scores.dtype).view(-1, 1, 1)
        joined = torch.cat([scores, sinks.expand(-1, scores.shape[1], 1)], -1)
        return joined.softmax(-1)[..., :-1]


def hidden(scores: Tensor, mask: Tensor | None, rows: Sequence[int], causal: bool) -> Tensor:
    """Hide from rows of scores, (head, row, key), the keys that they may not see, as sdpa would."""
    lowest = torch.finfo(scores.dtype).min
    if mask is not None:
        seen = mask[0][:, list(rows) if mask.shape[2] > 1 else [0], : scores.shape[-1]]
        if seen.dtype == torch.bool:
            return scores.masked_fill(~seen, lowest)
        return (scores + seen.to(scores.dtype)).clamp(min=lowest)
    if causal:
        later = torch.arange(scores.shape[-1], device=scores.device)[None] > torch.as_tensor(
            list(rows), device=scores.device
        ).unsqueeze(1)
        return scores.masked_fill(later, lowest)
    return scores


@dataclass(frozen=True, eq=False)
class Block:
    """One call of an attention layer.

    Attributes
    ----------
    query : Tensor, shape (1, head, query, width)
    key, value : Tensor, shape (1, key head, key, width)
        Grouped heads: each key head serves `head / key head` neighbouring query heads.
    mask, bias : Tensor or None
        As the kernel had them; see `gazelab.attention.row_weights.row_scores`.
    scaling : float or None
    causal : bool
    output : Tensor, shape (1, query, head, width)
        With its graph, where gradients are wanted.
    first_query, first_key : int
        Positions in the sequence.
    beyond : Beyond
        What the layer asks of its scores and sdpa cannot do.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    bias: Tensor | None
    scaling: float | None
    causal: bool
    output: Tensor
    first_query: int
    first_key: int
    beyond: Beyond = Beyond()

    @property
    def n_queries(self) -> int:
        """How many queries the call had."""
        return int(self.query.shape[2])

    @property
    def end(self) -> int:
        """Position after its last query."""
        return self.first_query + self.n_queries

    @property
    def n_keys(self) -> int:
        """How many keys they could look at."""
        return int(self.key.shape[2])

    def scores(self, rows: Sequence[int], heads: Sequence[int]) -> Tensor:
        """Compute scores before the softmax, (head, row, key), of rows counted from `first_query`."""
        given: dict[str, Any] = {"scaling": self.scaling, "bias": self.bias}
        if self.beyond.softcap is None:
            made = row_scores(self.query, self.key, self.mask, rows, causal=self.causal, **given)
        else:
            bare = row_scores(self.query, self.key, None, rows, causal=False, **given)
            made = hidden(self.beyond.capped(bare), self.mask, rows, self.causal)
        return made[list(heads)]

    def weights(self, rows: Sequence[int], heads: Sequence[int]) -> Tensor:
        """Compute attention weights, (head, row, key)."""
        return self.beyond.softmax(self.scores(rows, heads), heads)

    def gradients(self, of_output: Tensor, rows: Sequence[int], heads: Sequence[int]) -> Tensor:
        """Give the gradient with respect to the weights, (head, row, key).

        Parameters
        ----------
        of_output : Tensor, shape (1, query, head, width)
            Gradient with respect to `output`.
        """
        group = self.query.shape[1] // self.key.shape[1]
        values = self.value[0].float()[[head // group for head in heads]]
        wanted = of_output[0, list(rows)].float()[:, list(heads)].transpose(0, 1)
        return wanted.detach() @ values.detach().transpose(1, 2)

    def chunks(self, n_heads: int) -> Iterator[range]:
        """Cut the rows into ranges whose weights fit `VALUES_AT_ONCE`."""
        step = max(1, VALUES_AT_ONCE // (n_heads * self.n_keys))
        for start in range(0, self.n_queries, step):
            yield range(start, min(start + step, self.n_queries))


@dataclass(frozen=True, eq=False)
class RecordedLayer:
    """Every call of one attention layer, in order: the prompt first, then a token at a time.

    Attributes
    ----------
    number : int
        The model's own.
    module : torch.nn.Module
        The attention layer, for its output projection.
    blocks : list of Block
    """

    number: int
    module: nn.Module
    blocks: list[Block] = field(default_factory=list)

    def block_of(self, position: int) -> tuple[Block, int]:
        """Find the call that holds a query position, and its row there."""
        for block in self.blocks:
            if block.first_query <= position < block.first_query + block.n_queries:
                return block, position - block.first_query
        raise ValueError(f"no query at position {position} in layer {self.number}")


@dataclass(frozen=True, eq=False)
class Recorded:
    """One question with its answer, as the model went through it.

    Attributes
    ----------
    kind : "self" or "cross"
    decoder, cross, encoder : tuple of RecordedLayer
        Self-attention of the decoder, its attention to the encoder, and the encoder's own; the last two are
        empty for kind "self".
    logits : Tensor, shape (token, vocabulary)
        Of each token of the answer, with its graph where gradients are wanted.
    ids : tuple of int
        The answer.
    rows : tuple of int
        Query position in the decoder that predicts each token.
    keys : int
        How many keys the picture's columns are counted in: the sequence, or the encoder's output.
    views : tuple of (str, PatchGrid)
    lay : callable
        (…, key) values, as numpy → one array (…, rows, cols) a view.
    note : str
        What a reader must know of the run; empty if nothing.
    """

    kind: str
    decoder: tuple[RecordedLayer, ...]
    cross: tuple[RecordedLayer, ...]
    encoder: tuple[RecordedLayer, ...]
    logits: Tensor
    ids: tuple[int, ...]
    rows: tuple[int, ...]
    keys: int
    views: tuple[tuple[str, PatchGrid], ...]
    lay: Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], ...]]
    note: str = ""

    @property
    def looking(self) -> tuple[RecordedLayer, ...]:
        """The layers that look at the picture."""
        return self.cross if self.kind == "cross" else self.decoder


Weigh = Callable[[Block, range], Tensor]
"""(block, rows) → one matrix of those rows, (row, key): heads already put together."""


def carried(layer: RecordedLayer, rows: Tensor, n_heads: int, weigh: Weigh, n_keys: int) -> Tensor:
    """Multiply row vectors with a layer's matrix, rows · M, without ever holding M.

    Parameters
    ----------
    rows : Tensor, shape (vector, query position)
    n_heads : int
        Heads that `weigh` computes, for the size of a chunk.
    n_keys : int
        Columns of M.

    Returns
    -------
    Tensor, shape (vector, n_keys)
    """
    out = rows.new_zeros(len(rows), n_keys)
    for block in layer.blocks:
        for chunk in block.chunks(n_heads):
            first = block.first_query + chunk.start
            part = rows[:, first : first + len(chunk)]
            if bool((part != 0).any()):
                out[:, block.first_key : block.first_key + block.n_keys] += part @ weigh(block, chunk)
    return out


def gathered(layer: RecordedLayer, column: Tensor, n_heads: int, weigh: Weigh, n_queries: int) -> Tensor:
    """Multiply a layer's matrix with a column vector, M · column, without ever holding M.

    Parameters
    ----------
    column : Tensor, shape (key position,)

    Returns
    -------
    Tensor, shape (n_queries,)
    """
    out = column.new_zeros(n_queries)
    for block in layer.blocks:
        seen = column[block.first_key : block.first_key + block.n_keys]
        for chunk in block.chunks(n_heads):
            first = block.first_query + chunk.start
            out[first : first + len(chunk)] = weigh(block, chunk) @ seen
    return out


def explicit_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    scaling: float | None,
    causal: bool,
    beyond: Beyond,
) -> Tensor:
    """Attend by full matrices, for what sdpa cannot do; the shapes are those of `Block`."""
    heads, group = query.shape[1], query.shape[1] // key.shape[1]
    factor = query.shape[3] ** -0.5 if scaling is None else scaling
    keys, values = (part[0].repeat_interleave(group, 0) for part in (key, value))
    scores = beyond.capped(query[0].float() * factor @ keys.float().transpose(1, 2))
    rows = range(query.shape[2])
    scores = hidden(scores, mask, rows, causal)
    weights = beyond.softmax(scores, range(heads)).to(values.dtype)
    return (weights @ values).transpose(0, 1)[None]


def one_hot_rows(positions: Sequence[int], length: int, like: Tensor) -> Tensor:
    """(position, length) float32 on the device of `like`, 1 at each position."""
    out = torch.zeros(len(positions), length, device=like.device)
    out[torch.arange(len(positions)), torch.as_tensor(list(positions))] = 1
    return out
