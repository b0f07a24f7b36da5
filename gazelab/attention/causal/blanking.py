"""Take patches out of a picture, in its own pixels, and tell which patches show something."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture

Fill = Literal["background", "median", "blur"]
"""What stands where a patch was: the picture's commonest colour, its median colour, or itself, blurred by a
patch's side (as the insertion curves of Petsiuk et al. 2018 begin)."""

SHOWN_LEVELS = 24
"""Of 255: how far from the background's colour a pixel must be, in any channel, to show something."""
SHOWN_SHARE = 0.01
"""Share of such pixels from which on a patch shows something: half a letter's stroke."""
_SAMPLED_PX = 1_000_000


def background_of(picture: Picture) -> NDArray[np.uint8]:
    """Find the picture's commonest colour, (3,): the median of the fullest of 32³ boxes of colour."""
    pixels = _sampled(picture)
    boxes = (pixels >> 3).astype(np.int64) @ np.array([1024, 32, 1])
    fullest = np.bincount(boxes, minlength=1).argmax()
    return np.asarray(np.median(pixels[boxes == fullest], 0), np.uint8)


def filled(picture: Picture, grid: PatchGrid, fill: Fill) -> NDArray[np.uint8]:
    """Make the picture with every patch taken out, (height, width, 3).

    Raises
    ------
    AttentionError
        There is no such fill.
    """
    if fill == "background":
        return np.broadcast_to(background_of(picture), picture.rgb.shape)
    if fill == "median":
        return np.broadcast_to(np.asarray(np.median(_sampled(picture), 0), np.uint8), picture.rgb.shape)
    if fill != "blur":
        raise AttentionError(f'fill = "{fill}" is unknown.', todo="Use background, median or blur.")
    from scipy.ndimage import gaussian_filter

    sides = [float(np.diff(edges).mean()) for edges in (grid.y_edges_px, grid.x_edges_px)]
    blurred = gaussian_filter(picture.rgb.astype(np.float32), (*sides, 0))
    return np.asarray(np.round(blurred), np.uint8)


def blanked(
    picture: Picture, grid: PatchGrid, patches: NDArray[np.bool_], instead: NDArray[np.uint8]
) -> Picture:
    """Take some patches out of a picture; a pixel belongs to the patch in which its centre lies.

    Parameters
    ----------
    picture : Picture
    grid : PatchGrid
    patches : numpy.ndarray, shape (rows, cols), bool
    instead : numpy.ndarray, shape (height, width, 3), uint8
        What stands there then; see `filled`.
    """
    out = np.where(pixels_of(grid, patches)[..., None], instead, picture.rgb)
    return Picture.from_rgb(out)


def pixels_of(grid: PatchGrid, patches: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the pixels of some patches, (height, width); pixels without a patch are not marked."""
    rows, cols = _patch_of_pixels(grid)
    bordered = np.pad(patches, ((0, 1), (0, 1)))  # index -1, no patch, is the border
    return np.asarray(bordered[rows][:, cols])


def shows_something(picture: Picture, grid: PatchGrid) -> NDArray[np.bool_]:
    """Tell which patches show more than background, (rows, cols); those outside the picture show nothing."""
    ink = (np.abs(picture.rgb.astype(np.int16) - background_of(picture)) > SHOWN_LEVELS).any(-1)
    rows, cols = _patch_of_pixels(grid)
    shape = (grid.rows + 1, grid.cols + 1)
    y, x = np.nonzero(ink)
    inked = np.bincount(rows[y] % shape[0] * shape[1] + cols[x] % shape[1], minlength=shape[0] * shape[1])
    area = np.outer(
        np.bincount(rows % shape[0], minlength=shape[0]), np.bincount(cols % shape[1], minlength=shape[1])
    )
    share = inked.reshape(shape) / np.maximum(area, 1)
    return np.asarray(share[:-1, :-1] >= SHOWN_SHARE)


def _patch_of_pixels(grid: PatchGrid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row of each line of pixels, and column of each column; -1 where there is no patch."""
    return grid.locate(np.arange(grid.picture_width_px) + 0.5, np.arange(grid.picture_height_px) + 0.5)


def _sampled(picture: Picture) -> NDArray[np.uint8]:
    """Take about a million pixels, (n, 3), evenly spread."""
    pixels = picture.rgb.reshape(-1, 3)
    return pixels[:: max(1, len(pixels) // _SAMPLED_PX)]
