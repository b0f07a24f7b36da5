"""Attention sinks: keys that draw attention whatever is asked, a mark of the model and not of the chart.

Xiao et al. 2023 ("Efficient streaming language models with attention sinks", arXiv:2309.17453) describe them
for text: the first tokens take a large share in most heads, whatever they mean. Kang et al. 2025 ("See what
you are told: visual attention sink in large multimodal models", arXiv:2503.03321) describe them for patches,
and find them by a few large values in the hidden states. A trace holds no hidden states, so the rules here
are of consistency over rows and questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.attention import AttentionTrace, LookView
from gazelab.core.errors import AttentionError

SINK_TIMES_MEAN = 10.0
"""Of the mean patch's weight; our own."""
SINK_ROWS = 0.5
"""Share of all (token, layer, head) rows; our own."""
TEXT_SINK_WEIGHT = 0.3
"""A head's mean weight above which a token is its sink: ε of Gu et al. 2024, "When attention sink emerges in
language models" (arXiv:2410.10781)."""
TEXT_SINK_HEADS = 0.25
"""Share of heads of which a token must be the sink to be named; our own."""


@dataclass(frozen=True, slots=True)
class TextSink:
    """A token of the prompt that draws attention whatever is asked.

    Attributes
    ----------
    index : int
        In `AttentionTrace.prompt_tokens`.
    token : str
    heads : float
        Share of all heads of which it is the sink.
    share : float
        Its mean weight over all rows.
    """

    index: int
    token: str
    heads: float
    share: float


def sink_rule(n_traces: int) -> str:
    """Say the rule for patches, as it is written into every result."""
    return f"{SINK_TIMES_MEAN:g} x mean in {SINK_ROWS:.0%} of rows, {n_traces} trace(s)"


def text_sink_rule(n_traces: int) -> str:
    """Say the rule for tokens, as it is written into every result."""
    return f"mean over {TEXT_SINK_WEIGHT:g} in {TEXT_SINK_HEADS:.0%} of heads, {n_traces} trace(s)"


def sink_patches(
    trace: AttentionTrace, *others: AttentionTrace, view: str | None = None
) -> NDArray[np.bool_]:
    """Find patches that draw attention whatever is asked.

    A patch with at least `SINK_TIMES_MEAN` times the mean patch's weight in at least `SINK_ROWS` of all
    (token, layer, head) rows of every trace given. In a decoder-only model few heads look for what was asked,
    so that one trace will do; in an encoder-decoder model most heads may rightly look at it, so that one
    trace names no sink.

    Parameters
    ----------
    trace, *others : AttentionTrace
        Of different questions on one picture, with one grid.
    view : str, optional
        Which of the views; the main one by default.

    Returns
    -------
    numpy.ndarray, shape (row, col), bool

    Raises
    ------
    AttentionError
        The traces are of different pictures or grids.
    """
    looks = [_view_of(t, view) for t in (trace, *others)]
    shape = (looks[0].grid.rows, looks[0].grid.cols)
    if any(
        t.picture_sha256 != trace.picture_sha256 or (look.grid.rows, look.grid.cols) != shape
        for t, look in zip((trace, *others), looks, strict=True)
    ):
        raise AttentionError("sinks are looked for in traces of one picture and one grid only.")
    if trace.kind == "cross" and not others:
        return np.zeros(shape, bool)
    return np.asarray(np.all([_steadily_high(look) for look in looks], axis=0))


def sink_tokens(trace: AttentionTrace, *others: AttentionTrace) -> tuple[TextSink, ...]:
    """Find tokens of the prompt that draw attention whatever is asked.

    A token with a mean weight of at least `TEXT_SINK_WEIGHT` over the answer's tokens in at least
    `TEXT_SINK_HEADS` of all heads. With other questions, it must be so in each of them, and a token that only
    one question holds is none.

    Parameters
    ----------
    trace, *others : AttentionTrace
        Of different questions to one model.

    Returns
    -------
    tuple of TextSink
        In the prompt's order; empty where the trace holds no weights of single tokens.
    """
    weights = _prompt_weights(trace)
    if weights is None or weights.size == 0:
        return ()
    heads, share = _sunk_heads(weights), weights.mean((0, 1, 2))
    steady = heads >= TEXT_SINK_HEADS
    for other in others:
        steady &= _also_in(trace, other)
    return tuple(
        TextSink(int(i), trace.prompt_tokens[i], float(heads[i]), float(share[i]))
        for i in np.flatnonzero(steady)
    )


def _view_of(trace: AttentionTrace, name: str | None) -> LookView:
    found = [look for look in trace.views if name in (None, look.name)]
    if not found:
        raise AttentionError("sinks are looked for in traces of one picture and one grid only.")
    return found[0]


def _steadily_high(look: LookView) -> NDArray[np.bool_]:
    weights = np.asarray(look.weights, np.float32)
    if weights.size == 0:
        return np.zeros((look.grid.rows, look.grid.cols), bool)
    mean = weights.mean((-2, -1), keepdims=True)
    high = (weights >= SINK_TIMES_MEAN * mean) & (mean > 0)
    return np.asarray(high.mean((0, 1, 2)) >= SINK_ROWS)


def _prompt_weights(trace: AttentionTrace) -> NDArray[np.float32] | None:
    """(token, layer, head, prompt token)."""
    if trace.text_weights is None:
        return None
    return np.asarray(trace.text_weights[..., : len(trace.prompt_tokens)], np.float32)


def _sunk_heads(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Share of the heads of which each token is the sink."""
    return np.asarray((weights.mean(0) >= TEXT_SINK_WEIGHT).mean((0, 1)), np.float64)


def _also_in(trace: AttentionTrace, other: AttentionTrace) -> NDArray[np.bool_]:
    """Which tokens stand in the other prompt too, before or after what differs, and are sinks there."""
    weights = _prompt_weights(other)
    sunk = np.zeros(len(trace.prompt_tokens), bool)
    if weights is None or weights.size == 0:
        return sunk
    there = _sunk_heads(weights) >= TEXT_SINK_HEADS
    ours, theirs = trace.prompt_tokens, other.prompt_tokens
    before = _common(ours, theirs)
    after = min(_common(ours[::-1], theirs[::-1]), min(len(ours), len(theirs)) - before)
    sunk[:before] = there[:before]
    if after:
        sunk[-after:] = there[len(theirs) - after :]
    return sunk


def _common(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many tokens two sequences begin with alike."""
    n = 0
    for mine, other in zip(ours, theirs, strict=False):
        if mine != other:
            break
        n += 1
    return n
