"""How well a map tells where people looked: NSS, three exact AUCs, CC, SIM, KLD, information gain, EMD.

A *map* is (rows, cols) float; a *density* is a map made of fixations (`metrics.density`); *fixations* are
(N, 2) points (x, y) in the map's px, the upper-left cell being [0, 1) x [0, 1). Points and densities are not
interchangeable: a density where points belong raises `TypeError`.

Fixations outside the map, or NaN, are dropped, never wrapped or clamped; `inside` counts them. A score that
is undefined is NaN, with the reason in an `UndefinedScore` warning. NSS, AUC and CC do not change when a
constant is added to a map, so every constant map, zero included, scores at chance: NSS 0, CC 0, AUC one half.
SIM, KLD, IG and EMD read a map as a distribution: a negative minimum is shifted to zero and the sum scaled to
1, so a map of zeros has none.

References
----------
Bylinskii, Judd, Oliva, Torralba, Durand (2019). What do different evaluation metrics tell us about saliency
models? IEEE TPAMI 41, 740-757. 10.1109/TPAMI.2018.2815601
"""

from __future__ import annotations

import functools
import inspect
import logging
import warnings
from collections.abc import Callable
from typing import Any, Literal, ParamSpec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.metrics.transport import transport_cost

Floats = NDArray[np.float64]
P = ParamSpec("P")

KLD_EPSILON = 2.220446049250313e-16
IG_EPSILON = 1e-12
FLAT = 1e-9
"""A map whose range is below this share of its largest magnitude is constant: the rest is rounding."""

log = logging.getLogger(__name__)


class UndefinedScore(UserWarning):
    """A score has no value for this input; the message says why."""


class _UndefinedError(Exception):
    """Carries the reason from where it is found to the warning."""


def _nan_if_undefined(score: Callable[P, float]) -> Callable[P, float]:
    @functools.wraps(score)
    def warned(*args: P.args, **kwargs: P.kwargs) -> float:
        try:
            return score(*args, **kwargs)
        except _UndefinedError as reason:
            warnings.warn(f"{score.__name__} is undefined: {reason}", UndefinedScore, stacklevel=2)
            return float("nan")

    return warned


def reasoned(score: Callable[..., float], *args: Any, **kwargs: Any) -> tuple[float, str | None]:
    """Call a score of this module and return its value with the reason, in place of a warning.

    Returns
    -------
    value : float
    reason : str or None
        Why the value is NaN.
    """
    try:
        return inspect.unwrap(score)(*args, **kwargs), None
    except _UndefinedError as reason:
        return float("nan"), str(reason)


def inside(fixations_px: ArrayLike, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], int]:
    """Keep the fixations that lie on a map, half-open: [0, cols) x [0, rows).

    Parameters
    ----------
    fixations_px : array, shape (N, 2)
        (x, y) in map px, whole or fractional; NaN lies nowhere.
    shape : (rows, cols)

    Returns
    -------
    cells : numpy.ndarray, shape (n, 2), int64
        (col, row) of the cell under each kept fixation, order kept.
    n_dropped : int
        How many lie outside.

    Raises
    ------
    TypeError
        Not (N, 2) numbers, such as a density map.
    """
    points = np.asarray(fixations_px)
    if points.size == 0 and points.ndim < 3:
        return np.empty((0, 2), np.int64), 0
    if points.ndim != 2 or points.shape[1] != 2 or points.dtype.kind not in "iuf":
        raise TypeError(
            f"fixations are (N, 2) points (x, y) in px, not {points.shape} {points.dtype};"
            " a density map is another thing"
        )
    xy = points.astype(float)
    ok = ((xy >= 0) & (xy < (shape[1], shape[0]))).all(axis=1)
    n_dropped = int((~ok).sum())
    if n_dropped:
        log.info("%d of %d fixations lie outside the map of %s cells", n_dropped, len(xy), shape)
    return np.floor(xy[ok]).astype(np.int64), n_dropped


@_nan_if_undefined
def nss(saliency: ArrayLike, fixations_px: ArrayLike) -> float:
    """Normalised scanpath saliency: the mean z-score of the map under the fixations.

    Population SD (ddof 0); each fixation counts, repeats too. Chance is 0; a constant map scores 0.

    Returns
    -------
    float
        NaN without a fixation on the map, or if the map is not finite.

    References
    ----------
    Peters, Iyer, Itti, Koch (2005). Vision Research 45, 2397-2416. 10.1016/j.visres.2005.03.019
    """
    values = _map(saliency)
    at = _values_at(values, fixations_px)
    if is_flat(values):
        return 0.0
    largest = np.abs(values).max()  # taken out, so that the squares of tiny values do not vanish
    scaled = values / largest
    return float((at / largest - scaled.mean()).mean() / scaled.std())


@_nan_if_undefined
def auc(
    saliency: ArrayLike, fixations_px: ArrayLike, negatives: Literal["uniform", "unfixated"] = "uniform"
) -> float:
    """Exact area under the ROC curve of fixated against other cells (Mann-Whitney, ties count one half).

    Parameters
    ----------
    saliency : array, shape (rows, cols)
    fixations_px : array, shape (N, 2)
        Each is a positive, repeats too.
    negatives : {"uniform", "unfixated"}
        Every cell, or every cell that was never fixated.

    Returns
    -------
    float
        0..1, chance one half; no random numbers are drawn.
    """
    if negatives not in ("uniform", "unfixated"):
        raise ValueError(f'negatives are "uniform" or "unfixated", not {negatives!r}')
    values = _map(saliency)
    at = _values_at(values, fixations_px)
    others = values.ravel()
    if negatives == "unfixated":
        others = values[~_fixated(values, fixations_px)]
    return 0.5 if is_flat(values) and others.size else _mann_whitney(at, others)


@_nan_if_undefined
def auc_judd(saliency: ArrayLike, fixations_px: ArrayLike) -> float:
    """AUC by Judd's rule: thresholds at the fixated values only, trapezoids between; no jitter.

    Differs from `auc` on purpose: with few fixations the curve is coarse and reads higher. A cell fixated
    twice counts once. A constant map has no curve: NaN.

    References
    ----------
    Judd, Durand, Torralba (2012). A benchmark of computational models of saliency. MIT-CSAIL-TR-2012-001.
    """
    values = _map(saliency)
    _values_at(values, fixations_px)
    fixated = _fixated(values, fixations_px)
    if is_flat(values):
        raise _UndefinedError("the map is constant, so no threshold divides it.")
    if fixated.all():
        raise _UndefinedError("every cell was fixated.")
    thresholds = np.sort(values[fixated])[::-1]
    n_hit = np.arange(1, len(thresholds) + 1)
    n_above = values.size - np.searchsorted(np.sort(values, axis=None), thresholds, side="left")
    hit_rate = np.concatenate(([0.0], n_hit / len(thresholds), [1.0]))
    false_rate = np.concatenate(([0.0], (n_above - n_hit) / (values.size - len(thresholds)), [1.0]))
    return float(np.trapezoid(hit_rate, false_rate))


@_nan_if_undefined
def shuffled_auc(saliency: ArrayLike, fixations_px: ArrayLike, other_px: ArrayLike) -> float:
    """AUC against fixations made on other pictures, which takes the centre bias out (exact, ties one half).

    Parameters
    ----------
    other_px : array, shape (M, 2)
        Fixations on other pictures, scaled to this map's px; all are used, none is sampled.

    References
    ----------
    Zhang, Tong, Marks, Shan, Cottrell (2008). SUN. Journal of Vision 8(7):32. 10.1167/8.7.32
    """
    values = _map(saliency)
    at, others = _values_at(values, fixations_px), _values_at(values, other_px, "fixation of other pictures")
    return 0.5 if is_flat(values) else _mann_whitney(at, others)


@_nan_if_undefined
def cc(saliency: ArrayLike, density: ArrayLike) -> float:
    """Pearson's correlation of two maps, -1..1, sign kept; 0 if either is constant."""
    a, b = _two_maps(saliency, density)
    if is_flat(a) or is_flat(b):
        return 0.0
    a, b = _centred(a), _centred(b)
    r = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
    return float(np.clip(r, -1.0, 1.0))  # rounding alone can pass 1


@_nan_if_undefined
def sim(saliency: ArrayLike, density: ArrayLike) -> float:
    """Similarity: the mass that two maps share, 0..1 (histogram intersection of maps that sum to 1)."""
    a, b = _two_maps(saliency, density)
    return float(np.minimum(distribution(a), distribution(b)).sum())


@_nan_if_undefined
def kld(saliency: ArrayLike, density: ArrayLike) -> float:
    """Kullback-Leibler divergence of the density q from the map p, in nats: 0 is equal.

    Sum of q ln(e + q / (p + e)) with e = 2.2e-16, the form of the MIT benchmark: an empty cell under a
    fixation is punished hard but stays finite.
    """
    a, b = _two_maps(saliency, density)
    p, q = distribution(a), distribution(b)
    return float((q * np.log(KLD_EPSILON + q / (p + KLD_EPSILON))).sum())


@_nan_if_undefined
def information_gain(saliency: ArrayLike, fixations_px: ArrayLike, baseline: ArrayLike) -> float:
    """Mean log2 of map over baseline under the fixations: bits a fixation gained over the baseline.

    Both maps sum to 1 after 1e-12 was added to every cell.

    References
    ----------
    Kümmerer, Wallis, Bethge (2015). PNAS 112, 16054-16059. 10.1073/pnas.1510393112
    """
    a, b = _two_maps(saliency, baseline)
    p, q = distribution(a) + IG_EPSILON, distribution(b) + IG_EPSILON
    p, q = p / p.sum(), q / q.sum()
    return float((np.log2(_values_at(p, fixations_px)) - np.log2(_values_at(q, fixations_px))).mean())


@_nan_if_undefined
def emd(saliency: ArrayLike, density: ArrayLike, block_px: int = 8) -> float:
    """Earth mover's distance: how far, in px, the map's mass must travel to become the density.

    Exact optimal transport between the sums of `block_px` x `block_px` blocks, Euclidean distance between
    the blocks' centres; blocks at the right and lower edge may be narrower.

    Raises
    ------
    GazelabError
        More blocks than can be solved; larger blocks or the extra `compare` help.
    """
    a, b = _two_maps(saliency, density)
    return transport_cost(distribution(a), distribution(b), block_px)


def _map(values: ArrayLike, what: str = "map") -> Floats:
    out = np.asarray(values)
    if out.ndim != 2 or out.size == 0 or out.dtype.kind not in "biuf":
        raise TypeError(f"a {what} is (rows, cols) numbers, not {out.shape} {out.dtype}")
    out = out.astype(float)
    if not np.isfinite(out).all():
        raise _UndefinedError(f"the {what} has NaN or infinite values.")
    return out


def _two_maps(saliency: ArrayLike, density: ArrayLike) -> tuple[Floats, Floats]:
    shapes = np.shape(np.asarray(saliency)), np.shape(np.asarray(density))
    if shapes[0] != shapes[1]:
        kind = TypeError if len(shapes[1]) == 2 and shapes[1][1] == 2 else ValueError
        raise kind(f"a map of shape {shapes[0]} beside one of {shapes[1]}; fixation points are no density")
    return _map(saliency), _map(density, "density")


def _centred(values: Floats) -> Floats:
    """Subtract the mean and scale, so that the squares of tiny values do not vanish."""
    off = values - values.mean()
    out: Floats = off / np.abs(off).max()
    return out


def is_flat(values: Floats) -> bool:
    """Tell whether a map is constant but for rounding."""
    return bool(np.ptp(values) <= FLAT * np.abs(values).max())


def distribution(values: Floats) -> Floats:
    """Shift a negative minimum up to zero and scale the sum to 1; a map without a sum has no distribution."""
    shifted = values - min(float(values.min()), 0.0)
    total = float(shifted.sum())
    if total <= 0:
        raise _UndefinedError("the map is zero everywhere (or constant and negative): it has no sum.")
    return shifted / total


def _values_at(values: Floats, fixations_px: ArrayLike, what: str = "fixation") -> Floats:
    cells, n_dropped = inside(fixations_px, values.shape)
    if not len(cells):
        raise _UndefinedError(f"no {what} lies on the map ({n_dropped} outside).")
    out: Floats = values[cells[:, 1], cells[:, 0]]
    return out


def _fixated(values: Floats, fixations_px: ArrayLike) -> NDArray[np.bool_]:
    cells, _ = inside(fixations_px, values.shape)
    mask = np.zeros(values.shape, bool)
    mask[cells[:, 1], cells[:, 0]] = True
    return mask


def _mann_whitney(positives: Floats, negatives: Floats) -> float:
    if not negatives.size:
        raise _UndefinedError("there are no negatives.")
    ordered = np.sort(negatives, axis=None)
    below = np.searchsorted(ordered, positives, "left")
    up_to = np.searchsorted(ordered, positives, "right")
    return float((below + up_to).mean() / 2 / ordered.size)
