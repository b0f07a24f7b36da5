"""The picture's side: patches to vectors, then self-attention among them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from gazelab.attention.chartreader.attention_layers import CellPositions, FeedForward, MultiHeadAttention

CELL_COLUMNS = 4
"""Columns of the line reader in a cell."""
WINDOW = 24
"""Columns that a cell gathers letters from: its own and ten on each side, 96 px of the model's picture."""


class Line(NamedTuple):
    """What the line reader knows.

    `columns` is (batch, channel, row, column) at 8 px by 4 px; `letters` (batch, model width, row, column)
    the letter of a column in its place; `gates` (batch, `WINDOW`, cell row, cell column), before the sigmoid,
    tells which columns round a cell belong to the word that the cell shows.
    """

    columns: Tensor
    letters: Tensor
    gates: Tensor


class LineReader(nn.Module):
    """Reads along lines of text: columns of 4 px (about one letter), rows of 8 px.

    Wide and flat convolutions, dilated more and more (Yu and Koltun 2016), let a column know the letters
    beside it, so that it can tell which letter of its word it shows. "This letter in this place" is a
    conjunction, so two views of a column are multiplied (the bilinear unit of Shazeer 2020). Each cell of
    16x16 px then gathers the letters of the word at its centre, from as far as `WINDOW` columns reach.
    """

    def __init__(self, inputs: int, channels: int, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(inputs, channels, 3, stride=(2, 1), padding=1)
        # Text may lie between two rows: without this, the tail of a "y" is out of sight.
        self.across = nn.Conv2d(channels, channels, (3, 1), padding=(1, 0))
        self.along = nn.ModuleList(
            nn.Conv2d(channels, channels, (1, 5), padding=(0, 2 * step), dilation=(1, step))
            for step in (1, 2, 4)
        )
        mixes = [nn.Conv2d(channels, channels, 1) for _ in range(1 + len(self.along))]
        self.mix = nn.ModuleList(mixes)
        self.letter = nn.Conv2d(channels, width, 1)
        self.place = nn.Conv2d(channels, width, 1)
        self.gate = nn.Conv2d(channels, WINDOW, (2, 4), stride=(2, 4))
        self.leave = nn.Conv2d(width, width, 1)
        for module in (self.enter, self.across, *self.along, self.letter, self.place):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)
        for mix in mixes:
            nn.init.kaiming_normal_(mix.weight, nonlinearity="linear")
            mix.weight.data.mul_(0.2)
        # Letters go to the cell as they are, and small: the path adds to what the stem sees.
        nn.init.dirac_(self.leave.weight)
        self.leave.weight.data.mul_(0.1)

    def forward(self, quarter: Tensor) -> tuple[Line, Tensor]:
        """Read a quarter of the picture's resolution.

        Parameters
        ----------
        quarter
            (batch, channel, height / 4, width / 4).

        Returns
        -------
        line
            What was read.
        cells
            (batch, model width, height / 16, width / 16).
        """
        x = functional.relu(self.enter(quarter))
        for step, mix in zip((*self.along, self.across), self.mix, strict=True):
            x = x + mix(functional.relu(step(x)))
        even = x * (x.square().mean(1, keepdim=True) + 1.0).rsqrt()  # products of large numbers run away
        line = Line(x, self.letter(even) * self.place(even), self.gate(x))
        return line, self.leave(gather(line))


def gather(line: Line) -> Tensor:
    """(batch, width, cell row, cell column): the letters of the columns whose gates are open, summed up."""
    rows = functional.avg_pool2d(line.letters, (2, 1))
    before = (WINDOW - CELL_COLUMNS) // 2
    windows = functional.pad(rows, (before, before)).unfold(3, WINDOW, CELL_COLUMNS)
    gathered: Tensor = torch.einsum("bwrcd,bdrc->bwrc", windows, line.gates.sigmoid())
    return gathered


class ConvolutionStem(nn.Module):
    """Four strided 3x3 convolutions: one vector for each 16x16 px cell.

    Cells overlap in what they see, so text that straddles two cells can still be read.
    With `line_channels`, a `LineReader` adds what it reads to each cell.
    """

    def __init__(self, width: int, channels: tuple[int, int, int], line_channels: int = 0) -> None:
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
        self.lines = LineReader(channels[1], line_channels, width) if line_channels else None

    def forward(self, picture: Tensor) -> Tensor:
        """(batch, 3, height, width) of ink to (batch, cell, model width), row-major."""
        return self.stages(picture)[1]

    def stages(self, picture: Tensor) -> tuple[Line | None, Tensor]:
        """Give what the line reader knows, None without one, and the cells."""
        x = picture
        line = read = None
        for i, convolution in enumerate(self.convolutions):
            x = convolution(x)
            if i < len(self.convolutions) - 1:
                x = functional.relu(x)
            if i == 1 and self.lines is not None:
                line, read = self.lines(x)
            if i == 2:
                x = x + functional.relu(self.refine(x))
        if read is not None:
            x = x + read
        return line, self.norm(x.flatten(2).transpose(1, 2))


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
        line_channels: int = 0,
    ) -> None:
        super().__init__()
        self.stem = ConvolutionStem(width, channels, line_channels)
        self.positions = CellPositions(rows, columns, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, inner_width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, picture: Tensor) -> Tensor:
        """(batch, 3, height, width) to (batch, cell, model width)."""
        return self.mix(self.stem(picture))

    def mix(self, cells: Tensor) -> Tensor:
        """Let the stem's cells look at each other: (batch, cell, model width) to the same shape."""
        x = cells + self.positions()
        for layer in self.layers:
            x = layer(x)
        memory: Tensor = self.norm(x)
        return memory
