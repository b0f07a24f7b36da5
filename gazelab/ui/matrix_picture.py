"""The layer × head matrix as one picture: drawing some hundred cells one by one would be slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PyQt6.QtGui import QImage

from gazelab.ui.canvas import rgb_image
from gazelab.ui.colours import ColourMap
from gazelab.ui.look_sums import Floats

GAP_PX = 1
CLIP_SHARE = 0.02
"""Of a small map's cells are brighter than its scale: one sink would leave the rest of it dark."""

Bytes = NDArray[np.uint8]


def numbers_picture(
    values: Floats, colours: ColourMap, ground: tuple[int, int, int], cell: tuple[int, int]
) -> QImage:
    """Draw one flat cell a number; the largest is the darkest, NaN has the ground's colour.

    Parameters
    ----------
    values : numpy.ndarray, shape (layer, head)
        Not negative.
    colours : ColourMap
        Drawn opaque.
    ground : (int, int, int)
        RGB between the cells.
    cell : (int, int)
        Width and height of a cell with its gap, device px.
    """
    known = np.isfinite(values)
    top = float(values[known].max()) if known.any() else 0.0
    scaled = np.where(known, values, 0) / (top if top > 0 else 1.0)
    rgb = _coloured(scaled, colours)
    rgb[~known] = ground
    width, height = cell
    return _with_gaps(rgb.repeat(height, 0).repeat(width, 1), cell, ground)


def maps_picture(
    maps: Floats, colours: ColourMap, ground: tuple[int, int, int], cell: tuple[int, int]
) -> QImage:
    """Draw one small map a cell, each on its own scale.

    Parameters
    ----------
    maps : numpy.ndarray, shape (layer, head, row, col)
    """
    layers, heads, rows, cols = maps.shape
    width, height = cell
    flat = maps.reshape(layers, heads, -1)
    kth = max(0, int(flat.shape[-1] * (1 - CLIP_SHARE)) - 1)
    top = np.partition(flat, kth, axis=-1)[..., kth]
    top = np.where(top > 0, top, flat.max(-1))
    scaled = np.clip(maps / np.where(top > 0, top, 1)[..., None, None], 0, 1)
    down = np.arange(height) * rows // height
    across = np.arange(width) * cols // width
    tiles = scaled[:, :, down][:, :, :, across]
    whole = tiles.transpose(0, 2, 1, 3).reshape(layers * height, heads * width)
    return _with_gaps(_coloured(whole, colours), cell, ground)


def _coloured(scaled: ArrayLike, colours: ColourMap) -> Bytes:
    out: Bytes = colours.rgba[(np.asarray(scaled) * 255).astype(np.uint8), :3]
    return out


def _with_gaps(rgb: Bytes, cell: tuple[int, int], ground: tuple[int, int, int]) -> QImage:
    width, height = cell
    if min(width, height) > 4 * GAP_PX:
        for gap in range(GAP_PX):
            rgb[height - 1 - gap :: height] = ground
            rgb[:, width - 1 - gap :: width] = ground
    return rgb_image(rgb)
