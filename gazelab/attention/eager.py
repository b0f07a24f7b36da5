"""Eager attention: what it costs, to be asked before it is used, and where a layer puts its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gazelab.attention.decoder import attention_modules, decoder_of, n_heads
from gazelab.core.errors import AttentionError

_ROUNDED = 1.02
"""A row's sum may be above 1 by so much in half precision."""


def eager_memory_bytes(model: Any, n_tokens: int, *, kept: bool = False) -> int:
    """Estimate the memory that eager attention needs for its weights on a prompt.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    n_tokens : int
        Prompt length, the picture's tokens included.
    kept : bool
        True: every layer's matrix is kept, as with `output_attentions=True`. False: they are dropped layer by
        layer, as `AttentionTap(method="eager")` does.

    Returns
    -------
    int
        Bytes: heads × n² values in the model's type and, while a layer runs, twice that in float32 for the
        scores and their softmax.
    """
    decoder = decoder_of(model)
    matrix = n_heads(decoder) * n_tokens**2
    item = next(decoder.parameters()).element_size()
    layers = len(set(attention_modules(decoder, "self").values())) or 1
    return int(matrix * (item * (layers if kept else 1) + 2 * 4))


def weights_in(output: Any, model_name: str) -> tuple[int, Tensor]:
    """Find the attention weights among a layer's outputs.

    Some families put a position bias, of the same shape, before them: weights are those that are nowhere
    negative and whose rows sum to 1 at most (less, where a learned sink takes the rest).

    Returns
    -------
    index : int
        In the layer's output.
    weights : Tensor, shape (batch, head, query, key)

    Raises
    ------
    AttentionError
        There are none.
    """
    for index, part in enumerate(output if isinstance(output, tuple) else ()):
        if index and isinstance(part, Tensor) and part.dim() == 4:
            sums = part.sum(-1, dtype=torch.float32)  # no copy of the matrix, and none below
            # Not finite counts as found: the tap then names the layer.
            if not bool(part.amin() < 0) and not bool((sums > _ROUNDED).any()) and bool((sums != 0).any()):
                return index, part
    raise AttentionError("its attention layers give no weights, even in eager mode.", where=model_name)
