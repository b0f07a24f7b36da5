"""One map's scores against one set of fixations, beside what chance and the picture's centre score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.metrics import saliency as sal
from gazelab.metrics.chance import chance_intervals
from gazelab.metrics.density import fixation_density

Floats = NDArray[np.float64]

CENTRE_SHARES = (0.235, 0.21)
"""Sigma of the centre prior, as shares of the width and of the height."""


@dataclass(frozen=True)
class Agreement:
    """The scores of a map and of its baselines on the same fixations.

    Attributes
    ----------
    rows : dict of str to dict of str to float
        "map", "uniform", "centre" → score name → value; NaN where undefined. `ig_bits` is the gain over the
        centre prior. `shuffled_auc` is there if fixations of other pictures were given.
    chance : dict of str to (low, high)
        Middle 95 % of the scores of the same map shifted at random (its edges wrapped round): what a map of
        this texture gets without knowing where to look. Empty if not asked for.
    undefined : dict of str to dict of str to str
        Why a value in `rows` is NaN.
    n_fixations, n_dropped : int
        On the map, and outside it and so left out.
    how : dict
        What made the numbers: sigma_px, weights, variants, shares, seed, and what the caller adds.
    """

    rows: dict[str, dict[str, float]]
    chance: dict[str, tuple[float, float]]
    undefined: dict[str, dict[str, str]]
    n_fixations: int
    n_dropped: int
    how: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values: NaN becomes None."""
        return {
            "rows": {row: {k: _null(v) for k, v in scores.items()} for row, scores in self.rows.items()},
            "chance": {k: [_null(low), _null(high)] for k, (low, high) in self.chance.items()},
            "undefined": self.undefined,
            "n_fixations": self.n_fixations,
            "n_dropped": self.n_dropped,
            "how": self.how,
        }

    @classmethod
    def from_json(cls, m: Mapping[str, Any]) -> Agreement:
        """Invert `to_json`."""
        rows = {row: {k: _number(v) for k, v in scores.items()} for row, scores in m["rows"].items()}
        chance = {k: (_number(v[0]), _number(v[1])) for k, v in m["chance"].items()}
        return cls(rows, chance, dict(m["undefined"]), m["n_fixations"], m["n_dropped"], dict(m["how"]))


def centre_prior(shape: tuple[int, int], shares: tuple[float, float] = CENTRE_SHARES) -> Floats:
    """Make a Gaussian at the picture's centre: where people look whatever the picture shows.

    Parameters
    ----------
    shape : (rows, cols)
    shares : (x, y)
        Sigma as shares of the width and height. Default: the model of Clarke and Tatler, sigma_x² = .22 and
        sigma_y² = .45 sigma_x² in half widths of a 4:3 picture, here stretched to the picture's own shape.

    Returns
    -------
    numpy.ndarray, shape (rows, cols)
        Sums to 1.

    References
    ----------
    Clarke, Tatler (2014). Vision Research 102, 41-51. 10.1016/j.visres.2014.06.016
    """
    x = (np.arange(shape[1]) + 0.5) / shape[1] - 0.5
    y = (np.arange(shape[0]) + 0.5) / shape[0] - 0.5
    prior = np.outer(np.exp(-0.5 * (y / shares[1]) ** 2), np.exp(-0.5 * (x / shares[0]) ** 2))
    out: Floats = prior / prior.sum()
    return out


def score_map(
    saliency: ArrayLike,
    fixations_px: ArrayLike,
    *,
    sigma_px: float,
    durations: ArrayLike | None = None,
    other_px: ArrayLike | None = None,
    centre: ArrayLike | None = None,
    n_chance: int = 100,
    seed: int = 0,
    how: Mapping[str, Any] | None = None,
) -> Agreement:
    """Score a map against fixations, beside the uniform map and the centre prior.

    Parameters
    ----------
    saliency : array, shape (rows, cols)
    fixations_px : array, shape (N, 2)
        (x, y) in map px; those outside are dropped and counted. NSS, AUC and IG count each once.
    sigma_px : float
        Blur of the fixation density that CC, SIM and KLD compare with, in map px; say in `how` what it is in
        degrees.
    durations : array, shape (N,), optional
        Weights of the density; without, each fixation weighs the same.
    other_px : array, shape (M, 2), optional
        Fixations on other pictures, in this map's px, for the shuffled AUC.
    centre : array, shape (rows, cols), optional
        A centre prior of one's own, such as one made of the other pictures' fixations.
    n_chance : int
        Shifted maps for the chance interval; 0 leaves it out.
    seed : int
        Of the shifts.
    how : mapping, optional
        Written through: how the map was made.

    Returns
    -------
    Agreement

    Raises
    ------
    TypeError
        A density where fixations belong, or a map that is not two-dimensional.
    ValueError
        A centre prior that is no density of the map's shape.
    """
    values = np.asarray(saliency)
    if values.ndim != 2:
        raise TypeError(f"a map is (rows, cols), not {values.shape}")
    shape = (int(values.shape[0]), int(values.shape[1]))
    cells, n_dropped = sal.inside(fixations_px, shape)
    density = _density(fixations_px, durations, shape, sigma_px)
    prior = centre_prior(shape) if centre is None else np.asarray(centre, float)
    if prior.shape != shape or not (np.isfinite(prior).all() and prior.min() >= 0 < prior.sum()):
        raise ValueError(f"the centre prior is a density of shape {shape}, none below 0, not all 0")
    rows: dict[str, dict[str, float]] = {}
    undefined: dict[str, dict[str, str]] = {}
    for name, one in (("map", values), ("uniform", np.ones(shape)), ("centre", prior)):
        rows[name], reasons = _scores(one, cells, density, prior, other_px)
        if reasons:
            undefined[name] = reasons
    chance = {}
    if n_chance and len(cells) and np.isfinite(values).all():
        chance = chance_intervals(values.astype(float), cells, density, prior, n_chance, seed)
    made = {
        "sigma_px": float(sigma_px),
        "density_weights": "count" if durations is None else "duration",
        "auc": "exact, against every cell, ties one half",
        "sd": "population",
        "kld_epsilon": sal.KLD_EPSILON,
        "ig_baseline": "centre prior",
        "centre_sigma_shares": list(CENTRE_SHARES) if centre is None else "given",
        "chance": f"{n_chance} circular shifts, middle 95 %",
        "seed": seed,
    }
    return Agreement(rows, chance, undefined, len(cells), n_dropped, made | dict(how or {}))


def mean_score(values: Iterable[float], fisher: bool = False) -> float:
    """Average scores with their signs; undefined ones are left out.

    Parameters
    ----------
    fisher : bool
        Average Fisher's z of correlations and turn the mean back.

    Returns
    -------
    float
        NaN without a defined score.
    """
    found = np.array([v for v in values if np.isfinite(v)], float)
    if not found.size:
        return float("nan")
    if not fisher:
        return float(found.mean())
    limit = 1 - 1e-12
    return float(np.tanh(np.arctanh(np.clip(found, -limit, limit)).mean()))


def _density(
    fixations_px: ArrayLike, durations: ArrayLike | None, shape: tuple[int, int], sigma_px: float
) -> Floats:
    points = np.asarray(fixations_px, float).reshape(-1, 2)
    return fixation_density(points[:, 0], points[:, 1], durations, shape, sigma_px)


def _scores(
    values: NDArray[Any], cells: NDArray[np.int64], density: Floats, prior: Floats, other_px: ArrayLike | None
) -> tuple[dict[str, float], dict[str, str]]:
    found = {
        "nss": sal.reasoned(sal.nss, values, cells),
        "auc": sal.reasoned(sal.auc, values, cells),
        "cc": sal.reasoned(sal.cc, values, density),
        "sim": sal.reasoned(sal.sim, values, density),
        "kld": sal.reasoned(sal.kld, values, density),
        "ig_bits": sal.reasoned(sal.information_gain, values, cells, prior),
    }
    if other_px is not None:
        found["shuffled_auc"] = sal.reasoned(sal.shuffled_auc, values, cells, other_px)
    return {k: v for k, (v, _) in found.items()}, {k: why for k, (_, why) in found.items() if why}


def _null(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
