"""What a family's grid file gives: where each of the picture's tokens looks from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid


@dataclass(frozen=True, eq=False)
class Layout:
    """A picture's tokens laid over the picture.

    Attributes
    ----------
    grid : PatchGrid
        In picture px, the family's own resize, crop and padding undone.
    token : numpy.ndarray, shape (rows, cols), int64
        For each patch, the index of its token among the picture's tokens in the prompt.
    n_tokens : int
        How many tokens the picture takes in the prompt, those that are no patch included.
    input_px : str
        The size that the family's processor gave the picture.
    note : str
        What a reader must know of the picture's way in; empty if nothing.
    """

    grid: PatchGrid
    token: NDArray[np.int64]
    n_tokens: int
    input_px: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.token.shape != (self.grid.rows, self.grid.cols):
            raise ValueError(f"tokens {self.token.shape} on a grid of {self.grid.rows} x {self.grid.cols}")

    def columns(self, is_picture: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Find the sequence position of each patch's token.

        Parameters
        ----------
        is_picture : numpy.ndarray, shape (sequence,), bool
            Which positions of the prompt hold the picture's tokens.

        Returns
        -------
        numpy.ndarray, shape (rows, cols), int64

        Raises
        ------
        AttentionError
            The prompt holds another number of picture tokens than the grid: never reshaped to fit.
        """
        positions = np.flatnonzero(is_picture)
        if len(positions) != self.n_tokens:
            raise AttentionError(
                f"the prompt holds {len(positions)} picture tokens, but a grid of {self.grid.rows} x"
                f" {self.grid.cols} patches needs {self.n_tokens}.",
                todo="The checkpoint's processor and its model do not belong together.",
            )
        return np.asarray(positions[self.token], np.int64)
