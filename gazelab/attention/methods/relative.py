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
from gazelab.core.regrid import respread

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
        `neutral_question` and how many layers look at the picture with both (`layers_that_look`): a
        sliding-window layer may see nothing of it, and is left out.
    """
    asked = (0,) if tokens is None else tokens
    alike = _same_grids(trace, neutral)
    # A look that holds the neutral one is a second question about this picture: sinks are surer with it.
    made = attention_map(trace, "mean", layers, heads, asked, sinks, (neutral,) if alike else (), view)
    inside = made.grid.inside() > 0
    floor = FLOOR / max(1, int(inside.sum()))
    ratios = []
    for number in np.asarray(made.how["layers"]):
        ours = attention_map(trace, "mean", [int(number)], heads, asked, view=view)
        base = attention_map(neutral, "mean", [int(number)], heads, [0], view=view)
        below = base.values if alike else respread(base.values, base.grid, made.grid).values
        if np.isfinite(ours.values).all() and np.isfinite(below).all():
            ratios.append((ours.values + floor) / (below + floor))
    told: dict[str, object] = {
        **made.how,
        "method": "relative",
        "neutral_question": NEUTRAL_QUESTION,
        "floor": FLOOR,
        "layers_that_look": len(ratios),
    }
    kept = inside & (made.values > 0) if sinks == "drop" else inside
    values = np.where(kept, np.mean(ratios, 0), 0.0) if ratios else np.zeros(inside.shape)
    if not values.sum() > 0:
        told["empty"] = "no layer looks at the picture with both questions"
        return AttentionMap(np.full(inside.shape, np.nan), made.grid, told, made.picture_share)
    return AttentionMap(values / values.sum(), made.grid, told, made.picture_share)


def _same_grids(trace: AttentionTrace, neutral: AttentionTrace) -> bool:
    """Tell whether both questions see the picture through one grid; where it is drawn in, they may not."""
    pairs = zip(trace.views, neutral.views, strict=True)
    return all(
        np.array_equal(a.grid.x_edges_px, b.grid.x_edges_px)
        and np.array_equal(a.grid.y_edges_px, b.grid.y_edges_px)
        for a, b in pairs
    )
