"""InternVL (the checkpoints that end in -hf): the best grid of tiles, and the whole picture once more, last.

The picture is squashed to a grid of square tiles whose shape is nearest to its own; where one tile is best,
there is no second view. The vision tower's class token is dropped, its patches are merged by
`downsample_ratio` (pixel shuffle), row-major.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from PIL.Image import Image

from gazelab.attention.grids.family import Family, Parts, image_features, repeated_placeholder
from gazelab.attention.grids.layout import Layout
from gazelab.attention.grids.tiles import tiled_view, tokens_a_side, unread_note
from gazelab.core.errors import AttentionError


def inputs(parts: Parts, image: Image, question: str) -> dict[str, Any]:
    """Cut the picture into tiles, as the family's own processor asks its picture processor to.

    The checkpoints' `preprocessor_config.json` says no to that: whoever runs the picture processor alone
    gets one squashed tile.

    Raises
    ------
    AttentionError
        The checkpoint has another family's picture processor.
    """
    processor = parts.image_processor
    # The grid of tiles is not told, and their number does not tell it: 6 tiles may be 2 x 3 or 3 x 2.
    best = getattr(sys.modules[type(processor).__module__], "get_optimal_tiled_canvas", None)
    if best is None:
        raise AttentionError(
            f"its picture processor {type(processor).__name__} is not InternVL's, so its tiles are unknown.",
            where=parts.name,
            todo="Use a checkpoint whose name ends in -hf.",
        )
    made = dict(processor(images=[image], crop_to_patches=True, return_tensors="pt"))
    side = (int(processor.size["height"]), int(processor.size["width"]))
    cols, rows = best((image.height, image.width), side, processor.min_patches, processor.max_patches)
    return {"pixel_values": made["pixel_values"], "tiles": (rows, cols)}


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (tile, 3, side, side) and `tiles`, their (rows, cols).
    config : transformers.PreTrainedConfig
        For the patch size and `downsample_ratio`.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        The tensors are not those of one picture, or processor and checkpoint do not fit.
    """
    shape = tuple(inputs["pixel_values"].shape)
    rows, cols = inputs["tiles"]
    wanted = rows * cols + (rows * cols > 1)
    if len(shape) != 4 or shape[2] != shape[3] or shape[0] != wanted:
        raise AttentionError(f"pixel_values {shape} are not {rows} x {cols} square tiles, {wanted} in all.")
    side_px, merge = shape[3], round(1 / float(config.downsample_ratio))
    patch_px = _side(config.vision_config.patch_size)
    n = tokens_a_side(side_px, patch_px, merge)
    token_px, picture_px = patch_px * merge, (width_px, height_px)
    note = unread_note(side_px, patch_px)
    if rows * cols == 1:
        whole = tiled_view("picture", (1, 1), side_px, token_px, picture_px)
        return Layout((whole,), n * n, f"{side_px} x {side_px}", note)
    tiles = tiled_view("tiles", (rows, cols), side_px, token_px, picture_px)
    whole = tiled_view("thumbnail", (1, 1), side_px, token_px, picture_px, tiles.token.size)
    seen = f"{cols * side_px} x {rows * side_px} in {cols} x {rows} tiles, and {side_px} x {side_px}"
    return Layout((tiles, whole), tiles.token.size + n * n, seen, note)


def _side(px: Any) -> int:
    return int(px[0]) if isinstance(px, (list, tuple)) else int(px)


def picture_text(parts: Parts, layout: Layout) -> str:
    """Write all place-holders between the marks of a picture."""
    start = getattr(parts.tokenizer, "start_image_token", "<img>")
    end = getattr(parts.tokenizer, "end_image_token", "</img>")
    return f"{start}{repeated_placeholder(parts, layout)}{end}"


FAMILY = Family(
    layout,
    inputs=inputs,
    picture_text=picture_text,
    picture_tokens=lambda model, inputs: image_features(model, {"pixel_values": inputs["pixel_values"]}),
)
