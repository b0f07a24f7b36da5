"""From a map to pixels: spread over a raster, scaled for the eye, coloured by a table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PyQt6.QtGui import QImage

from gazelab.core.geometry import PatchGrid
from gazelab.core.intervals import overlap_shares
from gazelab.ui.colours import ColourMap

Floats = NDArray[np.float64]


def spread(grid: PatchGrid, maps: ArrayLike, rows_px: int, cols_px: int) -> Floats:
    """Do what `PatchGrid.paint` does, for many maps at once and again and again.

    Parameters
    ----------
    maps : array, shape (..., row, col)

    Returns
    -------
    numpy.ndarray, shape (..., rows_px, cols_px)
    """
    down, across = _shares(grid, rows_px, cols_px)
    out: Floats = down @ np.asarray(maps, float) @ across
    return out


def heat_image(scaled: ArrayLike, colours: ColourMap) -> QImage:
    """Colour values in 0..1 with the ramp's transparency, ready to be drawn over a chart; NaN is clear."""
    values = np.asarray(scaled, float)
    known = np.isfinite(values)
    if not known.all():
        values = np.where(known, values, 0.0)
    index = np.clip(values * 255 + 0.5, 0, 255).astype(np.uint8)
    pixels = np.take(_premultiplied(colours), index)
    if not known.all():
        pixels[~known] = 0
    return _image(pixels, QImage.Format.Format_ARGB32_Premultiplied)


def flat_image(index: NDArray[np.uint8], colours: ColourMap, ground: tuple[int, int, int]) -> QImage:
    """Colour entries 0..254 of a ramp without transparency; 255 is the ground.

    The ramp's last colour stands at 254: a table of bytes has no room for one more.
    """
    table = np.empty(256, np.uint32)
    ramp = colours.rgba[np.round(np.linspace(0, 255, 255)).astype(int), :3].astype(np.uint32)
    table[:255] = 0xFF000000 | ramp[:, 0] << 16 | ramp[:, 1] << 8 | ramp[:, 2]
    table[255] = 0xFF000000 | ground[0] << 16 | ground[1] << 8 | ground[2]
    return _image(np.take(table, index), QImage.Format.Format_RGB32)


@lru_cache(maxsize=8)
def _shares(grid: PatchGrid, rows_px: int, cols_px: int) -> tuple[Floats, Floats]:
    down = overlap_shares(grid.y_edges_px, np.linspace(0, grid.picture_height_px, rows_px + 1))
    across = overlap_shares(grid.x_edges_px, np.linspace(0, grid.picture_width_px, cols_px + 1))
    return down, np.ascontiguousarray(across.T)


@lru_cache(maxsize=4)
def _premultiplied(colours: ColourMap) -> NDArray[np.uint32]:
    rgba = colours.rgba.astype(np.uint32)
    alpha = rgba[:, 3]
    red, green, blue = ((rgba[:, k] * alpha + 127) // 255 for k in range(3))
    return np.asarray(alpha << 24 | red << 16 | green << 8 | blue, np.uint32)


def _image(pixels: NDArray[np.uint32], form: QImage.Format) -> QImage:
    """Wrap 32-bit pixels; the copy outlives the array."""
    rows, cols = pixels.shape
    return QImage(np.ascontiguousarray(pixels).tobytes(), cols, rows, 4 * cols, form).copy()
