"""How much of each interval of one axis falls in each interval of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def overlap_shares(edges: NDArray[np.float64], raster: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each interval of `edges` that falls in each interval of `raster`.

    Parameters
    ----------
    edges, raster : numpy.ndarray, ascending
        n + 1 edges bound n intervals; one unit for both.

    Returns
    -------
    numpy.ndarray, shape (raster interval, edges interval)
        A column sums to 1 where the raster covers the whole interval.
    """
    low = np.maximum(edges[None, :-1], raster[:-1, None])
    high = np.minimum(edges[None, 1:], raster[1:, None])
    out: NDArray[np.float64] = np.clip(high - low, 0, None) / np.diff(edges)[None]
    return out
