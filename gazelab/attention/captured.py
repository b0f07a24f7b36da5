"""The rows that a tap has read: checked, cut to the picture's columns if wanted, and out of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.core.errors import AttentionError


@dataclass(frozen=True, eq=False)
class TapRow:
    """The attention of one query position, all kept layers and heads.

    Attributes
    ----------
    position : int
        Of the query in the whole sequence, from 0; the token it predicts is the next one.
    layers : tuple of int
        The model's own numbers, ascending.
    weights : numpy.ndarray, shape (layer, head, key)
        Over every key so far or, if the tap was given `picture`, (layer, head, picture token).
    text_share, sink_share : numpy.ndarray, shape (layer, head), float32, or None
        Only with `picture`: what fell on text, and on the sequence's first token (where that is no picture
        token) or a learned sink; with the sum over the picture they make 1.
    text_weights : numpy.ndarray, shape (layer, head, key outside the picture), or None
        Only with `picture`: the other keys, in the sequence's order, the first token included. Places that
        the query may not see, such as an encoder's padding, hold 0.
    """

    position: int
    layers: tuple[int, ...]
    weights: NDArray[Any]
    text_share: NDArray[np.float32] | None = None
    sink_share: NDArray[np.float32] | None = None
    text_weights: NDArray[Any] | None = None


def stack_layers(rows_of_layer: Mapping[int, Tensor], model_name: str) -> tuple[tuple[int, ...], Tensor]:
    """Stack the rows of one forward pass by layer and refuse what is not finite.

    Parameters
    ----------
    rows_of_layer : mapping
        Layer number to (row, head, key).

    Returns
    -------
    layers : tuple of int
    stacked : Tensor, shape (layer, row, head, key)

    Raises
    ------
    AttentionError
        Names the first layer that gives NaN or infinity.
    """
    layers = tuple(sorted(rows_of_layer))
    device = rows_of_layer[layers[0]].device
    stacked = torch.stack([rows_of_layer[layer].to(device) for layer in layers])
    if not bool(torch.isfinite(stacked).all()):
        bad = next(layer for layer in layers if not bool(torch.isfinite(rows_of_layer[layer]).all()))
        raise AttentionError(
            f"layer {bad} gives attention weights that are not finite.",
            where=model_name,
            todo="Run the model in bfloat16 or float32.",
        )
    return layers, stacked


def whole_row(position: int, layers: tuple[int, ...], weights: Tensor, dtype: np.dtype[Any]) -> TapRow:
    """Keep one row, (layer, head, key), over every key."""
    return TapRow(position, layers, weights.cpu().numpy().astype(dtype))


def picture_row(
    position: int,
    layers: tuple[int, ...],
    weights: Tensor,
    dtype: np.dtype[Any],
    picture: NDArray[np.int64],
) -> TapRow:
    """Keep the picture's columns of one row, (layer, head, key), the others, and the sums on text and sink.

    Raises
    ------
    AttentionError
        A picture token would lie outside the sequence.
    """
    n_keys = weights.shape[-1]
    if picture.max() >= n_keys or picture.min() < 0:
        raise AttentionError(f"a picture token at position {picture.max()} of a sequence of {n_keys}.")
    elsewhere = np.setdiff1d(np.arange(n_keys), picture)
    on_picture = weights[..., torch.as_tensor(picture, device=weights.device)]
    on_text = weights[..., torch.as_tensor(elsewhere, device=weights.device)]
    total = weights.sum(-1)
    first = torch.zeros_like(total) if 0 in picture else weights[..., 0]
    text = (total - on_picture.sum(-1) - first).clamp(min=0)
    sink = first + (1 - total).clamp(min=0)  # a learned sink takes what the keys leave
    return TapRow(
        position,
        layers,
        on_picture.cpu().numpy().astype(dtype),
        text.cpu().numpy(),
        sink.cpu().numpy(),
        on_text.cpu().numpy().astype(dtype),
    )
