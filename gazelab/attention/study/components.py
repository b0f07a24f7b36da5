"""Three dimensions of many: principal components, depth by depth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

_TINY = 1e-12


def principal_components(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    """Lay vectors out in the three dimensions that hold most of their variance (Pearson 1901).

    Each vector is first scaled to the same length, as the model's own normalisation does before it reads
    one: otherwise a few sink tokens, hundreds of times longer than the rest, would be all that is seen.

    Parameters
    ----------
    vectors : numpy.ndarray, shape (token, width)

    Returns
    -------
    points : numpy.ndarray, shape (token, 3), float32
        Largest variance first; a dimension that there is not (fewer than four tokens) is 0.
    explained : float
        Share of the variance that they hold.
    """
    x = np.asarray(vectors, np.float64)
    x = x / np.maximum(np.sqrt((x**2).mean(1, keepdims=True)), _TINY)
    x = x - x.mean(0)
    total = float((x**2).sum())
    points = np.zeros((len(x), 3), np.float32)
    if total <= _TINY:
        return points, 1.0
    left, values = _largest(x)
    points[:, : len(values)] = left * values
    return points, float((values**2).sum() / total)


def turned_to(points: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotate (or mirror) points so that they lie as near to others as that can (Schönemann 1966)."""
    left, _, right = np.linalg.svd(points.astype(np.float64).T @ target.astype(np.float64))
    return np.asarray(points @ (left @ right), np.float32)


def _largest(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Left singular vectors and values, the three largest, signs fixed by the largest entry."""
    if min(x.shape) <= 4:
        left, values, _ = np.linalg.svd(x, full_matrices=False)
    else:
        left, values, _ = svds(x, k=3, v0=np.ones(min(x.shape)), return_singular_vectors="u")
    order = np.argsort(values)[::-1][:3]
    left, values = left[:, order], values[order]
    signs = np.sign(left[np.abs(left).argmax(0), np.arange(left.shape[1])])
    return left * np.where(signs == 0, 1, signs), values
