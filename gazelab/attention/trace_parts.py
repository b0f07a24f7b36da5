"""A trace taken apart: what was known before the first token, and one step a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.core.attention import AttentionTrace
from gazelab.core.geometry import PatchGrid

_SHARED = (
    "model_id", "revision", "picture_sha256", "prompt", "grid", "layers", "kind", "note", "made_with", "view",
    "prompt_tokens", "picture_at",
)  # fmt: skip


def head_of(trace: AttentionTrace) -> TraceHead:
    """Give what was known of a trace before its first token."""
    return TraceHead(
        n_heads=trace.n_heads,
        other_grids=tuple((view.name, view.grid) for view in trace.other_views),
        **{name: getattr(trace, name) for name in _SHARED},
    )


def steps_of(trace: AttentionTrace) -> Iterator[TokenStep]:
    """Take a trace apart into the steps that it was made of; the other way round of `trace_of`."""
    for i, text in enumerate(trace.tokens):
        yield TokenStep(
            text,
            trace.token_ids[i] if trace.token_ids else -1,
            trace.top[i] if i < len(trace.top) else (),
            trace.weights[i],
            trace.text_share[i],
            trace.sink_share[i],
            tuple(view.weights[i] for view in trace.other_views),
            None if trace.text_weights is None else trace.text_weights[i],
        )


def described(head: TraceHead) -> dict[str, Any]:
    """Write what is known before the first token as plain values."""
    plain = {name: getattr(head, name) for name in (*_SHARED, "n_heads") if name != "grid"}
    grids = ((head.view, head.grid), *head.other_grids)
    return {
        **plain,
        "picture_width_px": head.grid.picture_width_px,
        "picture_height_px": head.grid.picture_height_px,
        "views": [
            {"name": name, "x_edges_px": list(grid.x_edges_px), "y_edges_px": list(grid.y_edges_px)}
            for name, grid in grids
        ],
    }


def looks_alike(one: TraceHead, other: TraceHead) -> bool:
    """Tell whether two looks are of one model, picture and question, made in one way; notes do not count."""
    ours, theirs = ({**described(head), "note": ""} for head in (one, other))
    return ours == theirs


def head_from(values: dict[str, Any]) -> TraceHead:
    """Inverse of `described`."""
    size = int(values["picture_width_px"]), int(values["picture_height_px"])
    grids = [
        (str(view["name"]), PatchGrid(np.asarray(view["x_edges_px"]), np.asarray(view["y_edges_px"]), *size))
        for view in values["views"]
    ]
    plain = {name: values[name] for name in _SHARED if name not in ("grid", "view")}
    plain["layers"] = tuple(int(layer) for layer in plain["layers"])
    plain["prompt_tokens"] = tuple(str(text) for text in plain["prompt_tokens"])
    return TraceHead(
        grid=grids[0][1],
        view=grids[0][0],
        n_heads=int(values["n_heads"]),
        other_grids=tuple(grids[1:]),
        **plain,
    )
