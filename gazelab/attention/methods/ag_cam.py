"""Attention-guided CAM: scores squashed to 0..1, where the gradient says that more attention would help.

Leem and Seo 2024, "Attention guided CAM: visual explanations of vision transformer guided by self-attention"
(AAAI 2024, arXiv:2402.04563): the sum over layers and heads of ReLU(∂ logit / ∂ A) ⊙ sigmoid(scores before
the softmax), of the row that the output is read from; there the class token's, here the row that predicts
the token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gazelab.attention.methods.gradients import gradients_of
from gazelab.attention.methods.recorded import Recorded


def ag_cam_row(recorded: Recorded, layers: Sequence[int], heads: Sequence[int], token: int) -> Tensor:
    """Compute the map of one token.

    Parameters
    ----------
    recorded : Recorded
        With its graph.
    token : int
        Index in the answer.

    Returns
    -------
    Tensor, shape (key,), float32
        Nowhere negative.
    """
    gradient = gradients_of(recorded, token)
    out = torch.zeros(recorded.keys, device=recorded.logits.device)
    with torch.no_grad():
        for layer in recorded.looking:
            if layer.number not in layers:
                continue
            block, row = layer.block_of(recorded.rows[token])
            of_output = gradient(block)
            if of_output is not None:
                gained = block.gradients(of_output, [row], heads).clamp(min=0)
                seen = gained * block.scores([row], heads).sigmoid()
                out[block.first_key : block.first_key + block.n_keys] += seen.sum((0, 1))
    return out
