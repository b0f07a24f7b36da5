"""What a look into a model gives, as plain arrays: no torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TextStudy:
    """Attention of the words of question and answer among themselves.

    Attributes
    ----------
    tokens : tuple of str
        The prompt's tokens that are no patch, and then the answer's that were read (the last one never is).
    n_prompt : int
        How many of them are the prompt's.
    picture_at : int
        How many of them stand before the picture.
    layers : tuple of int
        The model's own numbers.
    weights : numpy.ndarray, shape (layer, head, query, key), float16
        Each row is one token's look at the tokens; what a token may not see is 0.
    picture_share : numpy.ndarray, shape (layer, head, query), float32
        What of each row fell on the picture; with the row it makes 1.
    note : str
        What a reader must know, such as that this model sees the picture elsewhere.
    """

    tokens: tuple[str, ...]
    n_prompt: int
    picture_at: int
    layers: tuple[int, ...]
    weights: NDArray[np.float16]
    picture_share: NDArray[np.float32]
    note: str = ""

    @property
    def n_heads(self) -> int:
        """How many heads a layer has."""
        return int(self.weights.shape[1])


@dataclass(frozen=True, eq=False)
class TokenCloud:
    """Each token's and each patch's vector at each depth, drawn in three dimensions.

    Attributes
    ----------
    depths : tuple of str
        "input", "layer 0", …
    points : numpy.ndarray, shape (depth, token, 3), float32
        Principal components, turned so that a depth lies as like the one before it as a rotation can make it.
    explained : numpy.ndarray, shape (depth,), float32
        Share of the variance that the three dimensions hold; the rest cannot be seen.
    texts : tuple of str
        One a token; "" for a patch.
    patch : numpy.ndarray, shape (token, 2), int64
        Row and column of a patch in the main view, -1 for a text token.
    note : str
    """

    depths: tuple[str, ...]
    points: NDArray[np.float32]
    explained: NDArray[np.float32]
    texts: tuple[str, ...]
    patch: NDArray[np.int64]
    note: str = ""


@dataclass(frozen=True, eq=False)
class PositionPicture:
    """How a model marks the place of a token.

    Attributes
    ----------
    name : str
        "rotary", "learned", …
    values : numpy.ndarray, shape (position, channel), float32
    note : str
        What the picture shows.
    """

    name: str
    values: NDArray[np.float32]
    note: str
