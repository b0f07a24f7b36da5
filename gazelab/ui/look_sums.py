"""What a click may ask of one token's look, reckoned once, away from the window's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import TokenStep
from gazelab.core.attention import AttentionTrace

Floats = NDArray[np.float32]

SMALL_ROWS, SMALL_COLS = 18, 24
"""No small map has more cells than this: it is drawn some 20 px wide."""


@dataclass(frozen=True, eq=False)
class ViewSums:
    """One token's look at one view.

    Attributes
    ----------
    weights : numpy.ndarray, shape (layer, head, row, col), float16
        As given.
    by_layer : numpy.ndarray, shape (layer, row, col)
        Mean over the heads.
    by_head : numpy.ndarray, shape (head, row, col)
        Mean over the layers.
    whole : numpy.ndarray, shape (row, col)
        Mean over both.
    share : numpy.ndarray, shape (layer, head)
        What fell on the view.
    focus : numpy.ndarray, shape (layer, head)
        1 - entropy / log(number of patches): 0 is even over the view, 1 is on one patch; NaN where nothing
        fell on the view.
    small : numpy.ndarray, shape (layer, head, at most SMALL_ROWS, at most SMALL_COLS)
        Each map with neighbouring patches put together.
    """

    weights: NDArray[np.float16]
    by_layer: Floats
    by_head: Floats
    whole: Floats
    share: Floats
    focus: Floats
    small: Floats


@dataclass(frozen=True, eq=False)
class StepSums:
    """One token's look at all views.

    Attributes
    ----------
    views : tuple of ViewSums
        In the order of `AttentionTrace.views`.
    text_share, sink_share : numpy.ndarray, shape (layer, head), float32
    """

    views: tuple[ViewSums, ...]
    text_share: Floats
    sink_share: Floats

    @property
    def picture_share(self) -> Floats:
        """What fell on the picture, all views together; (layer, head)."""
        total: Floats = np.sum([view.share for view in self.views], axis=0, dtype=np.float32)
        return total


def sums_of_step(step: TokenStep) -> StepSums:
    """Reckon a step's sums."""
    views = tuple(_view_sums(weights) for weights in (step.weights, *step.other_weights))
    return StepSums(views, step.text_share, step.sink_share)


def sums_of_trace(trace: AttentionTrace) -> list[StepSums]:
    """Reckon the sums of every token of a finished trace."""
    return [
        StepSums(
            tuple(_view_sums(view.weights[k]) for view in trace.views),
            trace.text_share[k],
            trace.sink_share[k],
        )
        for k in range(len(trace.tokens))
    ]


def largest(weights: NDArray[np.float16], axes: tuple[int, ...]) -> Floats:
    """Give the maximum over some axes.

    Weights are not negative, and for such halves the order of the bits is the order of the numbers; comparing
    the bits is some fifty times as fast.
    """
    bits = np.ascontiguousarray(weights).view(np.uint16)
    return np.asarray(bits.max(axes)).view(np.float16).astype(np.float32)


def _view_sums(weights: NDArray[np.float16]) -> ViewSums:
    full = weights.astype(np.float32)
    n_rows, n_cols = full.shape[-2:]
    down = _together(n_rows, SMALL_ROWS) @ full @ _together(n_cols, SMALL_COLS).T
    return ViewSums(
        weights=weights,
        by_layer=full.mean(1),
        by_head=full.mean(0),
        whole=full.mean((0, 1)),
        share=full.sum((-2, -1)),
        focus=_focus(full),
        small=down.astype(np.float32),
    )


def _focus(full: Floats) -> Floats:
    total = full.sum((-2, -1), keepdims=True)
    n_patches = full.shape[-2] * full.shape[-1]
    p = full / np.where(total > 0, total, 1)
    entropy = -(p * np.log(np.maximum(p, np.float32(1e-12)))).sum((-2, -1))
    focus = 1 - entropy / np.float32(max(np.log(n_patches), 1e-6))
    out: Floats = np.where(total[..., 0, 0] > 0, focus, np.float32(np.nan))
    return out


def _together(n: int, at_most: int) -> Floats:
    """Give the matrix that adds up n neighbours into at most so many cells, by equal lengths."""
    m = min(n, at_most)
    low, high = np.arange(n) / n, np.arange(1, n + 1) / n
    cells = np.arange(m)[:, None] / m
    share = np.minimum(high, cells + 1 / m) - np.maximum(low, cells)
    out: Floats = (np.clip(share, 0, None) * n).astype(np.float32)
    return out


def mean_of(parts: Sequence[Floats]) -> Floats:
    """Give the mean of equal arrays, one a token."""
    out: Floats = np.mean(np.stack(parts), axis=0, dtype=np.float32)
    return out
