"""What a model's look is, as plain arrays: no torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gazelab.core.geometry import PatchGrid


@dataclass(frozen=True, eq=False)
class LookView:
    """A further grid through which a model saw the same picture, such as the small whole beside the tiles.

    Attributes
    ----------
    name : str
        As the family calls it: "global", "thumbnail", "base".
    grid : PatchGrid
    weights : numpy.ndarray, shape (token, layer, head, row, col), float16
        What fell on this view's own tokens; nothing of it is in the main view's weights.
    """

    name: str
    grid: PatchGrid
    weights: NDArray[np.float16]


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """A model's attention to one picture while it produced one answer.

    Of each token, layer and head, the weights of all views, the text share and the sink share make 1.

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
        Row of the position that predicts each token; sums to the share of attention that fell on the
        picture's main view.
    layers : tuple of int
        The model's own number of each layer in `weights`.
    text_share, sink_share : numpy.ndarray, shape (token, layer, head), float32
        What fell on text, and on the first token (where that is no patch) or a learned sink.
    kind : str
        "self" (decoder-only) or "cross" (encoder-decoder).
    top : tuple, one entry a token
        The next-token distribution's head: ((token, probability), …), most probable first.
    note : str
        What a reader must know of the picture's way in, such as a centre crop.
    made_with : dict of str
        Library versions, the picture processor's class and the size it gave the picture.
    view : str
        Name of the main view, the finest; "picture" where there is one view only.
    other_views : tuple of LookView
    prompt_tokens : tuple of str
        The prompt's tokens that are no patch, in order: text, and marks between tiles or rows.
    picture_at : int
        How many of them stand before the picture.
    text_weights : numpy.ndarray, shape (token, layer, head, text key), float16, or None
        What fell on each of `prompt_tokens` and then on the answer's tokens so far, first token included; 0
        where a key was not there yet. None if it was not kept.
    token_ids : tuple of int
        The model's own numbers of `tokens`, with which the same answer can be put to it again.
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
    view: str = "picture"
    other_views: tuple[LookView, ...] = ()
    prompt_tokens: tuple[str, ...] = ()
    picture_at: int = 0
    text_weights: NDArray[np.float16] | None = None
    token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for grid, weights in ((self.grid, self.weights), *((v.grid, v.weights) for v in self.other_views)):
            expect = (len(self.tokens), len(self.layers), self.n_heads, grid.rows, grid.cols)
            if weights.shape != expect:
                raise ValueError(
                    f"weights of shape {weights.shape} for {len(self.tokens)} tokens, {len(self.layers)}"
                    f" layers, {self.n_heads} heads and a grid of {grid.rows} x {grid.cols}"
                )

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return int(self.weights.shape[2])

    @property
    def views(self) -> tuple[LookView, ...]:
        """The main view and the others, alike."""
        return (LookView(self.view, self.grid, self.weights), *self.other_views)

    @property
    def picture_share(self) -> NDArray[np.float32]:
        """Share of the attention that fell on the picture, all views together; (token, layer, head)."""
        total = np.zeros(self.weights.shape[:3], np.float32)
        for view in self.views:
            total += view.weights.sum((-2, -1), dtype=np.float32)
        return total


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
