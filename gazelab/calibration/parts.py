"""The three ridges of a mapping: on both eyes together, on the left, on the right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.eyes import N_EYE, N_PATCH, misplacements
from gazelab.calibration.ridge import Ridge, RidgeFit, fit_robust

Floats = NDArray[np.float64]
Eyes = tuple[Floats, Floats]

PARTS = {"both": (0, 1), "left": (0,), "right": (1,)}
"""Which eyes a part reads, in the order of `EYES`."""

SIDES = ("left", "right")

SHRINK_SAMPLES = 10
"""As how many samples an unchanged place counts when one eye is brought to what both say."""


def part_columns(name: str, eyes: Eyes, head: Floats) -> Floats:
    """Lay out what a part reads; one eye alone counts as much as two together.

    Parameters
    ----------
    name : {"both", "left", "right"}
    eyes : pair of numpy.ndarray, shape (n, N_EYE)
    head : numpy.ndarray, shape (n, N_HEAD)

    Returns
    -------
    numpy.ndarray, shape (n, p)
    """
    weight = _weight(name)
    return np.concatenate([*(eyes[e] * weight for e in PARTS[name]), head], axis=1, dtype=np.float64)


def fit_part(
    name: str, rows: NDArray[np.void], columns: Floats, targets_px: Floats, groups: NDArray[np.int64]
) -> RidgeFit:
    """Fit one part so that weights pay for reading misplaced boxes.

    With T the changes that misplacements make (all samples, their mean square), the penalty is
    w' (I + T'T) w instead of w'w: a plain ridge in columns multiplied by the inverse root of I + T'T.

    Parameters
    ----------
    name : {"both", "left", "right"}
    rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
    columns : numpy.ndarray, shape (n, p)
        From `part_columns`.
    targets_px : numpy.ndarray, shape (n, 2)
    groups : numpy.ndarray, shape (n,)
    """
    inside = columns.copy()
    roots = []
    for k, eye in enumerate(PARTS[name]):
        changes = _weight(name) * misplacements(rows, eye).reshape(-1, N_PATCH)
        price = np.eye(N_PATCH) + changes.T @ changes / len(rows)
        roots.append(np.linalg.inv(np.linalg.cholesky(price)).T)
        inside[:, _patch(k)] = columns[:, _patch(k)] @ roots[k]
    fitted = fit_robust(inside, targets_px, groups)
    weights = fitted.ridge.weights.copy()
    for k, root in enumerate(roots):
        weights[_patch(k)] = root @ weights[_patch(k)]
    centre = columns[fitted.kept].mean(0)
    ridge = Ridge(centre, weights, fitted.ridge.offset, fitted.ridge.penalty)
    return RidgeFit(ridge, fitted.kept, fitted.left_out)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The three ridges side by side, for frames in which both eyes can be read: one product instead of three.

    Attributes
    ----------
    weights : numpy.ndarray, shape (2 * N_EYE + N_HEAD, 2 * 3)
    offset : numpy.ndarray, shape (2 * 3,)
    """

    weights: Floats
    offset: Floats

    @classmethod
    def of(cls, ridges: dict[str, Ridge]) -> Joint | None:
        """Lay them out; None unless all three are there."""
        if set(ridges) != set(PARTS):
            return None
        n_head = len(ridges["both"].centre) - 2 * N_EYE
        weights, offset = np.zeros((2 * N_EYE + n_head, 6)), np.zeros(6)
        for k, name in enumerate(PARTS):
            ridge, own = ridges[name], slice(2 * k, 2 * k + 2)
            for place, eye in enumerate(PARTS[name]):
                part = ridge.weights[place * N_EYE : (place + 1) * N_EYE]
                weights[eye * N_EYE : (eye + 1) * N_EYE, own] = _weight(name) * part
            weights[2 * N_EYE :, own] = ridge.weights[len(PARTS[name]) * N_EYE :]
            offset[own] = ridge.offset - ridge.centre @ ridge.weights
        return cls(weights, offset)

    def predict(self, eyes: Eyes, head: Floats) -> Floats:
        """Predict with every part, in the order of `PARTS`: (3, n, 2)."""
        told = np.concatenate([*eyes, head], axis=1) @ self.weights + self.offset
        out: Floats = told.reshape(len(head), 3, 2).swapaxes(0, 1)
        return out


def combined(px: dict[str, Floats]) -> Floats:
    """Give gaze from both eyes, (n, 2): half the ridge on both, a quarter each of the left's and the right's.

    What one eye alone says is noisier, but noisy in its own way: on 28 persons, three laptop recordings and
    six head poses the mean was as good as the joint ridge or better.
    """
    out: Floats = px["both"] / 2 + px["left"] / 4 + px["right"] / 4
    return out


def apart(name: str, px: dict[str, Floats]) -> Floats:
    """Distance between the eyes' estimates, (n,); 0 where a part reads one eye."""
    if len(PARTS[name]) < 2:
        return np.zeros(len(px[name]))
    out: Floats = np.hypot(*(px["left"] - px["right"]).T)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """What one eye alone lacks to what both say, as a plane over the screen.

    Attributes
    ----------
    shift_px : numpy.ndarray, shape (2,)
    slope : numpy.ndarray, shape (2, 2)
    """

    shift_px: Floats
    slope: Floats

    def apply(self, px: Floats) -> Floats:
        """Bring estimates of one eye, (n, 2), to both eyes'."""
        out: Floats = px + self.shift_px + px @ self.slope
        return out


def fit_plane(one_px: Floats, both_px: Floats) -> Plane:
    """Fit the plane to estimates with their target left out, (n, 2) each, NaN where there is none."""
    known = np.isfinite(one_px).all(1) & np.isfinite(both_px).all(1)
    if not known.any():
        return Plane(np.zeros(2), np.zeros((2, 2)))
    one_px, both_px = one_px[known], both_px[known]
    middle = one_px.mean(0)
    away = one_px - middle
    spread = max(float(np.sqrt((away**2).mean())), 1e-9)
    causes = np.concatenate([np.ones((len(away), 1)), away / spread], axis=1)
    gram = causes.T @ causes + SHRINK_SAMPLES * np.eye(3)
    fitted = np.linalg.solve(gram, causes.T @ (both_px - one_px))
    slope = fitted[1:] / spread
    return Plane(fitted[0] - middle @ slope, slope)


def _weight(name: str) -> float:
    return float(np.sqrt(2 / len(PARTS[name])))


def _patch(k: int) -> slice:
    """Columns of the k-th eye's patch."""
    return slice(k * N_EYE, k * N_EYE + N_PATCH)
