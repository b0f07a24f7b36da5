"""Florence-2: the whole picture squashed to a square; a stack of strided convolutions makes its tokens.

The convolutions overlap, and each is centred on the first of the pixels that it strides over, not between
them. A token therefore looks from 31 px before to 31 px after every 32nd pixel of the square, and the grid
gives each token the pixels that are nearest to its centre: the first row and column are half as wide as the
others, the last ones half as wide again. (Xiao et al. 2024, "Florence-2"; Ding et al. 2022, "DaViT".)

Before the patches comes one token that is their mean. It looks from no place, so it is not in the grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor, nn
from transformers import Florence2Processor

from gazelab.attention.grids.family import Family, Parts, picture_inputs
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import Floats, PatchGrid

NOTE = "The picture's first token is the mean of all its patches: what fell on it is the sink share."


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1, 3, height, width).
    config : transformers.Florence2Config
        For the vision tower's convolutions.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        The tensor is not of one picture.
    """
    shape = tuple(inputs["pixel_values"].shape)
    if len(shape) != 4 or shape[0] != 1:
        raise AttentionError(f"pixel_values has the shape {shape}: not one picture.")
    high, wide = shape[2:]
    grid = PatchGrid(
        nearest_edges(wide, config.vision_config) * (width_px / wide),
        nearest_edges(high, config.vision_config) * (height_px / high),
        width_px,
        height_px,
    )
    token = 1 + np.arange(grid.rows * grid.cols, dtype=np.int64).reshape(grid.rows, grid.cols)
    return Layout((PatchView("picture", grid, token),), 1 + token.size, f"{wide} x {high}", NOTE)


def nearest_edges(side_px: int, vision: Any) -> Floats:
    """Part a side of the square among the tokens: each gets the pixels nearest to the centre of its view.

    Parameters
    ----------
    side_px : int
    vision : transformers.Florence2VisionConfig

    Returns
    -------
    numpy.ndarray, shape (token + 1,)
        Ascending, from 0 to `side_px`.
    """
    n, stride_px, first_px = side_px, 1, 0.5
    for kernel, stride, pad in zip(vision.patch_size, vision.patch_stride, vision.patch_padding, strict=True):
        first_px += stride_px * ((kernel - 1) / 2 - pad)
        stride_px *= stride
        n = (n + 2 * pad - kernel) // stride + 1
    between = first_px + stride_px * (np.arange(n - 1) + 0.5)
    return np.concatenate([[0.0], between, [float(side_px)]])


def uncropped(parts: Parts, image: Image, question: str) -> dict[str, Tensor]:
    """Run the picture processor, which must not cut anything off.

    Raises
    ------
    AttentionError
        It crops.
    """
    processor = parts.image_processor
    if getattr(processor, "do_center_crop", False) and _sides(processor.size) != _sides(processor.crop_size):
        raise AttentionError(
            "its picture processor crops the picture, which no Florence-2 does.",
            where=parts.name,
            todo="Take the preprocessor_config.json that belongs to the checkpoint.",
        )
    return picture_inputs(parts, image, question)


def _sides(size: Any) -> tuple[int | None, int | None]:
    return size.get("height"), size.get("width")


def prompt(parts: Parts, question: str, picture_text: str) -> list[int]:
    """Make the prompt: the picture, and the question or the words of a task mark ("<OCR>").

    Raises
    ------
    AttentionError
        A task mark that stands alone by its meaning is mixed with other words, or the tokenizer is not
        Florence-2's.
    """
    tokenizer = parts.tokenizer
    try:
        worded = Florence2Processor(parts.image_processor, tokenizer)(text=[question])["input_ids"][0]
    except (ValueError, AttributeError) as fault:
        raise AttentionError(f"it cannot be asked that ({fault}).", where=parts.name) from fault
    picture = tokenizer(picture_text, add_special_tokens=False)["input_ids"]
    return [*picture, tokenizer.bos_token_id, *worded, tokenizer.eos_token_id]


@contextmanager
def without_neighbours(model: Any) -> Iterator[None]:
    """Silence the 3 × 3 convolutions between the patches, which would carry an edit from one to the next."""
    hooks = [
        module.register_forward_hook(lambda _module, _args, output: torch.zeros_like(output))
        for module in model.modules()
        if isinstance(module, nn.Conv2d) and module.groups == module.in_channels > 1
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


FAMILY = Family(
    layout,
    kind="cross",
    inputs=uncropped,
    prompt=prompt,
    instructed=False,
    apart=without_neighbours,
)
