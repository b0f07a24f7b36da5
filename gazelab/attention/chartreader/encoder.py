"""The picture's side: patches to vectors, then self-attention among them."""

from __future__ import annotations

import itertools

from torch import Tensor, nn
from torch.nn import functional

from gazelab.attention.chartreader.attention_layers import CellPositions, FeedForward, MultiHeadAttention


class ConvolutionStem(nn.Module):
    """Four strided 3x3 convolutions: one vector for each 16x16 px cell.

    Cells overlap in what they see, so text that straddles two cells can still be read.
    """

    def __init__(self, width: int, channels: tuple[int, int, int]) -> None:
        super().__init__()
        steps = (3, *channels, width)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1) for before, after in itertools.pairwise(steps)
        )
        self.refine = nn.Conv2d(channels[2], channels[2], 3, padding=1)
        self.norm = nn.LayerNorm(width)
        for module in (*self.convolutions, self.refine):
            # He et al. 2015: keeps the signal's size through ReLU, else the picture drowns in positions.
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)

    def forward(self, picture: Tensor) -> Tensor:
        """(batch, 3, height, width) of ink to (batch, cell, model width), row-major."""
        x = picture
        for i, convolution in enumerate(self.convolutions):
            x = convolution(x)
            if i < len(self.convolutions) - 1:
                x = functional.relu(x)
            if i == 2:
                x = x + functional.relu(self.refine(x))
        out: Tensor = self.norm(x.flatten(2).transpose(1, 2))
        return out


class EncoderLayer(nn.Module):
    """Self-attention over the cells, then feed-forward, each with residual and LayerNorm."""

    def __init__(self, width: int, heads: int, inner_width: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, inner_width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, cell, width) to the same shape."""
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed)[0]
        out: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return out


class PatchEncoder(nn.Module):
    """Stem, cell positions and a stack of encoder layers: the memory that the decoder looks at."""

    def __init__(
        self,
        rows: int,
        columns: int,
        width: int,
        heads: int,
        inner_width: int,
        layers: int,
        channels: tuple[int, int, int],
    ) -> None:
        super().__init__()
        self.stem = ConvolutionStem(width, channels)
        self.positions = CellPositions(rows, columns, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, inner_width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, picture: Tensor) -> Tensor:
        """(batch, 3, height, width) to (batch, cell, model width)."""
        x = self.stem(picture) + self.positions()
        for layer in self.layers:
            x = layer(x)
        memory: Tensor = self.norm(x)
        return memory
