"""How far off a sample may be: an expected error, fitted to the calibration's own left-out targets.

Three things tell of an error before anybody knows the truth: the two eyes disagree; the picture of the eyes
is unlike those of the calibration; the head is turned further than it was there. The first two are weighed by
how well they foretold the errors on targets left out of the fit, starting from equal shares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_KEPT = 100
"""Samples kept to tell what is familiar: the profile's size is bounded."""

NOISE_SHARE = 0.03
"""Of a sample's mean square distance from the samples' middle: what counts as noise of the features."""

CAP = 10.0
"""Squared errors over this many medians count as so many: one wild sample must not set the weights."""
STARTING_SAMPLES = 10
"""As how many samples the equal shares count."""

TOLERANCE = 2.0
"""Confidence is the chance that the error is at most this many times the calibration's median."""


@dataclass(frozen=True, slots=True, eq=False)
class Familiarity:
    """What the calibration's samples of one eye span.

    Attributes
    ----------
    centre : numpy.ndarray, shape (p,)
    basis : numpy.ndarray, shape (p, r), of float32 values
        Scaled so that |x|² - |x @ basis|² is the part of a centred feature vector that the samples say
        nothing about (the posterior variance of a Gaussian process with a linear kernel).
    """

    centre: Floats
    basis: Floats

    def unfamiliar(self, features: Floats) -> Floats:
        """Tell how much of each feature vector is unlike the samples.

        Parameters
        ----------
        features : numpy.ndarray, shape (n, p)

        Returns
        -------
        numpy.ndarray, shape (n,)
            0 or more; squared, in the features' unit.
        """
        x = features - self.centre
        known = x @ self.basis
        out: Floats = np.einsum("np,np->n", x, x) - np.einsum("nr,nr->n", known, known)
        return np.maximum(out, 0.0)


def familiarity(features: Floats, groups: NDArray[np.int64]) -> tuple[Familiarity, Floats]:
    """Learn what is familiar, and how unfamiliar each sample is when its group is left out.

    Parameters
    ----------
    features : numpy.ndarray, shape (n, p)
    groups : numpy.ndarray, shape (n,)

    Returns
    -------
    Familiarity
    left_out : numpy.ndarray, shape (n,)
    """
    centre = features.mean(0)
    x = features - centre
    values, vectors = np.linalg.eigh(x @ x.T)
    values = np.maximum(values, 0.0)
    noise = NOISE_SHARE * max(float(values.mean()), 1e-12)
    basis = x.T @ (vectors / np.sqrt(values + noise))
    left_out = np.empty(len(x))
    for group in np.unique(groups):
        i = np.flatnonzero(groups == group)
        u = vectors[i]
        # The posterior variance of samples that are left out: inv([C^-1]_gg) - noise.
        left_out[i] = np.diag(np.linalg.inv((u / (values + noise)) @ u.T)) - noise
    kept = basis.astype(np.float32).astype(np.float64)  # as it is kept on disk
    return Familiarity(centre, kept), np.maximum(left_out, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class ErrorModel:
    """Expected squared error, a sum of a constant and non-negative shares.

    Attributes
    ----------
    constant_px2 : float
    per_disagreement : float
        Times the squared distance between the eyes' estimates, px²; 0 where one eye is used alone.
    per_unfamiliar : float
        px² for each unit of `Familiarity.unfamiliar`.
    median_px : float
        The calibration's median error with targets left out.
    """

    constant_px2: float
    per_disagreement: float
    per_unfamiliar: float
    median_px: float

    def expected_px(self, disagreement_px: Floats, unfamiliar: Floats, head_px: Floats) -> Floats:
        """Give the root mean square error to expect.

        Parameters
        ----------
        disagreement_px, unfamiliar : numpy.ndarray, shape (n,)
        head_px : numpy.ndarray, shape (n,)
            How much geometry added for a turn of the head that the calibration hasn't seen: half of it is
            taken as doubtful.
        """
        square = self.constant_px2 + self.per_disagreement * disagreement_px**2
        square = square + self.per_unfamiliar * unfamiliar + (head_px / 2) ** 2
        out: Floats = np.sqrt(square)
        return out

    def confidence(self, expected_px: Floats) -> Floats:
        """Give the chance that the error is at most `TOLERANCE` times the calibration's median.

        Errors normal and alike in x and y are taken for granted: P(e <= t) = 1 - exp(-t² / expected²). A
        sample as good as the calibration's left-out ones has .94.
        """
        tolerance = TOLERANCE * self.median_px
        out: Floats = 1.0 - np.exp(-(tolerance**2) / np.maximum(expected_px**2, 1e-12))
        return out


def fit_error_model(
    errors_px: Floats, disagreement_px: Floats, unfamiliar: Floats, median_px: float | None = None
) -> ErrorModel:
    """Weigh the signs by how they went along with the errors on left-out targets.

    Parameters
    ----------
    errors_px : numpy.ndarray, shape (n,)
        Of samples whose target was left out.
    disagreement_px : numpy.ndarray, shape (n,)
        Between the eyes' estimates, left out likewise; all 0 for one eye alone.
    unfamiliar : numpy.ndarray, shape (n,)
    median_px : float, optional
        What confidence compares with, where that isn't these errors' own median.
    """
    square = errors_px**2
    typical = max(float(np.median(square)), 1e-12)
    square = np.minimum(square, CAP * typical)
    signs = (np.ones(len(square)), disagreement_px**2, unfamiliar)
    scales = np.array([float(np.median(s)) or 1.0 for s in signs])
    capped = np.stack([np.minimum(s / scale, CAP) for s, scale in zip(signs, scales, strict=True)], -1)
    start = np.full(len(signs), float(square.mean()) / float(capped.mean(0).sum()))
    weights = _non_negative(capped, square, start) / scales
    typical_px = float(np.median(errors_px)) if median_px is None else median_px
    return ErrorModel(float(weights[0]), float(weights[1]), float(weights[2]), typical_px)


def _non_negative(signs: Floats, square: Floats, start: Floats) -> Floats:
    """Least squares with weights of 0 or more, pulled to `start`: one weight after another till they rest."""
    pull = STARTING_SAMPLES * (signs**2).mean(0)
    gram = signs.T @ signs + np.diag(pull)
    wish = signs.T @ square + pull * start
    weights = start.copy()
    for _ in range(200):
        for j in range(len(weights)):
            if gram[j, j] == 0:
                weights[j] = 0.0
                continue
            rest = wish[j] - gram[j] @ weights + gram[j, j] * weights[j]
            weights[j] = max(rest / gram[j, j], 0.0)
    return weights
