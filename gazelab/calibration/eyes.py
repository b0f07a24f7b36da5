"""What the mapping reads of one eye: its standardised patch and the iris; and what a misplaced box does.

The box of a patch hangs on two corners of an eye that the landmarker finds anew in each frame, a per cent or
two of the eye's width off. That jitter moves every grey value at once, by as much as a degree or two of gaze
does, so a fit on few targets takes it for gaze. `misplacements` gives its direction in the space of patches:
the change of each patch when its box is shifted, scaled or turned. A fit that has to pay for weights along
these directions reads past them (tangent propagation: Simard et al. 1992, "Tangent Prop"). They are taken
from the stored patches, which are one pixel larger than what is read, by central differences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS
from gazelab.processing.features import PATCH_STEP, eyes_closed

Floats = NDArray[np.float64]

READ_ROWS, READ_COLS = PATCH_ROWS - 2, PATCH_COLS - 2
N_PATCH = READ_ROWS * READ_COLS
N_EYE = N_PATCH + 2

MIN_CONTRAST = 2.0
"""Grey levels of standard deviation; a flatter patch shows no eye."""

IRIS_SCALE = 0.05
"""Eye widths: the motion of the iris over 7 degrees or so counts as much as a grey value's usual change."""
PATCH_WEIGHT = float(np.sqrt(200 / N_PATCH))
"""A patch counts as 200 independent grey values, however finely it is cut."""

FLOOR = 0.4
"""Of a patch's mean grey, added before the logarithm: noise in the dark must not count for more than the eye.
From .1 to 1 all do about the same; grey values without the logarithm were worse by a sixteenth."""

SHIFT = 0.1
"""Eye widths. A weight vector that reads a shift by so much costs as much as its own squared length."""
TURN = 0.2
"""The same for a turn (radians) or a change of scale (relative). Both are broad on purpose: on 28 persons in
halves and on 3 laptop recordings all from half to double as much do about the same."""


def usable_eyes(rows: NDArray[np.void]) -> NDArray[np.bool_]:
    """Tell which eyes can be read: lids open, iris known, patch not flat.

    Returns
    -------
    numpy.ndarray, shape (n, 2), bool
    """
    seen = rows["valid"][:, None] & np.isfinite(rows["iris"]).all(-1) & np.isfinite(rows["openness"])
    grey = rows["patches"].reshape(len(rows), 2, -1).astype(np.float64)
    variance = np.einsum("nep,nep->ne", grey, grey) / grey.shape[-1] - grey.mean(-1) ** 2
    out: NDArray[np.bool_] = seen & ~eyes_closed(rows) & (variance >= MIN_CONTRAST**2)
    return out


def eye_columns(rows: NDArray[np.void], eye: int) -> Floats:
    """Give one eye's columns: the inner patch, as logarithms of zero mean and unit variance, then the iris.

    Light multiplies what an eye reflects, so it shifts logarithms and leaves their differences alone.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
    eye : {0, 1}
        In the order of `EYES`.

    Returns
    -------
    numpy.ndarray, shape (n, N_EYE)
    """
    return _columns(rows["patches"][:, eye], rows["iris"][:, eye])


def both_eyes(rows: NDArray[np.void]) -> tuple[Floats, Floats]:
    """Give the columns of the left and of the right eye, each (n, N_EYE)."""
    columns = _columns(rows["patches"], rows["iris"])
    return columns[:, 0], columns[:, 1]


def _columns(patches: NDArray[np.uint8], iris: NDArray[np.float32]) -> Floats:
    """Lay out patches (…, PATCH_ROWS, PATCH_COLS) and irises (…, 2) side by side."""
    inner = _logarithms(patches)[..., 1:-1, 1:-1].reshape(*patches.shape[:-2], N_PATCH)
    patch, _ = _standardised(inner)
    out = np.empty((*iris.shape[:-1], N_EYE))
    np.multiply(patch, PATCH_WEIGHT, out=out[..., :N_PATCH])
    np.divide(iris, IRIS_SCALE, out=out[..., N_PATCH:])
    return out


def misplacements(rows: NDArray[np.void], eye: int) -> Floats:
    """Give the change of each patch when its box is shifted by `SHIFT`, and scaled and turned by `TURN`.

    Returns
    -------
    numpy.ndarray, shape (n, 4, N_PATCH)
        Along x, along y, larger, turned; in the units of `eye_columns`.
    """
    whole = _logarithms(rows["patches"][:, eye])
    across = (whole[:, 1:-1, 2:] - whole[:, 1:-1, :-2]) / 2
    down = (whole[:, 2:, 1:-1] - whole[:, :-2, 1:-1]) / 2
    y, x = np.meshgrid(_centred(READ_ROWS), _centred(READ_COLS), indexing="ij")
    shift = SHIFT / PATCH_STEP
    changes = (shift * across, shift * down, TURN * (x * across + y * down), TURN * (x * down - y * across))
    patch, spread = _standardised(whole[:, 1:-1, 1:-1].reshape(len(rows), N_PATCH))
    moved = np.stack(changes, 1).reshape(len(rows), 4, N_PATCH) / spread[:, None]
    # A standardised patch stays standardised: what changes its mean or its length is taken off again.
    moved -= moved.mean(-1, keepdims=True)
    out: Floats = moved - (moved * patch[:, None]).mean(-1, keepdims=True) * patch[:, None]
    return PATCH_WEIGHT * out


def _logarithms(patches: NDArray[np.uint8]) -> Floats:
    grey = patches.astype(np.float64)
    grey += np.maximum(FLOOR * grey.mean((-2, -1), keepdims=True), 1e-3)
    out: Floats = np.log(grey, out=grey)
    return out


def _standardised(patches: Floats) -> tuple[Floats, Floats]:
    centred = patches - patches.mean(-1, keepdims=True)
    square = np.einsum("...i,...i->...", centred, centred)[..., None] / centred.shape[-1]
    spread: Floats = np.maximum(np.sqrt(square), 1e-9)
    return centred / spread, spread


def _centred(n: int) -> Floats:
    return np.arange(n, dtype=np.float64) - (n - 1) / 2
