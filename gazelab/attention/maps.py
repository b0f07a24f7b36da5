"""From a trace to one map over the patches: which layers, heads and tokens, and what to do with sinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.attention.chosen import Chosen, chosen_of
from gazelab.attention.combined import ALL_VIEWS, Sinks, ViewValues, one_map, views_chosen
from gazelab.attention.sinks import TextSink, sink_patches, sink_rule, sink_tokens, text_sink_rule
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError

__all__ = ["Method", "Sinks", "attention_map", "display_scale", "sink_patches"]

Method = Literal["mean", "max", "raw"]
"""The ways to make a map from a trace alone; `gazelab.attention.methods` has those that need the model."""


def attention_map(
    trace: AttentionTrace,
    method: Method = "mean",
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
    sinks: Sinks = "keep",
    others: Sequence[AttentionTrace] = (),
    view: str = ALL_VIEWS,
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
    view : str
        "all" adds up every view of the picture on the main one's grid; else the name of one.

    Returns
    -------
    AttentionMap
        Sums to 1; all NaN if no attention fell on the picture. `how` holds every choice, what `one_map`
        tells of views, sink patches (found in the whole trace, dropped or not) and padding, the shares of the
        chosen attention on text and on the first token, the tokens that are sinks (`text_sinks`, each with
        its share of the chosen attention), and `picture_share_without_sinks`: the picture's share of what is
        left when sink tokens and sink patches are taken out.

    Raises
    ------
    AttentionError
        There is no such layer, head, token or view, or "raw" was asked of more than one.
    """
    chosen = chosen_of(trace, layers, heads, tokens)
    if method not in get_args(Method):
        raise AttentionError(f'"{method}" is no way to make a map of a trace.', todo="Use mean, max or raw.")
    if method == "raw" and max(len(chosen.layers), len(chosen.heads), len(chosen.tokens)) > 1:
        raise AttentionError('"raw" takes one layer, one head and one token.', todo='Or use "mean" or "max".')
    looks = trace.views
    parts, on_picture, on_sinks = [], 0.0, 0.0
    for i in views_chosen([look.name for look in looks], view):
        picked = chosen.of(trace, looks[i].weights)
        means = picked.mean((0, 1, 2), dtype=np.float64)
        values = picked.max((0, 1, 2)).astype(np.float64) if method == "max" else means
        sunk = sink_patches(trace, *others, view=looks[i].name)
        on_picture, on_sinks = on_picture + float(means.sum()), on_sinks + float(means[sunk].sum())
        parts.append(ViewValues(looks[i].name, looks[i].grid, values, sunk))
    how: dict[str, object] = {
        "method": method,
        **chosen.to_json(),
        "sink_rule": sink_rule(1 + len(others)),
        "text_share": _mean(trace, trace.text_share, chosen),
        "sink_share": _mean(trace, trace.sink_share, chosen),
        **_text_sinks(trace, others, chosen, on_picture, on_sinks),
    }
    return one_map(parts, view, sinks, how, on_picture)


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


def _mean(trace: AttentionTrace, share: NDArray[np.floating], chosen: Chosen) -> float:
    return float(chosen.of(trace, share).mean(dtype=np.float64))


def _text_sinks(
    trace: AttentionTrace,
    others: Sequence[AttentionTrace],
    chosen: Chosen,
    on_picture: float,
    on_sinks: float,
) -> dict[str, object]:
    """Name the sink tokens, with their shares of the chosen attention."""
    found = sink_tokens(trace, *others)
    shares = [0.0 for _ in found]
    if trace.text_weights is not None and found:
        shares = [_mean(trace, trace.text_weights[..., sink.index], chosen) for sink in found]
    left = 1 - sum(shares) - on_sinks
    return {
        "text_sink_rule": text_sink_rule(1 + len(others)),
        "text_sinks": [_told(sink, share) for sink, share in zip(found, shares, strict=True)],
        "text_sink_share": sum(shares),
        "picture_share_without_sinks": (on_picture - on_sinks) / left if left > 1e-6 else None,
    }


def _told(sink: TextSink, share: float) -> dict[str, object]:
    return {"index": sink.index, "token": sink.token, "heads": sink.heads, "share": share}
