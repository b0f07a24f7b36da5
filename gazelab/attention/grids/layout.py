"""What a family's grid file gives: where each of the picture's tokens looks from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid


@dataclass(frozen=True, eq=False)
class PatchView:
    """One grid through which a model sees the whole picture, or what is left of it after a crop.

    Attributes
    ----------
    name : str
        "picture" where there is one view only; else as the family calls it ("tiles", "global", …).
    grid : PatchGrid
        In picture px, the family's own resize, crop and padding undone.
    token : numpy.ndarray, shape (rows, cols), int64
        For each patch, the index of its token among the picture's tokens in the prompt.
    """

    name: str
    grid: PatchGrid
    token: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.token.shape != (self.grid.rows, self.grid.cols):
            raise ValueError(f"tokens {self.token.shape} on a grid of {self.grid.rows} x {self.grid.cols}")


@dataclass(frozen=True, eq=False)
class Layout:
    """A picture's tokens laid over the picture.

    Attributes
    ----------
    views : tuple of PatchView
        The finest first: it is the trace's main view. Views of one picture overlap; no token is in two.
    n_tokens : int
        How many tokens the picture takes in the prompt, those that are no patch included.
    input_px : str
        The size that the family's processor gave the picture.
    note : str
        What a reader must know of the picture's way in; empty if nothing.
    """

    views: tuple[PatchView, ...]
    n_tokens: int
    input_px: str
    note: str = ""

    def __post_init__(self) -> None:
        used = np.concatenate([view.token.ravel() for view in self.views])
        if len(np.unique(used)) < len(used) or used.min() < 0 or used.max() >= self.n_tokens:
            raise ValueError(f"{len(used)} patches do not fit {self.n_tokens} picture tokens, each once")

    @classmethod
    def whole(cls, grid: PatchGrid, input_px: str, note: str = "") -> Layout:
        """Lay one row-major view of one token a patch, the commonest case."""
        n = grid.rows * grid.cols
        token = np.arange(n, dtype=np.int64).reshape(grid.rows, grid.cols)
        return cls((PatchView("picture", grid, token),), n, input_px, note)

    @property
    def grid(self) -> PatchGrid:
        """The main view's grid."""
        return self.views[0].grid

    @property
    def token(self) -> NDArray[np.int64]:
        """The main view's tokens, (rows, cols)."""
        return self.views[0].token

    def columns(self, is_picture: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]:
        """Find the sequence position of each patch's token.

        Parameters
        ----------
        is_picture : numpy.ndarray, shape (sequence,), bool
            Which positions of the prompt hold the picture's tokens.

        Returns
        -------
        tuple of numpy.ndarray, one a view, each (rows, cols), int64

        Raises
        ------
        AttentionError
            The prompt holds another number of picture tokens than the grid: never reshaped to fit.
        """
        positions = np.flatnonzero(is_picture)
        if len(positions) != self.n_tokens:
            grids = " and ".join(f"{v.grid.rows} x {v.grid.cols}" for v in self.views)
            raise AttentionError(
                f"the prompt holds {len(positions)} picture tokens, but a grid of {grids} patches needs"
                f" {self.n_tokens}.",
                todo="The checkpoint's processor and its model do not belong together.",
            )
        return tuple(np.asarray(positions[view.token], np.int64) for view in self.views)
