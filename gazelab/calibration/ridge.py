"""Ridge regression in its dual form, for few samples of many features.

With the features centred and the intercept free, the fit is a linear smoother with hat matrix
H = U diag(e / (e + penalty)) U' + 11'/n, where U, e are the eigenvectors and eigenvalues of the Gram matrix.
The residuals of a group of samples that is left out of the fit follow without another fit:
(I - H_gg)^-1 r_g (Cook and Weisberg 1982, *Residuals and Influence in Regression*, section 3.5; for one
sample it is Allen's PRESS). So one eigendecomposition serves every penalty and every group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PENALTIES = 10.0 ** np.arange(-4.0, 2.01, 0.25)
"""Tried penalties, per sample, for features whose typical variance is about 1."""

DROP_RATIO = 4.0
"""Samples with a residual over this many medians are dropped before the second fit: near five standard
deviations of a residual that is normal in x and y."""

SHOWN_LONG = 5
MANY_GROUPS = 20
"""A target with so many samples was rested on, and among fewer targets than this each one matters: neither is
dropped whole, a person decides to redo it. Single pictures with a label each may be dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """A fitted ridge.

    Attributes
    ----------
    centre : numpy.ndarray, shape (p,)
        Mean of the features.
    weights : numpy.ndarray, shape (p, 2)
    offset : numpy.ndarray, shape (2,)
        The prediction at `centre`.
    penalty : float
        Per sample, as chosen.
    """

    centre: Floats
    weights: Floats
    offset: Floats
    penalty: float

    def predict(self, features: Floats) -> Floats:
        """Predict the targets.

        Parameters
        ----------
        features : numpy.ndarray, shape (n, p)
            A missing (NaN) feature counts as its mean.

        Returns
        -------
        numpy.ndarray, shape (n, 2)
        """
        x = features - self.centre
        x[np.isnan(x)] = 0.0
        out: Floats = x @ self.weights + self.offset
        return out


@dataclass(frozen=True, slots=True, eq=False)
class RidgeFit:
    """A ridge with what is known of its samples.

    Attributes
    ----------
    ridge : Ridge
    kept : numpy.ndarray, shape (n,), bool
        Samples that weren't dropped as outliers.
    left_out : numpy.ndarray, shape (n, 2)
        Prediction of each sample with its whole group left out; of a dropped one, that of the final ridge.
    """

    ridge: Ridge
    kept: NDArray[np.bool_]
    left_out: Floats


def fit_robust(features: Floats, targets: Floats, groups: NDArray[np.int64]) -> RidgeFit:
    """Fit, drop the samples far over the median residual, fit again.

    A sample's residual is the one it has when it alone is left out: a wrong label among few samples would
    otherwise be fitted, and a corner target left out as a whole would always look wrong.

    Parameters
    ----------
    features : numpy.ndarray, shape (n, p)
        On scales that make them comparable.
    targets : numpy.ndarray, shape (n, 2)
    groups : numpy.ndarray, shape (n,)
        Samples of one target share a number.
    """
    first = _Dual(features, targets, groups)
    residual = first.single_out()
    kept: NDArray[np.bool_] = residual <= DROP_RATIO * np.median(residual)
    for i in first.members:
        if len(i) >= SHOWN_LONG or len(first.members) < MANY_GROUPS:
            kept[i] |= not kept[i].any()
    if kept.all():
        return _fitted(first, features, kept)
    return _fitted(_Dual(features[kept], targets[kept], groups[kept]), features, kept)


def _fitted(dual: _Dual, features: Floats, kept: NDArray[np.bool_]) -> RidgeFit:
    ridge = dual.ridge()
    left_out = np.empty((len(kept), 2))
    left_out[kept] = dual.targets - dual.group_out(dual.penalty)
    left_out[~kept] = ridge.predict(features[~kept])
    return RidgeFit(ridge, kept, left_out)


class _Dual:
    """One eigendecomposition, and the penalty that is best on left-out groups."""

    def __init__(self, features: Floats, targets: Floats, groups: NDArray[np.int64]) -> None:
        self.targets = targets
        self.n = len(features)
        self.centre = np.nan_to_num(np.nanmean(features, axis=0), nan=0.0)
        self.x = np.nan_to_num(features - self.centre, nan=0.0)
        self.mean = targets.mean(0)
        values, self.vectors = np.linalg.eigh(self.x @ self.x.T)
        self.values = np.maximum(values, 0.0)
        self.rotated = self.vectors.T @ (targets - self.mean)
        self.members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
        errors = [float(np.hypot(*self.group_out(p).T).mean()) for p in PENALTIES]
        self.penalty = float(PENALTIES[int(np.argmin(errors))])

    def shrink(self, penalty: float) -> Floats:
        factors: Floats = self.values / (self.values + penalty * self.n)
        return factors

    def residual(self, penalty: float) -> Floats:
        fitted = self.vectors @ (self.shrink(penalty)[:, None] * self.rotated)
        residual: Floats = self.targets - self.mean - fitted
        return residual

    def group_out(self, penalty: float) -> Floats:
        """Residuals with each sample's group left out."""
        shrink, residual = self.shrink(penalty), self.residual(penalty)
        if len(self.members) == self.n:
            return residual / (1.0 - self.leverage(penalty))[:, None]
        out = np.empty_like(residual)
        for i in self.members:
            u = self.vectors[i]
            hat = (u * shrink) @ u.T + 1.0 / self.n
            out[i] = np.linalg.solve(np.eye(len(i)) - hat, residual[i])
        return out

    def single_out(self) -> Floats:
        """Lengths of the residuals with each sample alone left out."""
        length: Floats = np.hypot(*self.residual(self.penalty).T) / (1.0 - self.leverage(self.penalty))
        return length

    def leverage(self, penalty: float) -> Floats:
        """Weight of each sample in its own prediction, 1 at most."""
        weight: Floats = (self.vectors**2) @ self.shrink(penalty) + 1.0 / self.n
        return np.minimum(weight, 1.0 - 1e-9)

    def ridge(self) -> Ridge:
        strength = self.values + self.penalty * self.n
        weights = self.x.T @ (self.vectors @ (self.rotated / strength[:, None]))
        return Ridge(self.centre, weights, self.mean, self.penalty)
