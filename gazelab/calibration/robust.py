"""A linear fit that outliers can't pull, for telling them apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TUKEY = 4.685
"""Residual in standard deviations from which a sample has no weight: 95 % efficient for normal noise
(Holland and Welsch 1977, 10.1080/03610927708827533)."""
ROUNDS = 12


def robust_fit(design: Floats, signals: Floats) -> tuple[Floats, Floats]:
    """Fit each signal by reweighted least squares with Tukey's biweight.

    Parameters
    ----------
    design : numpy.ndarray, shape (n, p)
        Without a constant column; one is added.
    signals : numpy.ndarray, shape (n, k)

    Returns
    -------
    residual : numpy.ndarray, shape (n, k)
    scale : numpy.ndarray, shape (k,)
        Standard deviation of the residuals, by their median: true as long as outliers are fewer than half.
    """
    columns = np.column_stack([np.ones(len(design)), design])
    residual, scale = np.empty_like(signals), np.empty(signals.shape[1])
    for k in range(signals.shape[1]):
        weight = np.ones(len(columns))
        for _ in range(ROUNDS):
            root = np.sqrt(weight)
            factors = np.linalg.lstsq(columns * root[:, None], signals[:, k] * root, rcond=None)[0]
            residual[:, k] = signals[:, k] - columns @ factors
            scale[k] = np.median(np.abs(residual[:, k])) / 0.6745
            u = residual[:, k] / max(TUKEY * scale[k], 1e-12)
            weight = np.where(np.abs(u) < 1, (1 - u * u) ** 2, 0.0) + 1e-9
    return residual, scale


def pad(bad: NDArray[np.bool_], time_ns: NDArray[np.int64], pad_ns: int) -> NDArray[np.bool_]:
    """Extend what is bad to everything within `pad_ns` of it."""
    if not bad.any():
        return bad
    out: NDArray[np.bool_] = np.abs(time_ns[:, None] - time_ns[bad][None]).min(1) <= pad_ns
    return out
