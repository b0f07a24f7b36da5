"""Gemma 3: the whole picture, squashed to a square, its patches averaged to 16 x 16 tokens.

The picture's tokens see each other both ways (`token_type_ids` 1). Of six layers five look back over a window
only, so there a far picture gets no weight at all.

"Pan and scan" (off in the published checkpoints, and in the library's processor whatever the checkpoint says)
cuts a long picture into strips, each squashed to a square of its own after the whole one. Where a checkpoint
asks for it, the strips side by side are the main view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL.Image import Image
from torch import Tensor

from gazelab.attention.grids.family import Family, Parts, image_features
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import Floats, PatchGrid

PAN_AND_SCAN = {
    "pan_and_scan_min_crop_size": 256,
    "pan_and_scan_max_num_crops": 4,
    "pan_and_scan_min_ratio_to_activate": 1.2,
}
"""What `transformers.Gemma3Processor` takes where the checkpoint names none."""


def inputs(parts: Parts, image: Image, question: str) -> dict[str, Any]:
    """Run the picture processor; its count of strips is kept for the layout, the model does not take it."""
    processor = parts.image_processor
    given = {name: getattr(processor, name, None) for name in PAN_AND_SCAN}
    options = {name: PAN_AND_SCAN[name] if value is None else value for name, value in given.items()}
    made = processor(
        images=[image],
        do_convert_rgb=True,
        do_pan_and_scan=bool(getattr(processor, "do_pan_and_scan", None)),
        return_tensors="pt",
        **options,
    )
    return {"pixel_values": made["pixel_values"], "strips": int(made["num_crops"][0])}


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1 + strips, 3, side, side) and `strips`, their number.
    config : transformers.PreTrainedConfig
        For the vision tower's picture and patch size and `mm_tokens_per_image`.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        Processor and checkpoint do not fit.
    """
    side_px, patch_px = int(config.vision_config.image_size), int(config.vision_config.patch_size)
    strips, n = int(inputs["strips"]), int(int(config.mm_tokens_per_image) ** 0.5)
    shape, pooled = tuple(inputs["pixel_values"].shape), side_px // patch_px // n
    if shape != (1 + strips, 3, side_px, side_px) or pooled * n * patch_px != side_px:
        raise AttentionError(
            f"pixel_values {shape} where the model reads {1 + strips} of {side_px} px, in patches of"
            f" {patch_px} px that become {n} x {n} tokens.",
            todo="The checkpoint's processor and its model do not belong together.",
        )
    order = np.arange((1 + strips) * n * n, dtype=np.int64).reshape(1 + strips, n, n)
    grid = PatchGrid.stretched(n, n, width_px, height_px)
    if not strips:
        return Layout((PatchView("picture", grid, order[0]),), n * n, f"{side_px} x {side_px}")
    wide = width_px >= height_px
    cut = _strip_edges(strips, n, max(width_px, height_px))
    strip_grid = PatchGrid(
        cut if wide else grid.x_edges_px, grid.y_edges_px if wide else cut, width_px, height_px
    )
    token = np.concatenate(list(order[1:]), axis=1 if wide else 0)
    views = (PatchView("strips", strip_grid, token), PatchView("whole", grid, order[0]))
    return Layout(views, order.size, f"{side_px} x {side_px}, and {strips} strips of the same size")


def _strip_edges(strips: int, n: int, length_px: int) -> Floats:
    """Edges of `n` tokens in each strip; the last strip is shorter where the length does not divide."""
    strip_px = int(np.ceil(length_px / strips))
    ends = np.minimum(np.arange(strips + 1) * strip_px, length_px)
    parts = [np.linspace(ends[i], ends[i + 1], n, endpoint=False) for i in range(strips)]
    return np.asarray(np.concatenate([*parts, [length_px]]), np.float64)


def picture_text(parts: Parts, layout: Layout) -> str:
    """Write the picture's tokens between their marks; each strip behind the whole picture."""
    tokenizer, n = parts.tokenizer, layout.views[-1].token.size
    start = getattr(tokenizer, "boi_token", "<start_of_image>")
    end = getattr(tokenizer, "eoi_token", "<end_of_image>")
    soft = str(tokenizer.convert_ids_to_tokens(parts.picture_id))
    one = f"\n\n{start}{soft * n}{end}\n\n"
    strips = layout.n_tokens // n - 1
    if not strips:
        return one
    return f"Here is the original image {one} and here are some crops to help you see better " + " ".join(
        [one] * strips
    )


def extra(parts: Parts, is_picture: NDArray[np.bool_]) -> dict[str, Tensor]:
    """Mark the picture's tokens; without it the library makes them causal, and says nothing."""
    return {"token_type_ids": torch.as_tensor(is_picture.astype(np.int64))[None]}


FAMILY = Family(
    layout,
    inputs=inputs,
    placeholder="<start_of_image>",
    picture_text=picture_text,
    extra=extra,
    picture_tokens=lambda model, inputs: image_features(model, {"pixel_values": inputs["pixel_values"]}),
)
