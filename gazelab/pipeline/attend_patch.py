"""A picture of what one patch looks at inside a vision encoder, layer by layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel
from gazelab.attention.given import patch_look
from gazelab.core.attention import AttentionMap
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, encode_png
from gazelab.pipeline.attend_pictures import map_sheet


def patch_sheet(
    model: AttentionModel, picture: Picture, question: str, patch: tuple[int, int]
) -> NDArray[np.uint8]:
    """Draw a sheet with one map a layer, mean over heads, the patch framed.

    Parameters
    ----------
    patch : (int, int)
        Row and column of the main view.

    Returns
    -------
    ndarray of uint8, (height, width, 3)

    Raises
    ------
    AttentionError
        The model cannot tell, or there is no such patch.
    """
    look = patch_look(model, picture, question, *patch)
    grid = model.head(picture, question).grid
    maps = []
    for layer, weights in zip(look.layers, look.weights.mean(1, dtype=np.float64), strict=True):
        share = float(weights.sum())
        values = weights / share if share > 0 else np.full_like(weights, np.nan)
        maps.append((f"layer {layer}: {share:.0%} on this view", AttentionMap(values, grid)))
    return map_sheet(picture, maps, patch)


def write_patch_sheet(sheet: NDArray[np.uint8], patch: tuple[int, int], trace_file: Path) -> Path:
    """Write the sheet of a patch beside the trace of the same picture and question.

    Raises
    ------
    AttentionError
        It cannot be written.
    """
    row, col = patch
    path = trace_file.with_name(f"{trace_file.stem}_patch_{row}_{col}.png")
    try:
        path.write_bytes(encode_png(sheet))
    except OSError as fault:
        raise AttentionError(
            f"it cannot be written ({fault.strerror}).", where=path, todo="Choose another --out."
        ) from fault
    return path
