"""Idefics3, and SmolVLM of the first generation: tiles row by row, then the whole picture once more.

The processor resizes the picture to a multiple of the tile's side (each axis on its own), cuts it, and adds
the whole picture squashed to one tile; a checkpoint may have the cutting off. The vision tower's patches are
merged by `scale_factor` (pixel shuffle), row-major. In the prompt each tile stands behind a tag with its row
and column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL.Image import Image
from torch import Tensor

from gazelab.attention.grids.family import Family, Parts, image_features
from gazelab.attention.grids.layout import Layout
from gazelab.attention.grids.tiles import tiled_view, tokens_a_side, unread_note
from gazelab.core.errors import AttentionError


def inputs(parts: Parts, image: Image, question: str) -> dict[str, Any]:
    """Run the picture processor, and ask it for the rows and columns of tiles."""
    return dict(parts.image_processor(images=[image], return_row_col_info=True, return_tensors="pt"))


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1, tile, 3, side, side), `rows` and `cols` ([[n]], 0 where nothing was cut).
    config : transformers.PreTrainedConfig
        For the patch size and `scale_factor`.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        The tensors are not those of one picture, or processor and checkpoint do not fit.
    """
    shape = tuple(inputs["pixel_values"].shape)
    rows, cols = int(inputs["rows"][0][0]), int(inputs["cols"][0][0])
    if len(shape) != 5 or shape[0] != 1 or shape[3] != shape[4] or shape[1] != rows * cols + 1:
        raise AttentionError(
            f"pixel_values {shape} are not {rows} x {cols} square tiles and one of the whole."
        )
    side_px, patch_px = shape[4], int(config.vision_config.patch_size)
    n = tokens_a_side(side_px, patch_px, int(config.scale_factor))
    token_px, picture_px = patch_px * int(config.scale_factor), (width_px, height_px)
    note = unread_note(side_px, patch_px)
    if not rows:
        whole = tiled_view("picture", (1, 1), side_px, token_px, picture_px)
        return Layout((whole,), n * n, f"{side_px} x {side_px}", note)
    tiles = tiled_view("tiles", (rows, cols), side_px, token_px, picture_px)
    whole = tiled_view("global", (1, 1), side_px, token_px, picture_px, tiles.token.size)
    seen = f"{cols * side_px} x {rows * side_px} in {cols} x {rows} tiles, and {side_px} x {side_px}"
    return Layout((tiles, whole), tiles.token.size + n * n, seen, note)


def picture_text(parts: Parts, layout: Layout) -> str:
    """Write the tiles' place-holders behind their tags, a line a row, and then the whole picture's."""
    fake = getattr(parts.tokenizer, "fake_image_token", "<fake_token_around_image>")
    whole_tag = getattr(parts.tokenizer, "global_image_token", "<global-img>")
    tile = str(parts.tokenizer.convert_ids_to_tokens(parts.picture_id)) * layout.views[-1].token.size
    whole = f"{fake}{whole_tag}{tile}{fake}"
    if len(layout.views) == 1:
        return whole
    of_tile = layout.views[1].grid
    rows, cols = layout.grid.rows // of_tile.rows, layout.grid.cols // of_tile.cols
    lines = (
        "".join(f"{fake}<row_{row + 1}_col_{col + 1}>{tile}" for col in range(cols)) for row in range(rows)
    )
    return "".join(f"{line}\n" for line in lines) + f"\n{whole}"


def picture_tokens(model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """Compute the picture's tokens, (token, width)."""
    names = ("pixel_values", "pixel_attention_mask")
    return image_features(model, {name: inputs[name] for name in names if name in inputs})


FAMILY = Family(layout, inputs=inputs, picture_text=picture_text, picture_tokens=picture_tokens)
