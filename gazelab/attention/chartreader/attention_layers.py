"""The parts of "Attention Is All You Need" (Vaswani et al. 2017), one class each.

Two departures from the paper, both for quick training: LayerNorm comes before each
sublayer instead of after it, and some heads of the cross-attention share one matrix
between query and key (see `MultiHeadAttention`).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class ScaledDotProductAttention(nn.Module):
    """softmax(QK^T / sqrt(d_k)) V (Vaswani et al. 2017, eq. 1)."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend.

        Parameters
        ----------
        query, key, value
            (batch, head, query or key, width of a head).
        mask
            Added to the scores, broadcast to (batch, head, query, key): 0 or -inf.

        Returns
        -------
        output
            (batch, head, query, width of a head).
        weights
            (batch, head, query, key); each row sums to 1.
        """
        # The query is scaled rather than the scores: the same product, over far fewer numbers.
        scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
        if mask is not None:
            scores = scores + mask
        weights = scores.softmax(dim=-1)
        return weights.to(value.dtype) @ value, weights


class MultiHeadAttention(nn.Module):
    """Concat(head_1 .. head_h) W_O, each head with its own projections (section 3.2.2).

    Parameters
    ----------
    width
        Model width.
    heads
        Number of heads.
    tied_heads
        So many first heads use their query projection for the keys too. Such a head scores by
        similarity of content from the first step on, which makes looking up a word easy to learn.
    """

    def __init__(self, width: int, heads: int, tied_heads: int = 0) -> None:
        super().__init__()
        self.heads = heads
        self.tied_width = tied_heads * (width // heads)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width - self.tied_width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.attend = ScaledDotProductAttention()

    def forward(self, target: Tensor, source: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from (batch, query, width) to (batch, key, width); weights as (batch, head, query, key)."""
        key, value = self.keys_and_values(source)
        return self.attend_to(target, key, value, mask)

    def keys_and_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Project the source once, so that it can be attended to many times."""
        key = self.key(source)
        if self.tied_width:
            tied = functional.linear(source, self.query.weight[: self.tied_width])
            key = torch.cat((tied, key), dim=-1)
        return self._split(key), self._split(self.value(source))

    def attend_to(
        self, target: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend to keys and values made by `keys_and_values`."""
        output, weights = self.attend(self._split(self.query(target)), key, value, mask)
        batch, _, length, _ = output.shape
        return self.output(output.transpose(1, 2).reshape(batch, length, -1)), weights

    def _split(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """max(0, xW_1 + b_1) W_2 + b_2 at each position (section 3.3)."""

    def __init__(self, width: int, inner_width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner_width)
        self.outer = nn.Linear(inner_width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, position, width) to the same shape."""
        out: Tensor = self.outer(functional.relu(self.inner(x)))
        return out


class ShiftConvolution(nn.Module):
    """Each token sees the two before it through one weight per channel; starts as the identity.

    A short causal convolution lets a token know its neighbours before any attention is learned.
    """

    def __init__(self, width: int, reach: int = 3) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(reach, width))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, position, width) to the same shape."""
        length = x.shape[1]
        padded = functional.pad(x, (0, 0, len(self.weight) - 1, 0))
        for i, weight in enumerate(self.weight):
            x = x + padded[:, i : i + length] * weight
        return x


class TokenEmbedding(nn.Module):
    """One vector per token, used at the input, at the output (section 3.4) and to name what a cell shows."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(tokens, width) / math.sqrt(width))

    def forward(self, ids: Tensor) -> Tensor:
        """(...) ids to (..., width), multiplied by sqrt(width) as in the paper."""
        return functional.embedding(ids, self.weight) * math.sqrt(self.weight.shape[1])

    def logits(self, x: Tensor) -> Tensor:
        """(..., width) to (..., tokens): the output embedding, tied to the input one."""
        return functional.linear(x, self.weight)


class TokenPositions(nn.Module):
    """Learned position encoding of the text (section 3.5 found it equal to the sinusoids)."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(positions, width) * 0.3)

    def forward(self, start: int, length: int) -> Tensor:
        """Give the encoding of `length` positions from `start`, (length, width)."""
        return self.weight[start : start + length]


class CellPositions(nn.Module):
    """Learned encoding of a cell of the picture: one vector per row plus one per column."""

    def __init__(self, rows: int, columns: int, width: int) -> None:
        super().__init__()
        self.row = nn.Parameter(torch.randn(rows, width) * 0.3)
        self.column = nn.Parameter(torch.randn(columns, width) * 0.3)

    def forward(self) -> Tensor:
        """(rows * columns, width), row-major."""
        return (self.row[:, None] + self.column[None]).flatten(0, 1)
