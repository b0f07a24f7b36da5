"""One picture through two grids: mass of one laid over the other by exact areas, nothing lost or doubled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.geometry import PatchGrid
from gazelab.core.intervals import overlap_shares


@dataclass(frozen=True, eq=False)
class Respread:
    """Mass of one grid laid over another; the three parts make up all of it.

    Attributes
    ----------
    values : numpy.ndarray, shape (..., rows, cols), float64
        On the target's patches, those in its padding included.
    beside : numpy.ndarray, shape (...)
        Mass on the picture where the target has no patch, as where it crops.
    padding : numpy.ndarray, shape (...)
        Mass outside the picture where the target has no patch.
    """

    values: NDArray[np.float64]
    beside: NDArray[np.float64]
    padding: NDArray[np.float64]


def respread(values: ArrayLike, source: PatchGrid, target: PatchGrid) -> Respread:
    """Lay a map over another grid of the same picture.

    Each patch's mass lies evenly on its rectangle, and goes to the target's patches by the share of the
    rectangle that each covers.

    Parameters
    ----------
    values : array, shape (..., rows, cols)
        Mass per patch of `source`.
    source, target : PatchGrid
        Of one picture, in picture px.

    Raises
    ------
    ValueError
        The values do not fit the source, or the pictures have different sizes.
    """
    mass = np.asarray(values, np.float64)
    if mass.shape[-2:] != (source.rows, source.cols):
        raise ValueError(f"a map of shape {mass.shape} on a grid of {source.rows} x {source.cols}")
    size = (source.picture_width_px, source.picture_height_px)
    if size != (target.picture_width_px, target.picture_height_px):
        raise ValueError("two grids of pictures of different sizes")
    x = overlap_shares(source.x_edges_px, target.x_edges_px)
    y = overlap_shares(source.y_edges_px, target.y_edges_px)
    laid: NDArray[np.float64] = y @ mass @ x.T
    seen = source.inside()
    x_both = _both(source.x_edges_px, target.x_edges_px, size[0])
    y_both = _both(source.y_edges_px, target.y_edges_px, size[1])
    off = mass.sum((-2, -1)) - laid.sum((-2, -1))
    beside = (mass * np.clip(seen - np.outer(y_both, x_both), 0, None)).sum((-2, -1))
    beside = np.clip(np.minimum(beside, off), 0, None)
    return Respread(laid, beside, np.clip(off - beside, 0, None))


def _both(source: NDArray[np.float64], target: NDArray[np.float64], length_px: int) -> NDArray[np.float64]:
    """Share of each of a source's intervals that lies both on the picture and within the target's extent."""
    low, high = max(0.0, float(target[0])), min(float(length_px), float(target[-1]))
    if high <= low:
        return np.zeros(len(source) - 1)
    shares: NDArray[np.float64] = overlap_shares(source, np.array([low, high]))[0]
    return shares
