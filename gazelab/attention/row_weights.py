"""softmax(q Kᵀ) for a few query rows, with the mask that the fast kernel uses."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

HIDDEN = -1e37
"""Scores below this are of keys that the query may not see."""


@torch.no_grad()
def row_scores(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    rows: Sequence[int],
    *,
    scaling: float | None,
    causal: bool,
    bias: Tensor | None = None,
) -> Tensor:
    """Compute the scores of a few query rows: what goes into the softmax.

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
    Tensor, shape (head, row, key), float32 (float64 for a float64 model)
        Keys that a row may not see are below `HIDDEN`. Never in half precision: q Kᵀ overflows float16 on
        long inputs, and loses two of bfloat16's three digits.
    """
    _, heads, n_queries, width = query.shape
    key_heads, n_keys = key.shape[1], key.shape[2]
    kind = torch.promote_types(query.dtype, torch.float32)
    factor = width**-0.5 if scaling is None else scaling
    # One matrix product per key head, its query heads stacked: no key is copied for a head that shares it.
    grouped = (_picked(query[0], rows).to(kind) * factor).reshape(key_heads, -1, width)
    scores = torch.bmm(grouped, key[0].to(kind).transpose(1, 2)).view(heads, len(rows), n_keys)
    if bias is not None:
        scores = scores + _rows_of(bias, rows, n_keys).to(kind)
    if mask is not None:
        seen = _rows_of(mask, rows, n_keys)
        if seen.dtype == torch.bool:
            return scores.masked_fill_(~seen, torch.finfo(kind).min)
        return (scores + seen.to(kind)).clamp_(min=torch.finfo(kind).min)
    if causal and n_queries > 1:
        at = torch.arange(n_keys, device=scores.device)
        later = at[None] > torch.as_tensor(list(rows), device=scores.device)[:, None]
        return scores.masked_fill_(later, torch.finfo(kind).min)
    return scores


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
    """Compute the attention weights of a few query rows; the parameters are those of `row_scores`.

    Returns
    -------
    Tensor, shape (head, row, key)
        Each row sums to 1. A row that may see nothing (padding) is uniform, as in the library's eager
        attention.
    """
    return row_scores(query, key, mask, rows, scaling=scaling, causal=causal, bias=bias).softmax(-1)


def _picked(of_queries: Tensor, rows: Sequence[int]) -> Tensor:
    """(head, query, …) to (head, row, …); neighbouring rows are not copied."""
    first, last = rows[0], rows[-1]
    if last - first + 1 == len(rows):
        return of_queries[:, first : last + 1]
    return of_queries[:, list(rows)]


def _rows_of(mask: Tensor, rows: Sequence[int], n_keys: int) -> Tensor:
    """(1, 1 or head, query or 1, key) to (1 or head, row, key)."""
    picked = _picked(mask[0], rows) if mask.shape[2] > 1 else mask[0]
    return picked[..., :n_keys]
