"""The layer × head matrix as one picture: drawing some hundred cells one by one would be slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PyQt6.QtGui import QImage

from gazelab.ui.colours import ColourMap
from gazelab.ui.heat_image import flat_image
from gazelab.ui.look_sums import Floats

GROUND = 255
"""The entry of the colour table that is no value: the gap between cells."""
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
    index = np.where(known, _index(scaled), GROUND)
    width, height = cell
    return flat_image(_with_gaps(index.repeat(height, 0).repeat(width, 1), cell), colours, ground)


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
    index = _index(maps / np.where(top > 0, top, 1)[..., None, None])
    down = np.arange(height) * rows // height
    across = np.arange(width) * cols // width
    tiles = index[:, :, down][:, :, :, across]
    whole = tiles.transpose(0, 2, 1, 3).reshape(layers * height, heads * width)
    return flat_image(_with_gaps(whole, cell), colours, ground)


def _index(scaled: ArrayLike) -> Bytes:
    """Give the entry of the colour table for values from 0; those above 1 are cut."""
    out: Bytes = np.clip(np.asarray(scaled) * (GROUND - 1), 0, GROUND - 1).astype(np.uint8)
    return out


def _with_gaps(index: Bytes, cell: tuple[int, int]) -> Bytes:
    width, height = cell
    out = np.array(index)
    if min(width, height) > 4:
        out[height - 1 :: height] = GROUND
        out[:, width - 1 :: width] = GROUND
    return out
