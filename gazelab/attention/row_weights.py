"""softmax(q Kᵀ) for a few query rows, with the mask that the fast kernel uses."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


@torch.no_grad()
def row_weights(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    rows: Sequence[int],
    *,
    scaling: float | None,
    causal: bool,
    bias: Tensor | None = None,
) -> Tensor:
    """Compute the attention weights of a few query rows.

    Parameters
    ----------
    query : Tensor, shape (1, head, query, width)
    key : Tensor, shape (1, key head, key, width)
        Grouped heads: each key head serves `head / key head` neighbouring query heads.
    mask : Tensor or None, shape (1, 1 or head, query, key)
        Boolean (True may look) or added to the scores.
    rows : sequence of int
        Indices along the query axis.
    scaling : float or None
        Factor of the scores; 1/sqrt(width) if None.
    causal : bool
        Without a mask: query i sees keys 0..i only, counted from the upper left as in
        `torch.nn.functional.scaled_dot_product_attention`; a single query sees every key.
    bias : Tensor or None
        Position bias, added to the scores.

    Returns
    -------
    Tensor, shape (row, head, key), float32
        Each row sums to 1. float32 throughout, since half precision overflows in q Kᵀ on long inputs.
    """
    _, heads, n_queries, width = query.shape
    key_heads, n_keys = key.shape[1], key.shape[2]
    picked = query[0, :, list(rows)].float()
    grouped = picked.reshape(key_heads, heads // key_heads * len(rows), width)
    scores = torch.matmul(grouped, key[0].float().transpose(-2, -1))
    scores = scores.reshape(heads, len(rows), n_keys)
    scores = scores * (width**-0.5 if scaling is None else scaling)
    if bias is not None:
        scores = scores + _rows_of(bias, rows, n_keys).float()
    if mask is not None:
        picked_mask = _rows_of(mask, rows, n_keys)
        if picked_mask.dtype == torch.bool:
            scores = scores.masked_fill(~picked_mask, float("-inf"))
        else:
            scores = scores + picked_mask.float()
    elif causal and n_queries > 1:
        at = torch.arange(n_keys, device=scores.device)
        later = at[None] > torch.as_tensor(list(rows), device=scores.device)[:, None]
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(-1).transpose(0, 1)


def aligned(weights: Tensor, total: int) -> Tensor:
    """Put the weights of a layer's keys at the keys' places in the whole sequence.

    A sliding-window layer's cached step holds the last keys only: the columns before them are zeros. A
    preallocated cache holds places that are not filled yet: they are cut off.

    Parameters
    ----------
    weights : Tensor, shape (row, head, key)
    total : int
        Tokens in the sequence so far, those of this pass included.

    Returns
    -------
    Tensor, shape (row, head, total)
    """
    missing = total - weights.shape[-1]
    if missing > 0:
        return torch.nn.functional.pad(weights, (missing, 0))
    return weights[..., :total]


def _rows_of(mask: Tensor, rows: Sequence[int], n_keys: int) -> Tensor:
    """(1, 1 or head, query or 1, key) to (1 or head, row, key)."""
    picked = mask[0, :, list(rows)] if mask.shape[2] > 1 else mask[0]
    return picked[..., :n_keys]
