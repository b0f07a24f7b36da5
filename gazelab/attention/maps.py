"""From a trace to one map over the patches: which layers, heads and tokens, and what to do with sinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError

Method = Literal["mean", "max", "raw"]
Sinks = Literal["keep", "drop"]

SINK_TIMES_MEAN = 10.0
SINK_ROWS = 0.5


def attention_map(
    trace: AttentionTrace,
    method: Method = "mean",
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
    sinks: Sinks = "keep",
    others: Sequence[AttentionTrace] = (),
) -> AttentionMap:
    """Make one map of a model's attention.

    Parameters
    ----------
    trace : AttentionTrace
    method : "mean", "max" or "raw"
        How layers, heads and tokens are put together; "raw" takes one of each and puts nothing together.
    layers : sequence of int, optional
        The model's own layer numbers; negative ones count from the last; all by default.
    heads, tokens : sequence of int, optional
        Indices from 0, negative ones from the end; all by default.
    sinks : "keep" or "drop"
        "drop" sets the patches that `sink_patches` names to 0 before the map is scaled to 1.
    others : sequence of AttentionTrace
        Of other questions on the same picture, if there are any: what is a sink is surer with them.

    Returns
    -------
    AttentionMap
        Sums to 1; all NaN if no attention fell on the picture. `how` holds every choice, the sink patches
        (found in the whole trace, dropped or not) and their share of the chosen attention on the picture,
        and the shares of the chosen attention on text and on the first token.

    Raises
    ------
    AttentionError
        There is no such layer, head or token, or "raw" was asked of more than one.
    """
    picked, chosen = _chosen(trace, layers, heads, tokens)
    if method == "raw" and picked.size > trace.grid.rows * trace.grid.cols:
        raise AttentionError('"raw" takes one layer, one head and one token.', todo='Or use "mean" or "max".')
    if method not in ("mean", "max", "raw"):
        raise AttentionError(f'"{method}" is no way to make a map.', todo="Use mean, max or raw.")
    if sinks not in ("keep", "drop"):
        raise AttentionError(f'sinks = "{sinks}" is unknown.', todo="Use keep or drop.")
    rows = picked.reshape(-1, trace.grid.rows, trace.grid.cols)
    values = rows.max(0) if method == "max" else rows.mean(0)
    values = np.where(trace.grid.inside() > 0, values, 0.0)
    sunk = sink_patches(trace, *others)
    kept = np.where(sunk, 0.0, values) if sinks == "drop" else values
    total = kept.sum()
    return AttentionMap(
        kept / total if total > 0 else np.full_like(kept, np.nan),
        trace.grid,
        {
            "method": method,
            **{axis: [int(n) for n in numbers] for axis, numbers in chosen.items()},
            "sinks": sinks,
            "sink_rule": f"{SINK_TIMES_MEAN:g} x mean in {SINK_ROWS:.0%} of rows, {1 + len(others)} trace(s)",
            "sink_patches": [[int(r), int(c)] for r, c in np.argwhere(sunk)],
            "sink_patch_share": float(values[sunk].sum() / values.sum())
            if values.sum() > 0
            else float("nan"),
            "text_share": _share(trace, trace.text_share, chosen),
            "sink_share": _share(trace, trace.sink_share, chosen),
        },
        picture_share=float(picked.sum((-2, -1)).mean()),
    )


def sink_patches(trace: AttentionTrace, *others: AttentionTrace) -> NDArray[np.bool_]:
    """Find patches that draw attention whatever is asked: a mark of the model, not of the chart.

    Vision-language models put much weight on a few background patches (Kang et al. 2025, "See what you are
    told: visual attention sink in large multimodal models"). Those authors find them by the hidden states;
    a trace holds none, so the rule here is one of consistency, and our own: a patch with at least
    `SINK_TIMES_MEAN` times the mean patch's weight in at least `SINK_ROWS` of all (token, layer, head) rows
    of every trace given. In a decoder-only model few heads look for what was asked, so that one trace will
    do; in an encoder-decoder model most heads may rightly look at it, so that one trace names no sink.

    Parameters
    ----------
    trace, *others : AttentionTrace
        Of different questions on one picture, with one grid.

    Returns
    -------
    numpy.ndarray, shape (row, col), bool

    Raises
    ------
    AttentionError
        The traces are of different pictures or grids.
    """
    traces = (trace, *others)
    if {(t.picture_sha256, t.grid.rows, t.grid.cols) for t in others} - {
        (trace.picture_sha256, trace.grid.rows, trace.grid.cols)
    }:
        raise AttentionError("sinks are looked for in traces of one picture and one grid only.")
    if trace.kind == "cross" and not others:
        return np.zeros((trace.grid.rows, trace.grid.cols), bool)
    return np.asarray(np.all([_steadily_high(t) for t in traces], axis=0))


def _steadily_high(trace: AttentionTrace) -> NDArray[np.bool_]:
    weights = np.asarray(trace.weights, np.float32)
    if weights.size == 0:
        return np.zeros((trace.grid.rows, trace.grid.cols), bool)
    mean = weights.mean((-2, -1), keepdims=True)
    high = (weights >= SINK_TIMES_MEAN * mean) & (mean > 0)
    return np.asarray(high.mean((0, 1, 2)) >= SINK_ROWS)


def display_scale(values: ArrayLike, percentile: float = 99.0) -> NDArray[np.float64]:
    """Scale a map to 0..1 for the eye only: the value at a percentile becomes 1, what is above is clipped.

    With the maximum in its place, one patch with most of the weight would leave the rest dark. Scores are
    never computed on this.

    Parameters
    ----------
    values : array
        NaN becomes 0.
    percentile : float
        Of the values above 0.
    """
    raw = np.nan_to_num(np.asarray(values, float), nan=0.0)
    positive = raw[raw > 0]
    if positive.size == 0:
        return np.zeros_like(raw)
    # "lower": on a coarse grid an interpolated percentile would lean towards the very peak it should ignore.
    top = np.percentile(positive, percentile, method="lower")
    scaled: NDArray[np.float64] = np.clip(raw / top, 0.0, 1.0)
    return scaled


def _chosen(
    trace: AttentionTrace,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    tokens: Sequence[int] | None,
) -> tuple[NDArray[np.float64], dict[str, list[int]]]:
    chosen = {
        "layers": _numbers("layer", layers, trace.layers),
        "heads": _numbers("head", heads, range(trace.n_heads)),
        "tokens": _numbers("token", tokens, range(len(trace.tokens))),
    }
    return np.asarray(trace.weights[_index(trace, chosen)], float), chosen


def _index(trace: AttentionTrace, chosen: dict[str, list[int]]) -> tuple[NDArray[np.intp], ...]:
    layers = [trace.layers.index(layer) for layer in chosen["layers"]]
    return np.ix_(chosen["tokens"], layers, chosen["heads"])


def _share(trace: AttentionTrace, share: NDArray[np.float32], chosen: dict[str, list[int]]) -> float:
    return float(np.asarray(share, float)[_index(trace, chosen)].mean())


def _numbers(what: str, wanted: Sequence[int] | None, available: Sequence[int]) -> list[int]:
    if len(available) == 0 or (wanted is not None and len(wanted) == 0):
        raise AttentionError(f"there is no {what} to make a map of.")
    numbers = list(available) if wanted is None else []
    for number in wanted or ():
        resolved = available[number] if -len(available) <= number < 0 else number
        if resolved not in available:
            raise AttentionError(f"there is no {what} {number}.", todo=f"There are {list(available)}.")
        numbers.append(resolved)
    return numbers
