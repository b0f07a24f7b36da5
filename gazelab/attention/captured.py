"""The rows that a tap has read: gathered on the model's device, checked, and out of torch in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.attention.row_weights import HIDDEN
from gazelab.core.errors import AttentionError

_TORCH_DTYPES = {np.dtype(np.float16): torch.float16, np.dtype(np.float32): torch.float32}


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


class PassRows:
    """The wanted rows of one forward pass, filled layer by layer on the model's device.

    Parameters
    ----------
    layers : sequence of int
        The wanted layers.
    heads : sequence of int or None
        The wanted heads; negative numbers count from the last; all if None.
    """

    def __init__(self, layers: Sequence[int], heads: Sequence[int] | None) -> None:
        self._layers = tuple(layers)
        self._heads = heads
        self._rows: Tensor | None = None
        self._filled: set[int] = set()

    def put(self, layer: int, weights: Tensor, n_keys: int) -> None:
        """Keep a layer's rows, each key at its place in the whole sequence.

        A sliding-window layer's cached step holds the last keys only: the places before them are 0. A
        preallocated cache holds places that are not filled yet: they are cut off.

        Parameters
        ----------
        weights : Tensor, shape (head, row, key)
        n_keys : int
            Keys in the sequence so far, those of this pass included.
        """
        if self._heads is not None:
            weights = weights[_resolved(self._heads, len(weights))]
        if self._rows is None:
            self._rows = weights.new_empty(len(self._layers), *weights.shape[:2], n_keys)
        if weights.shape[0] != self._rows.shape[1]:
            raise AttentionError(
                f"layer {layer} has {weights.shape[0]} heads where others have {self._rows.shape[1]}.",
                todo="Tap the layers with `layers=`, those with as many heads at a time.",
            )
        rows = self._rows[self._layers.index(layer)]
        before = max(0, n_keys - weights.shape[-1])
        rows[..., :before] = 0
        rows[..., before:] = weights[..., : n_keys - before]
        self._filled.add(layer)

    def taken(self) -> tuple[tuple[int, ...], Tensor]:
        """Give the layers that were filled and their rows, (layer, head, row, key)."""
        if self._rows is None:
            raise ValueError("no layer was read")
        layers = tuple(layer for layer in self._layers if layer in self._filled)
        if len(layers) == len(self._layers):
            return layers, self._rows
        return layers, self._rows[[self._layers.index(layer) for layer in layers]]


def _resolved(heads: Sequence[int], n_heads: int) -> list[int]:
    wrong = [head for head in heads if not -n_heads <= head < n_heads]
    if wrong:
        raise AttentionError(f"there is no head {wrong[0]}.", todo=f"A layer has heads 0 to {n_heads - 1}.")
    return sorted({head % n_heads for head in heads})


def whole_row(
    position: int, layers: tuple[int, ...], weights: Tensor, dtype: np.dtype[Any], model_name: str
) -> TapRow:
    """Keep one row, (layer, head, key), over every key.

    Raises
    ------
    AttentionError
        A layer's weights are not finite.
    """
    _refuse_what_is_not_finite(weights.sum(-1).cpu(), layers, model_name)
    return TapRow(position, layers, _out(weights, dtype))


def score_row(
    position: int, layers: tuple[int, ...], scores: Tensor, dtype: np.dtype[Any], model_name: str
) -> TapRow:
    """Keep one row of scores before the softmax, (layer, head, key); hidden keys become -inf."""
    shown = scores.masked_fill(scores < HIDDEN, 0)
    _refuse_what_is_not_finite(shown.sum(-1).cpu(), layers, model_name)
    return TapRow(position, layers, _out(scores.masked_fill(scores < HIDDEN, float("-inf")), dtype))


def picture_row(
    position: int,
    layers: tuple[int, ...],
    weights: Tensor,
    dtype: np.dtype[Any],
    model_name: str,
    picture: NDArray[np.int64],
) -> TapRow:
    """Keep the picture's columns of one row, (layer, head, key), the others, and the sums on text and sink.

    Raises
    ------
    AttentionError
        A picture token would lie outside the sequence, or a layer's weights are not finite.
    """
    n_keys = weights.shape[-1]
    if picture.max() >= n_keys or picture.min() < 0:
        raise AttentionError(f"a picture token at position {picture.max()} of a sequence of {n_keys}.")
    elsewhere = np.ones(n_keys, np.bool_)
    elsewhere[picture] = False
    order = np.concatenate([picture, np.flatnonzero(elsewhere)])
    ordered = weights.index_select(-1, torch.from_numpy(order).to(weights.device))
    on_picture, total = ordered[..., : len(picture)].sum(-1), ordered.sum(-1)
    first = weights[..., 0] if elsewhere[0] else torch.zeros_like(total)
    text = (total - on_picture - first).clamp(min=0)
    sink = first + (1 - total).clamp(min=0)  # a learned sink takes what the keys leave
    shares = torch.stack([total, text, sink]).float().cpu()
    _refuse_what_is_not_finite(shares[0], layers, model_name)
    kept = _out(ordered, dtype)
    return TapRow(
        position,
        layers,
        np.ascontiguousarray(kept[..., : len(picture)]),
        shares[1].numpy(),
        shares[2].numpy(),
        np.ascontiguousarray(kept[..., len(picture) :]),
    )


def stacked(rows: Sequence[TapRow], unseen: float) -> NDArray[Any]:
    """Put rows together, (token, layer, head, key); keys that a row cannot see yet hold `unseen`."""
    shape = (*rows[0].weights.shape[:2], max(row.weights.shape[-1] for row in rows))
    out = np.full((len(rows), *shape), unseen, rows[0].weights.dtype)
    for i, row in enumerate(rows):
        out[i, ..., : row.weights.shape[-1]] = row.weights
    return out


def _out(weights: Tensor, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert where the tensor is, which is many times faster than numpy's float16, and copy once."""
    converted = weights.to(_TORCH_DTYPES[dtype]) if dtype in _TORCH_DTYPES else weights
    return converted.detach().cpu().numpy().astype(dtype, copy=False)


def _refuse_what_is_not_finite(sums: Tensor, layers: tuple[int, ...], model_name: str) -> None:
    """Name the first layer, of (layer, head), whose weights hold NaN or infinity, which a sum shows."""
    finite = torch.isfinite(sums).all(-1)
    if not bool(finite.all()):
        bad = next(layer for layer, good in zip(layers, finite.tolist(), strict=True) if not good)
        raise AttentionError(
            f"layer {bad} gives attention weights that are not finite.",
            where=model_name,
            todo="Run the model in bfloat16 or float32.",
        )
