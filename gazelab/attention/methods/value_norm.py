"""Value-norm weighted attention: how long the vector is that each key adds to a head's output.

Kobayashi et al. 2020, "Attention is not only a weight: analyzing transformers with vector norms"
(arXiv:2004.10102): ‖α f(x)‖ with f(x) = x·W_V·W_O, of one head. A sink with a large weight and a short value
counts little. Each head's norms are scaled to a sum of 1 over all keys before heads and layers are averaged,
so that no layer counts more for its scale; that is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gazelab.attention.methods.recorded import Block, Recorded
from gazelab.core.errors import AttentionError

OUTPUT_PROJECTIONS = ("o_proj", "out_proj", "output", "o", "dense", "wo")
"""Names of the layer that takes the heads' outputs together, over families."""


def value_norm_rows(
    recorded: Recorded, layers: Sequence[int], heads: Sequence[int], tokens: Sequence[int]
) -> Tensor:
    """Weigh the attention of the chosen tokens by the length of what it carries.

    Parameters
    ----------
    recorded : Recorded

    Returns
    -------
    Tensor, shape (token, key), float32
        The mean over layers and heads; each row sums to 1.
    """
    chosen = [layer for layer in recorded.looking if layer.number in layers]
    out = torch.zeros(len(tokens), recorded.keys, device=recorded.logits.device)
    with torch.no_grad():
        for layer in chosen:
            projection = output_projection(layer.module, layer.blocks[0])
            for i, token in enumerate(tokens):
                block, row = layer.block_of(recorded.rows[token])
                carried = block.weights([row], heads)[:, 0] * _lengths(block, projection, heads)
                shares = carried / carried.sum(-1, keepdim=True).clamp(min=torch.finfo(carried.dtype).tiny)
                out[i, block.first_key : block.first_key + block.n_keys] += shares.mean(0) / len(chosen)
    return out


def output_projection(module: nn.Module, block: Block) -> Tensor:
    """Find the weights that take the heads together, (head, width of a head, model width).

    Raises
    ------
    AttentionError
        The attention layer has none that fits.
    """
    heads, width = int(block.query.shape[1]), int(block.value.shape[3])
    for name in OUTPUT_PROJECTIONS:
        weight = getattr(getattr(module, name, None), "weight", None)
        if not isinstance(weight, Tensor) or not weight.is_floating_point():
            continue
        if weight.dim() == 2 and weight.shape[1] == heads * width:
            return weight.detach().float().T.reshape(heads, width, -1)
    raise AttentionError(
        "its attention layers have no output projection that can be found.",
        where=type(module).__name__,
        todo="Use mean, rollout or relevance.",
    )


def _lengths(block: Block, projection: Tensor, heads: Sequence[int]) -> Tensor:
    """‖v·W_O‖ of each head and key; by the Gram matrix of W_O, which is no wider than a head."""
    group = block.query.shape[1] // block.key.shape[1]
    values = block.value[0].float()[[head // group for head in heads]]
    own = projection[list(heads)]
    squared = ((values @ (own @ own.transpose(1, 2))) * values).sum(-1)
    return squared.clamp(min=0).sqrt()
