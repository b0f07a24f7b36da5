"""The whole encoder-decoder and its sizes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor, nn

from gazelab.attention.chartreader.attention_layers import TokenEmbedding, TokenPositions
from gazelab.attention.chartreader.decoder import TextDecoder
from gazelab.attention.chartreader.encoder import PatchEncoder
from gazelab.attention.chartreader.spelled_embedding import SpelledEmbedding


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the network; px are of the model's own picture.

    `characters` is how many tokens an answer is written with, and 0 for a model of whole words.
    `line_channels` is the width of the path that reads along lines of text, and 0 for none.
    """

    tokens: int
    picture_width_px: int = 256
    picture_height_px: int = 192
    cell_px: int = 16
    width: int = 192
    heads: int = 6
    tied_heads: int = 3
    inner_width: int = 768
    encoder_layers: int = 4
    decoder_layers: int = 4
    stem_channels: tuple[int, int, int] = (32, 64, 96)
    positions: int = 64
    characters: int = 0
    line_channels: int = 0

    @property
    def rows(self) -> int:
        """Rows of cells."""
        return self.picture_height_px // self.cell_px

    @property
    def columns(self) -> int:
        """Columns of cells."""
        return self.picture_width_px // self.cell_px

    def to_json(self) -> dict[str, Any]:
        """Plain values for the file beside the weights."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> NetworkConfig:
        """Inverse of `to_json`."""
        return cls(**{**values, "stem_channels": tuple(values["stem_channels"])})


class ChartReaderNetwork(nn.Module):
    """Patch encoder and text decoder round one shared token embedding."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = (
            SpelledEmbedding(config.tokens, config.characters, config.width)
            if config.characters
            else TokenEmbedding(config.tokens, config.width)
        )
        self.positions = TokenPositions(config.positions, config.width)
        self.encoder = PatchEncoder(
            config.rows,
            config.columns,
            config.width,
            config.heads,
            config.inner_width,
            config.encoder_layers,
            config.stem_channels,
            config.line_channels,
        )
        self.decoder = TextDecoder(
            config.width, config.heads, config.inner_width, config.decoder_layers, config.tied_heads
        )

    def encode(self, picture: Tensor) -> Tensor:
        """(batch, 3, height, width) of ink to the memory (batch, cell, width)."""
        memory: Tensor = self.encoder(picture)
        return memory

    def decode(self, ids: Tensor, memory: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Next-token logits for texts about each picture.

        Parameters
        ----------
        ids
            (picture * text, token) ids, or (picture * text, token, row) of spelled words; the texts of one
            picture together.
        memory
            (picture, cell, width).

        Returns
        -------
        logits
            (picture * text, token, vocabulary or character).
        weights
            Cross-attention of each layer, (picture, head, text * token, cell).
        """
        x, weights = self.decoder(self.embedding(ids) + self.positions(0, ids.shape[1]), memory)
        if isinstance(self.embedding, SpelledEmbedding):
            return self.embedding.logits(x, ids), weights
        return self.embedding.logits(x), weights
