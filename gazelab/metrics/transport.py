"""Exact optimal transport between the block sums of two maps."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import GazelabError

Floats = NDArray[np.float64]

MAX_BLOCKS = 4096
MAX_BLOCKS_WITHOUT_POT = 600


def transport_cost(source: Floats, target: Floats, block_px: int) -> float:
    """Least mean distance, in px, that turns one distribution into the other.

    Parameters
    ----------
    source, target : numpy.ndarray, shape (rows, cols)
        Each sums to 1.
    block_px : int
        Side of the blocks whose sums are moved.

    Returns
    -------
    float

    Raises
    ------
    GazelabError
        Too many blocks for an exact answer.
    """
    if block_px < 1:
        raise ValueError(f"blocks of {block_px} px")
    a, centres = _block_sums(source, block_px)
    b, _ = _block_sums(target, block_px)
    have_pot = importlib.util.find_spec("ot") is not None
    most = MAX_BLOCKS if have_pot else MAX_BLOCKS_WITHOUT_POT
    if a.size > most:
        hint = "" if have_pot else " or install the extra `compare` (pip install gazelab[compare])"
        raise GazelabError(
            f"the distance of two maps of {a.size} blocks is too large to solve exactly (at most {most}).",
            todo=f"Use larger blocks than {block_px} px{hint}.",
        )
    cost = np.linalg.norm(centres[:, None] - centres[None], axis=-1)
    return _by_pot(a, b, cost) if have_pot else _by_linear_programme(a, b, cost)


def _block_sums(values: Floats, block_px: int) -> tuple[Floats, Floats]:
    """Add each block up; also give the (x, y) of the blocks' centres, row-major."""
    starts = [np.arange(0, n, block_px) for n in values.shape]
    sums: Floats = np.add.reduceat(np.add.reduceat(values, starts[0], axis=0), starts[1], axis=1)
    middle = [(s + np.minimum(s + block_px, n)) / 2 for s, n in zip(starts, values.shape, strict=True)]
    x, y = np.meshgrid(middle[1], middle[0])
    flat = sums.ravel()
    return flat / flat.sum(), np.stack([x.ravel(), y.ravel()], -1)


def _by_pot(a: Floats, b: Floats, cost: Floats) -> float:
    import ot

    return float(ot.emd2(a, b, cost, numItermax=10_000_000))


def _by_linear_programme(a: Floats, b: Floats, cost: Floats) -> float:
    """Solve min <cost, plan> with the plan's row sums `a` and column sums `b`, over the non-empty blocks."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    rows, cols = np.flatnonzero(a), np.flatnonzero(b)
    n, m = len(rows), len(cols)
    # The type stubs of linprog leave sparse constraints out; scipy documents them.
    sums: Any = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m))]).tocsr()
    # One of the equations follows from the others; left in, rounding could make them contradict.
    found = linprog(
        cost[np.ix_(rows, cols)].ravel(), A_eq=sums[:-1], b_eq=np.concatenate([a[rows], b[cols]])[:-1]
    )
    if not found.success:
        raise GazelabError(f"the distance of two maps could not be solved ({found.message})")
    return float(found.fun or 0.0)
