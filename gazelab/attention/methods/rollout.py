"""Attention rollout: attention followed through all layers, down to what went in.

Abnar and Zuidema 2020, "Quantifying attention flow in transformers" (arXiv:2005.00928), section 3: with
A = (mean over heads + I) / 2 of each layer, the rollout is the product A_L … A_1. It is defined for
self-attention. Of the product only the rows of the answer are wanted, so they are carried down as vectors,
and no matrix of the product, nor of a layer, is ever held.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gazelab.attention.methods.recorded import Block, Recorded, carried, one_hot_rows
from gazelab.attention.methods.rerun import Check, never

KEPT = 0.5
"""Share of a layer that is taken as passed on unchanged, by the residual connection."""


def rollout_rows(
    recorded: Recorded,
    layers: Sequence[int],
    heads: Sequence[int],
    tokens: Sequence[int],
    check: Check = never,
) -> Tensor:
    """Roll the attention of the chosen tokens out over the sequence.

    Parameters
    ----------
    recorded : Recorded
        Of kind "self".
    layers, heads, tokens : sequence of int
        Layers that are left out pass everything on unchanged.
    check : callable
        Called before each layer.

    Returns
    -------
    Tensor, shape (token, key), float32
        Each row sums to 1.
    """

    def weigh(block: Block, rows: range) -> Tensor:
        return block.weights(rows, heads).mean(0)

    device = recorded.decoder[0].blocks[0].query
    out = one_hot_rows([recorded.rows[k] for k in tokens], recorded.keys, device)
    with torch.no_grad():
        for layer in reversed(recorded.decoder):
            if layer.number in layers:
                check()
                out = KEPT * out + (1 - KEPT) * carried(layer, out, len(heads), weigh, recorded.keys)
    return out
