"""A picture of what one patch looks at inside a vision encoder, layer by layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gazelab.attention.base import AttentionModel
from gazelab.attention.given import patch_look
from gazelab.core.attention import AttentionMap
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, encode_png
from gazelab.pipeline.attend_pictures import map_sheet


def write_patch_look(
    model: AttentionModel, picture: Picture, question: str, patch: tuple[int, int], trace_file: Path
) -> Path:
    """Write a sheet with one map a layer, mean over heads, the patch framed, beside a trace.

    Parameters
    ----------
    patch : (int, int)
        Row and column of the main view.
    trace_file : Path
        Of the same picture and question.

    Raises
    ------
    AttentionError
        The model cannot tell, there is no such patch, or the file cannot be written.
    """
    row, col = patch
    look = patch_look(model, picture, question, row, col)
    grid = model.head(picture, question).grid
    maps = []
    for layer, weights in zip(look.layers, look.weights.mean(1, dtype=np.float64), strict=True):
        share = float(weights.sum())
        values = weights / share if share > 0 else np.full_like(weights, np.nan)
        maps.append((f"layer {layer}: {share:.0%} on this view", AttentionMap(values, grid)))
    path = trace_file.with_name(f"{trace_file.stem}_patch_{row}_{col}.png")
    try:
        path.write_bytes(encode_png(map_sheet(picture, maps, patch)))
    except OSError as fault:
        raise AttentionError(
            f"it cannot be written ({fault.strerror}).", where=path, todo="Choose another --out."
        ) from fault
    return path
