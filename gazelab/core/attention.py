"""What a model's look is, as plain arrays: no torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gazelab.core.geometry import PatchGrid


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """A model's attention to one picture while it produced one answer.

    Attributes
    ----------
    model_id, revision : str
        The checkpoint; `revision` is the weight file's hash or commit.
    picture_sha256 : str
        Of the picture's RGB pixels.
    prompt : str
        The question as asked.
    tokens : tuple of str
        The tokens that were produced, in order.
    grid : PatchGrid
        Where the patches lie on the picture.
    weights : numpy.ndarray, shape (token, layer, head, row, col), float16
        Row of the position that predicts each token; sums to the share of attention that fell on the picture.
    layers : tuple of int
        The model's own number of each layer in `weights`.
    text_share, sink_share : numpy.ndarray, shape (token, layer, head), float32
        What fell on text, and on the first token or another sink; with the picture's share they sum to 1.
    kind : str
        "self" (decoder-only) or "cross" (encoder-decoder).
    top : tuple, one entry a token
        The next-token distribution's head: ((token, probability), …), most probable first.
    note : str
        What a reader must know of the picture's way in, such as a centre crop.
    made_with : dict of str
        Library versions, the picture processor's class and the size it gave the picture.
    """

    model_id: str
    revision: str
    picture_sha256: str
    prompt: str
    tokens: tuple[str, ...]
    grid: PatchGrid
    weights: NDArray[np.float16]
    layers: tuple[int, ...]
    text_share: NDArray[np.float32]
    sink_share: NDArray[np.float32]
    kind: str = "self"
    top: tuple[tuple[tuple[str, float], ...], ...] = ()
    answer: str = ""
    note: str = ""
    made_with: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expect = (len(self.tokens), len(self.layers))
        if self.weights.shape[:2] != expect or self.weights.shape[3:] != (self.grid.rows, self.grid.cols):
            raise ValueError(
                f"weights of shape {self.weights.shape} for {len(self.tokens)} tokens, {len(self.layers)}"
                f" layers and a grid of {self.grid.rows} x {self.grid.cols}"
            )

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return int(self.weights.shape[2])


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """One map over the patches.

    Attributes
    ----------
    values : numpy.ndarray, shape (row, col), float64
        Sums to 1 over the patches that lie on the picture; all NaN if no attention fell on it.
    grid : PatchGrid
    how : dict
        How it was made: method, layers, heads, tokens, sinks; written into every result.
    picture_share : float
        Share of the attention that fell on the picture before it was scaled to 1.
    """

    values: NDArray[np.float64]
    grid: PatchGrid
    how: dict[str, object] = field(default_factory=dict)
    picture_share: float = float("nan")
