"""What temperature and top-k do to the distribution of the next token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def reshaped(
    probabilities: Sequence[float], temperature: float = 1.0, top_k: int | None = None
) -> NDArray[np.float64]:
    """Give the probabilities that sampling would use.

    A temperature divides the logits (Ackley, Hinton and Sejnowski 1985), and top-k keeps the k most probable
    tokens and scales them to 1 (Fan, Lewis and Dauphin 2018). Logits are known from probabilities up to a
    constant that the softmax forgets, so that within the tokens given the result is exact. Without `top_k`
    the tokens that were not kept are taken to have no share: the result is too high by what they would have.

    Parameters
    ----------
    probabilities : sequence of float
        Of the most probable tokens, at temperature 1, most probable first.
    temperature : float
        Above 0; below 1 the likely becomes likelier, above 1 the unlikely does. Near 0 it is the greedy
        choice.
    top_k : int, optional
        All of them by default.

    Returns
    -------
    numpy.ndarray, shape (token,)
        Sums to 1; 0 for tokens beyond `top_k`.

    Raises
    ------
    ValueError
        A temperature or a number of tokens that is not above 0.
    """
    if not temperature > 0 or (top_k is not None and top_k < 1):
        raise ValueError(f"temperature {temperature} and top_k {top_k} must be above 0")
    given = np.asarray(probabilities, float)
    kept = np.arange(len(given)) < (len(given) if top_k is None else top_k)
    with np.errstate(divide="ignore"):
        logits = np.where(kept & (given > 0), np.log(given), -np.inf) / temperature
    if not np.isfinite(logits).any():
        return np.zeros(len(given))
    weight = np.exp(logits - logits.max())
    return np.asarray(weight / weight.sum())


def entropy_bits(probabilities: Sequence[float]) -> float:
    """Tell how undecided a distribution is: 0 bits for one sure token, 1 for two equal ones, ….

    Of the most probable tokens alone it is a lower bound.
    """
    p = np.asarray(probabilities, float)
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum()) if p.size else 0.0
