"""Where people looked, as a map: fixations blurred by a Gaussian, the map summing to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import Placement, Screen

Floats = NDArray[np.float64]

TRUNCATE_SIGMAS = 4.0


def fixation_density(
    x_px: ArrayLike,
    y_px: ArrayLike,
    weights: ArrayLike | None,
    shape: tuple[int, int],
    sigma_px: float | tuple[float, float],
) -> Floats:
    """Blur weighted fixations into a density over the picture.

    Parameters
    ----------
    x_px, y_px : array, shape (n,)
        Map px, the upper-left cell being [0, 1) x [0, 1). A point outside or NaN adds nothing: it is left
        out, never moved to the edge.
    weights : array, shape (n,), or None
        Such as durations; None counts each fixation once.
    shape : (rows, cols)
    sigma_px : float or (x, y)
        Standard deviation of the Gaussian in map px: `sigma_from_deg` or `sigma_from_share` give it. Cut at
        four sigmas; nothing is mirrored in at the edges (zero padding). 0 does not blur.

    Returns
    -------
    numpy.ndarray, shape (rows, cols)
        Sums to 1; all NaN if nothing lies on the map.

    Raises
    ------
    ValueError
        Lengths differ, or a weight is negative or not finite.

    References
    ----------
    Le Meur, Baccino (2013). Behavior Research Methods 45, 251-266. 10.3758/s13428-012-0226-9 (one degree as
    the usual sigma).
    """
    x, y = np.atleast_1d(np.asarray(x_px, float)), np.atleast_1d(np.asarray(y_px, float))
    w = np.ones(len(x)) if weights is None else np.atleast_1d(np.asarray(weights, float))
    if not x.shape == y.shape == w.shape or x.ndim != 1:
        raise ValueError(f"x, y and weights of shapes {x.shape}, {y.shape} and {w.shape}")
    if not np.isfinite(w).all() or (w < 0).any():
        raise ValueError("weights are finite and not negative")
    ok = (x >= 0) & (x < shape[1]) & (y >= 0) & (y < shape[0])
    points = np.zeros(shape)
    np.add.at(points, (np.floor(y[ok]).astype(int), np.floor(x[ok]).astype(int)), w[ok])
    along_x, along_y = sigma_px if isinstance(sigma_px, tuple) else (sigma_px, sigma_px)
    blurred: Floats = gaussian_filter(points, (along_y, along_x), mode="constant", truncate=TRUNCATE_SIGMAS)
    total = float(blurred.sum())
    return blurred / total if total > 0 else np.full(shape, np.nan)


def sigma_from_share(cols: int, share: float = 0.03) -> float:
    """Sigma as a share of the map's width, for pictures whose size in degrees is unknown.

    Returns
    -------
    float
        Map px.
    """
    if not 0 < share < 1:
        raise ValueError(f"sigma of {share} widths")
    return share * cols


def sigma_from_deg(screen: Screen, placement: Placement, cols: int, sigma_deg: float = 1.0) -> float:
    """Sigma in degrees of visual angle at the screen's centre, for a map laid over the placed picture.

    Parameters
    ----------
    cols : int
        Width of the map; it need not be the picture's own.

    Returns
    -------
    float
        Map px.

    Raises
    ------
    ConfigError
        The screen's size or distance is unknown.
    """
    if not screen.has_degrees:
        raise ConfigError(
            "the screen's size or distance is unknown, so a width in degrees has no meaning.",
            where=screen.name,
            todo="Measure the screen, or give sigma as a share of the picture's width.",
        )
    return sigma_deg * screen.px_per_deg() * cols / placement.width_px
