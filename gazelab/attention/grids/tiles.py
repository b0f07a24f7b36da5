"""Pictures that are cut into square tiles: a fine view of the tiles side by side, and a coarse one of all."""

from __future__ import annotations

import numpy as np

from gazelab.attention.grids.layout import PatchView
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import Floats, PatchGrid


def tokens_a_side(side_px: int, patch_px: int, merge: int) -> int:
    """Count a square tile's tokens along one side.

    Parameters
    ----------
    side_px : int
        Of the tile, as the picture processor makes it.
    patch_px : int
        Of the vision tower; px that are left over at the right and lower edge are not read.
    merge : int
        How many patches along a side become one token.

    Raises
    ------
    AttentionError
        The patches cannot be merged so.
    """
    patches = side_px // patch_px
    if not patches or patches % merge:
        raise AttentionError(
            f"tiles of {side_px} px with patches of {patch_px} px, merged by {merge}: they do not fit.",
            todo="The checkpoint's processor and its model do not belong together.",
        )
    return patches // merge


def tile_edges(tiles: int, side_px: int, token_px: int, length_px: int) -> Floats:
    """Lay the tokens of tiles in a row over one axis of the picture.

    Parameters
    ----------
    tiles : int
        Side by side.
    side_px : int
        Of each, in the model's px.
    token_px : int
        How many of the model's px a token covers. What is left over of a tile is not read: between two tiles
        it goes to the token before it, after the last tile it lies outside the grid.
    length_px : int
        Of the picture.

    Returns
    -------
    numpy.ndarray, shape (tiles · tokens a tile + 1,)
        Ascending, in picture px.
    """
    of_tile = np.arange(side_px // token_px) * token_px
    edges = [tile * side_px + of_tile for tile in range(tiles)]
    model_px = np.concatenate([*edges, [tiles * side_px - side_px % token_px]])
    return np.asarray(model_px * (length_px / (tiles * side_px)), np.float64)


def tiled_view(
    name: str,
    shape: tuple[int, int],
    side_px: int,
    token_px: int,
    picture_px: tuple[int, int],
    first: int = 0,
) -> PatchView:
    """Lay tiles of row-major tokens, themselves row by row, over the whole picture.

    Parameters
    ----------
    name : str
        Of the view.
    shape : (int, int)
        Rows and columns of tiles; (1, 1) for a view that is no more than one.
    side_px, token_px : int
        As in `tile_edges`.
    picture_px : (int, int)
        Width and height of the picture.
    first : int
        Index of the view's first token among the picture's.
    """
    (rows, cols), n = shape, side_px // token_px
    grid = PatchGrid(
        tile_edges(cols, side_px, token_px, picture_px[0]),
        tile_edges(rows, side_px, token_px, picture_px[1]),
        *picture_px,
    )
    order = np.arange(rows * cols * n * n, dtype=np.int64).reshape(rows, cols, n, n)
    return PatchView(name, grid, first + order.transpose(0, 2, 1, 3).reshape(rows * n, cols * n))


def unread_note(side_px: int, patch_px: int) -> str:
    """Say what the vision tower leaves out of each tile; empty if nothing."""
    left_over = side_px % patch_px
    if not left_over:
        return ""
    return (
        f"The model does not read the last {left_over} of {side_px} px at the right and at the lower edge of"
        " each tile."
    )
