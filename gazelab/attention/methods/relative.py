"""Relative attention: attention with the question asked, divided by attention with a neutral one.

Zhang et al. 2025, "MLLMs know where to look: training-free perception of small visual details with multimodal
LLMs" (ICLR 2025, arXiv:2502.17422): the row that predicts the answer's first token, the mean over heads, of
one layer chosen on other data; sinks and what the model looks at anyway cancel out.

Ours: of several layers each one's two maps are scaled to 1 and the ratios are averaged; and a hundredth of
the mean patch is added above and below, so that a patch that nobody looks at counts 1 and not noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gazelab.attention.maps import Sinks, attention_map
from gazelab.attention.methods.table import NEUTRAL_QUESTION
from gazelab.core.attention import AttentionMap, AttentionTrace

FLOOR = 0.01
"""Of the mean patch's weight."""


def relative_map(
    trace: AttentionTrace,
    neutral: AttentionTrace,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
    sinks: Sinks = "keep",
    view: str = "all",
) -> AttentionMap:
    """Divide a trace's map by that of a neutral question.

    Parameters
    ----------
    trace, neutral : AttentionTrace
        Of one model and one picture; of `neutral` the first token is used.
    tokens : sequence of int, optional
        Of `trace`; the first by default, as in the source.

    Returns
    -------
    AttentionMap
        Proportional to the ratio; `how` tells what `attention_map` tells of the same choice, and
        `neutral_question` and `mean_ratio`.
    """
    asked = (0,) if tokens is None else tokens
    # A look that holds the neutral one is a second question about this picture: sinks are surer with it.
    made = attention_map(trace, "mean", layers, heads, asked, sinks, (neutral,), view)
    numbers = [int(number) for number in np.asarray(made.how["layers"])]
    inside = made.grid.inside() > 0
    ratios = np.zeros(inside.shape)
    for number in numbers:
        ours = attention_map(trace, "mean", [number], heads, asked, view=view).values
        base = attention_map(neutral, "mean", [number], heads, [0], view=view).values
        floor = FLOOR / max(1, int(inside.sum()))
        ratios += (ours + floor) / (base + floor) / len(numbers)
    kept = inside & (made.values > 0) if sinks == "drop" else inside
    values = np.where(kept, ratios, 0.0)
    told: dict[str, object] = {
        **made.how,
        "method": "relative",
        "neutral_question": NEUTRAL_QUESTION,
        "floor": FLOOR,
        "mean_ratio": float(ratios[inside].mean()) if np.isfinite(ratios).all() else None,
    }
    total = values.sum()
    if not np.isfinite(total) or not total > 0:
        told["empty"] = "no attention fell on the picture, with one of the two questions"
        return AttentionMap(np.full(inside.shape, np.nan), made.grid, told, made.picture_share)
    return AttentionMap(values / total, made.grid, told, made.picture_share)
