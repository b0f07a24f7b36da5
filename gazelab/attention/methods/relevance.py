"""Gradient × attention relevance, for decoder-only and for encoder-decoder models.

Chefer, Gur and Wolf 2021, "Generic attention-model explainability for interpreting bi-modal and
encoder-decoder transformers" (arXiv:2103.15679). Of each layer, Ā is the mean over heads of (∇A ⊙ A)⁺
(eq. 5). Self-attention: R ← R + Ā·R (eq. 6, 7). Attention to the encoder: R_qi ← R_qi + R̄_qqᵀ · Ā · R̄_ii
(eq. 10), where R̄ is I plus R - I with each row scaled to 1 (eq. 8, 9). Only one row of the result is wanted
for a token, so it is carried down through the layers as a vector; no N×N matrix is held.

One departure: a row of R - I that is all 0 (the published code divides by 0 there, and sets the whole product
to 0) is left at 0, so that R̄ is I in that row.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gazelab.attention.methods.gradients import GradientOf, gradients_of
from gazelab.attention.methods.recorded import (
    Block,
    Recorded,
    RecordedLayer,
    Weigh,
    carried,
    gathered,
    one_hot_rows,
)
from gazelab.attention.methods.rerun import Check, never


def relevance_row(
    recorded: Recorded, layers: Sequence[int], heads: Sequence[int], token: int, check: Check = never
) -> Tensor:
    """Follow what raised a token's logit down to what went in.

    Parameters
    ----------
    recorded : Recorded
        With its graph.
    layers : sequence of int
        Of the decoder; an encoder's are all counted.
    heads : sequence of int
        Of the decoder's layers; an encoder's are all counted.
    token : int
        Index in the answer.
    check : callable
        Called before each layer.

    Returns
    -------
    Tensor, shape (key,), float32
        Nowhere negative. Of kind "self" over the sequence, of kind "cross" over the encoder's output.
    """
    gradient = gradients_of(recorded, token)
    with torch.no_grad():
        if recorded.kind == "cross":
            return _through_encoder(recorded, layers, heads, token, gradient, check)
        row = one_hot_rows([recorded.rows[token]], recorded.keys, recorded.logits)
        weigh = _weigher(gradient, heads)
        for layer in reversed(_among(recorded.decoder, layers)):
            check()
            row = row + carried(layer, row, len(heads), weigh, recorded.keys)
        return row[0]


def _weigher(gradient: GradientOf, heads: Sequence[int] | None) -> Weigh:
    """Make Ā's rows: the mean over heads of the positive part of gradient × weight."""

    def weigh(block: Block, rows: range) -> Tensor:
        wanted = range(block.query.shape[1]) if heads is None else heads
        of_output = gradient(block)
        if of_output is None:
            return block.query.new_zeros(len(rows), block.n_keys, dtype=torch.float32)
        weights = block.weights(rows, wanted)
        return (weights * block.gradients(of_output, rows, wanted)).clamp_(min=0).mean(0)

    return weigh


def _through_encoder(
    recorded: Recorded,
    layers: Sequence[int],
    heads: Sequence[int],
    token: int,
    gradient: GradientOf,
    check: Check,
) -> Tensor:
    """Apply the rules of eq. 6, 7 and 10, layer by layer of the decoder; its matrices are answer × answer."""
    weigh = _weigher(gradient, heads)
    n_queries = recorded.decoder[0].blocks[-1].end
    own = torch.eye(n_queries, device=recorded.logits.device)
    to_encoder = own.new_zeros(n_queries, recorded.keys)
    looks = {layer.number: layer for layer in _among(recorded.cross, layers)}
    selves = {layer.number: layer for layer in _among(recorded.decoder, layers)}
    encoder = _Encoder(recorded, gradient, check)
    eye = torch.eye(n_queries, device=own.device)
    for number in sorted({*looks, *selves}):
        if number in selves:
            cam = carried(selves[number], eye, len(heads), weigh, n_queries)
            to_encoder, own = to_encoder + cam @ to_encoder, own + cam @ own
        if number in looks:
            cam = carried(looks[number], eye, len(heads), weigh, recorded.keys)
            to_encoder = to_encoder + _scaled(own).T @ encoder.carried(cam)
    return to_encoder[recorded.rows[token]]


def _scaled(relevance: Tensor) -> Tensor:
    """Scale each row of R - I to 1 and put I back: eq. 8 and 9."""
    eye = torch.eye(len(relevance), device=relevance.device)
    beyond = relevance - eye
    total = beyond.sum(-1, keepdim=True)
    return torch.where(total > 0, beyond / total.clamp(min=torch.finfo(total.dtype).tiny), 0.0) + eye


class _Encoder:
    """Multiplies rows with R̄ of the encoder, R = (I + Ā_L) … (I + Ā_1), without holding it."""

    def __init__(self, recorded: Recorded, gradient: GradientOf, check: Check) -> None:
        self._layers = recorded.encoder
        self._weigh = _weigher(gradient, None)
        self._n = recorded.keys
        self._check = check
        sums = torch.ones(self._n, device=recorded.logits.device)
        for layer in self._layers:  # R · 1, from the lowest layer up
            check()
            sums = sums + gathered(layer, sums, _heads(layer), self._weigh, self._n)
        self._sums = sums - 1  # of the rows of R - I

    def carried(self, rows: Tensor) -> Tensor:
        """Give rows · R̄."""
        tiny = torch.finfo(rows.dtype).tiny
        shared = torch.where(self._sums > 0, rows / self._sums.clamp(min=tiny), 0.0)
        moved = shared
        for layer in reversed(self._layers):
            self._check()
            moved = moved + carried(layer, moved, _heads(layer), self._weigh, self._n)
        return rows + moved - shared


def _heads(layer: RecordedLayer) -> int:
    return int(layer.blocks[0].query.shape[1])


def _among(recorded: Sequence[RecordedLayer], layers: Sequence[int]) -> list[RecordedLayer]:
    return [layer for layer in recorded if layer.number in layers]
