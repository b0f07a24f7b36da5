"""Gradients of one token's logit with respect to every layer's attention output."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gazelab.attention.methods.recorded import Block, Recorded
from gazelab.core.errors import AttentionError

GradientOf = Callable[[Block], Tensor | None]


def gradients_of(recorded: Recorded, token: int) -> GradientOf:
    """Differentiate the logit of one token of the answer.

    Parameters
    ----------
    recorded : Recorded
        With its graph.
    token : int
        Index in the answer.

    Returns
    -------
    callable
        Block → gradient with respect to its `output`, or None where the logit does not depend on it.

    Raises
    ------
    AttentionError
        A gradient is not finite, as half precision may give.
    """
    layers = (*recorded.encoder, *recorded.decoder, *recorded.cross)
    blocks = [block for layer in layers for block in layer.blocks if block.output.requires_grad]
    logit = recorded.logits[token, recorded.ids[token]]
    found = torch.autograd.grad(
        logit, [block.output for block in blocks], retain_graph=True, allow_unused=True
    )
    for gradient in found:
        if gradient is not None and not bool(torch.isfinite(gradient).all()):
            raise AttentionError(
                f"the gradient of token {token} is not finite.",
                todo="Run the model in bfloat16 or float32.",
            )
    by_block = {id(block): gradient for block, gradient in zip(blocks, found, strict=True)}
    return lambda block: by_block.get(id(block))
