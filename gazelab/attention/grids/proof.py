"""Prove a grid on a checkpoint: edit the picture at one place and watch which token changes.

The vision tower's self-attention would carry an edit to every token. With its output zeroed, a token depends
on its own patches alone, so the token that changes is the one that looks from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface

from gazelab.attention.decoder import decoder_of
from gazelab.attention.grids.family import Family
from gazelab.attention.implementations import RestoredImplementations, attention_configs
from gazelab.core.errors import AttentionError

APART = "gazelab_apart"


@contextmanager
def patches_apart(model: Any) -> Iterator[None]:
    """Zero the vision tower's attention, so that each picture token depends on its own patches only.

    Raises
    ------
    AttentionError
        The vision tower does not go through the attention interface, or was not run.
    """
    calls: list[None] = []

    def apart(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kw: Any) -> Any:
        calls.append(None)
        batch, heads, length, _ = query.shape
        return query.new_zeros(batch, length, heads, value.shape[-1]), None

    AttentionInterface.register(APART, apart)
    AttentionMaskInterface.register(APART, AttentionMaskInterface()["sdpa"])
    before = RestoredImplementations(model)
    spared = {id(model.config), *(id(config) for config in attention_configs(decoder_of(model)).values())}
    try:
        for config in attention_configs(model).values():
            if id(config) not in spared:
                config._attn_implementation_internal = APART
        yield
    finally:
        before.restore()
    if not calls:
        raise AttentionError(
            "its vision tower does not go through the attention interface: the grid cannot be proven.",
            where=type(model).__name__,
        )


def picture_tokens(family: Family, model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """Compute the picture's tokens in the language model's space.

    Returns
    -------
    Tensor, shape (token, width), float32
    """
    with torch.inference_mode():
        return family.picture_tokens(model, inputs).float().cpu()


def token_changes(
    family: Family, model: Any, before: Mapping[str, Any], edited: Sequence[Mapping[str, Any]]
) -> NDArray[np.float64]:
    """Measure how far each picture token moves when the picture is edited.

    Parameters
    ----------
    before : mapping
        What the family's processor made of the picture.
    edited : sequence of mapping
        The same of edited pictures of the same size.

    Returns
    -------
    numpy.ndarray, shape (edit, token)
        Largest absolute change over a token's values.
    """
    with patches_apart(model), family.apart(model):
        base = picture_tokens(family, model, before)
        moved = [(picture_tokens(family, model, after) - base).abs().amax(-1).numpy() for after in edited]
    return np.asarray(moved, np.float64)
