"""The text's side: masked self-attention, cross-attention to the picture's cells, feed-forward."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gazelab.attention.chartreader.attention_layers import FeedForward, MultiHeadAttention, ShiftConvolution


def causal_mask(length: int) -> Tensor:
    """(length, length): 0 where a token may look, -inf at later tokens."""
    return torch.full((length, length), float("-inf")).triu(1)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention and feed-forward, each with residual and LayerNorm."""

    def __init__(self, width: int, heads: int, inner_width: int, tied_heads: int) -> None:
        super().__init__()
        self.shift = ShiftConvolution(width)
        self.self_norm = nn.LayerNorm(width)
        self.self_attention = MultiHeadAttention(width, heads)
        self.cross_norm = nn.LayerNorm(width)
        self.cross_attention = MultiHeadAttention(width, heads, tied_heads)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, inner_width)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Decode several texts about each picture.

        Parameters
        ----------
        x
            (picture * text, token, width): the texts of one picture lie together.
        memory
            (picture, cell, width).
        mask
            (token, token), see `causal_mask`.

        Returns
        -------
        x
            Same shape.
        weights
            Cross-attention (picture, head, text * token, cell).
        """
        x = self.shift(x)
        normed = self.self_norm(x)
        x = x + self.self_attention(normed, normed, mask)[0]
        # All texts of a picture query its cells as one long list: no mask is needed there.
        queries = self.cross_norm(x).view(memory.shape[0], -1, x.shape[-1])
        looked, weights = self.cross_attention(queries, memory)
        x = x + looked.reshape(x.shape)
        return x + self.feed_forward(self.feed_forward_norm(x)), weights


class TextDecoder(nn.Module):
    """A stack of decoder layers."""

    def __init__(self, width: int, heads: int, inner_width: int, layers: int, tied_heads: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(width, heads, inner_width, tied_heads) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, list[Tensor]]:
        """See `DecoderLayer.forward`; the weights are one tensor per layer."""
        mask = causal_mask(x.shape[1])
        weights = []
        for layer in self.layers:
            x, layer_weights = layer(x, memory, mask)
            weights.append(layer_weights)
        return self.norm(x), weights
