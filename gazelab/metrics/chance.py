"""What a map scores by chance: the same map shifted at random, its edges wrapped round.

A shift keeps the map's values, its peaks and its texture and breaks only the tie to the picture; shuffling
cells would also break the texture and give intervals that are too narrow. Instead of scoring each shifted map
from scratch, the shift is applied to the places where the map is read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.metrics.saliency import IG_EPSILON, KLD_EPSILON, distribution, is_flat

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def chance_intervals(
    values: Floats, cells: Ints, density: Floats, prior: Floats, n: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Middle 95 % of the scores of `n` shifted maps.

    Parameters
    ----------
    values, density, prior : numpy.ndarray, shape (rows, cols)
        A finite map, a density that sums to 1, and the centre prior.
    cells : numpy.ndarray, shape (N, 2)
        (col, row) of at least one fixation, all on the map.
    n : int
        How many shifts, drawn evenly by a generator seeded with `seed`.

    Returns
    -------
    dict
        nss, auc, cc, sim, kld, ig_bits → (low, high); a map without a distribution has the first three only.
    """
    rng = np.random.default_rng(seed)
    shifts = np.stack([rng.integers(0, size, n) for size in values.shape], -1)
    scores = _at_fixations(values, cells, shifts) | _against_density(values, density, shifts)
    if values.max() > 0 and not (is_flat(values) and values.min() < 0):
        scores |= _as_distribution(values, cells, density, prior, shifts)
    return {
        name: (float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975)))
        for name, drawn in scores.items()
    }


def _read(values: Floats, rows: Ints, cols: Ints, shift: Ints) -> Floats:
    """Read cells of `np.roll(values, shift, (0, 1))` without rolling it."""
    out: Floats = values[(rows - shift[0]) % values.shape[0], (cols - shift[1]) % values.shape[1]]
    return out


def _at_fixations(values: Floats, cells: Ints, shifts: Ints) -> dict[str, Floats]:
    if is_flat(values):
        return {"nss": np.zeros(len(shifts)), "auc": np.full(len(shifts), 0.5)}
    ordered, mean, sd = np.sort(values, axis=None), values.mean(), values.std()
    at = np.stack([_read(values, cells[:, 1], cells[:, 0], s) for s in shifts])
    ranks = np.searchsorted(ordered, at, "left") + np.searchsorted(ordered, at, "right")
    return {"nss": (at.mean(1) - mean) / sd, "auc": ranks.mean(1) / 2 / ordered.size}


def _against_density(values: Floats, density: Floats, shifts: Ints) -> dict[str, Floats]:
    if is_flat(values) or is_flat(density):
        return {"cc": np.zeros(len(shifts))}
    centred = values - values.mean()
    rows, cols = np.nonzero(density)
    q = density[rows, cols]
    scale = np.sqrt((centred**2).sum() * ((density - density.mean()) ** 2).sum())
    return {"cc": np.array([_read(centred, rows, cols, s) @ q for s in shifts]) / scale}


def _as_distribution(
    values: Floats, cells: Ints, density: Floats, prior: Floats, shifts: Ints
) -> dict[str, Floats]:
    p = distribution(values)
    rows, cols = np.nonzero(density)
    q = density[rows, cols]
    sims, klds = [], []
    for shift in shifts:
        at = _read(p, rows, cols, shift)
        sims.append(np.minimum(at, q).sum())
        klds.append(q @ np.log(KLD_EPSILON + q / (at + KLD_EPSILON)))
    raised = p + IG_EPSILON
    bits = np.log2(raised / raised.sum())
    base = distribution(prior) + IG_EPSILON
    under = np.log2(base / base.sum())[cells[:, 1], cells[:, 0]].mean()
    gains = [_read(bits, cells[:, 1], cells[:, 0], s).mean() - under for s in shifts]
    return {"sim": np.array(sims), "kld": np.array(klds), "ig_bits": np.array(gains)}
