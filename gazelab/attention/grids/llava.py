"""LLaVA-1.5: one square of the picture, a token a patch.

As published, the CLIP processor shortens the picture's short side to the square's and cuts out the middle:
**the ends of a wide or tall chart never reach the model**. `LlavaImageProcessor` may pad the picture to a
square instead (as the authors' own code does): then cells lie in the padding. Processors of SigLIP towers
squash. What happens is read from the processor's settings and undone step by step.

The vision tower's class token is dropped (`vision_feature_select_strategy` "default"), or stays before the
patches ("full"). Patch size and count come from the model's configuration: old checkpoints' processors do not
know them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL.Image import Image
from torch import Tensor

from gazelab.attention.grids.family import Family, Parts, image_features, picture_inputs
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.attention.grids.llava_seen import unseen
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import Floats, PatchGrid

CLASS_TOKENS = {"clip_vision_model": 1, "siglip_vision_model": 0}
"""Vision towers, and how many tokens each makes beside its patches; they come first."""
MOST_DRAWN_OUT = 200
"""Longer side by shorter: the short side is enlarged to the square's before the crop, the long one with it.
As in Qwen-VL's processor; LLaVA's own has no limit."""
_MISFIT = "The checkpoint's processor and its model do not belong together."


@dataclass(frozen=True)
class Side:
    """How one side of the picture, in px, became a side of the model's input.

    Attributes
    ----------
    pad_px : int
        Put before the picture.
    scale : float
        Input px per padded picture px.
    crop_px : int
        Cut off after the resize; negative where zeros were put there.
    input_px : int
        What is left.
    """

    pad_px: int
    scale: float
    crop_px: int
    input_px: int

    def picture_px(self, input_px: Floats) -> Floats:
        """Undo resize, crop and padding."""
        out: Floats = (input_px + self.crop_px) / self.scale - self.pad_px
        return out


def sides(processor: Any, width_px: int, height_px: int) -> tuple[Side, Side]:
    """Read from a picture processor's settings what it does to a picture's width and height.

    Raises
    ------
    AttentionError
        The settings are of a kind that is not known here.
    """
    lengths = (width_px, height_px)
    padded = lengths
    if getattr(processor, "do_pad", False):
        if not type(processor).__name__.startswith("LlavaImageProcessor"):
            raise AttentionError(f"{type(processor).__name__} pads in a way that is not known here.")
        padded = (max(lengths), max(lengths))
    resized = _resized(processor, padded) if getattr(processor, "do_resize", True) else padded
    cropped = resized
    if getattr(processor, "do_center_crop", False):
        crop = _setting(processor, "crop_size")
        cropped = (crop["width"], crop["height"])
    width, height = (
        Side((around - length) // 2, after / around, (after - left) // 2, left)
        for length, around, after, left in zip(lengths, padded, resized, cropped, strict=True)
    )
    return width, height


def _resized(processor: Any, padded_px: tuple[int, int]) -> tuple[int, int]:
    size = _setting(processor, "size")
    if set(size) == {"height", "width"}:
        return size["width"], size["height"]
    if set(size) != {"shortest_edge"}:
        raise AttentionError(f"{type(processor).__name__} resizes in a way that is not known here: {size}.")
    if max(padded_px) > MOST_DRAWN_OUT * min(padded_px):
        raise AttentionError(
            f"a picture of {padded_px[0]} x {padded_px[1]} px would be enlarged to"
            f" {size['shortest_edge'] * max(padded_px) // min(padded_px)} px of length.",
            todo="Leave this picture out, or pad it with white.",
        )
    width, height = (int(size["shortest_edge"] * n / min(padded_px)) for n in padded_px)
    return width, height


def inputs(parts: Parts, image: Image, question: str) -> dict[str, Any]:
    """Run the picture processor, and note what it did to each side of the picture."""
    known = sides(parts.image_processor, image.width, image.height)
    return {**picture_inputs(parts, image, question), "sides": known}


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1, 3, height, width) and `sides`, as the family's `inputs` gives them.
    config : transformers.LlavaConfig
        For the vision tower's patch size and kind.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        The vision tower is of an unknown kind, or processor and checkpoint do not fit.
    """
    across, down = inputs["sides"]
    shape = tuple(inputs["pixel_values"].shape)
    if shape != (1, 3, down.input_px, across.input_px):
        raise AttentionError(
            f"pixel_values {shape} where the settings give {across.input_px} x {down.input_px} px.",
            todo=_MISFIT,
        )
    patch_px = int(config.vision_config.patch_size)
    first = class_tokens(config)
    rows, cols = down.input_px // patch_px, across.input_px // patch_px
    grid = PatchGrid(
        across.picture_px(patch_px * np.arange(cols + 1.0)),
        down.picture_px(patch_px * np.arange(rows + 1.0)),
        width_px,
        height_px,
    )
    token = first + np.arange(rows * cols, dtype=np.int64).reshape(rows, cols)
    lost = unseen(grid)
    return Layout(
        (PatchView("picture", grid, token),),
        first + rows * cols,
        f"{across.input_px} x {down.input_px}",
        f"The model does not see the whole picture: its processor cuts off {lost}." if lost else "",
    )


def class_tokens(config: Any) -> int:
    """Give how many tokens come before a square's patches in the prompt.

    Raises
    ------
    AttentionError
        The vision tower is of an unknown kind, or its first patch is dropped as if it were a class token.
    """
    tower, kept = config.vision_config.model_type, config.vision_feature_select_strategy
    if tower not in CLASS_TOKENS:
        raise AttentionError(
            f'no grid is known for a vision tower of type "{tower}".',
            todo=f"Known: {', '.join(CLASS_TOKENS)}.",
        )
    if kept == "full":
        return CLASS_TOKENS[tower]
    if not CLASS_TOKENS[tower]:
        raise AttentionError(
            f'"{tower}" has no class token, but the first of its tokens is dropped.', todo=_MISFIT
        )
    return 0


def picture_tokens(model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """Compute the picture's tokens from the tensors alone."""
    return image_features(model, {name: value for name, value in inputs.items() if name != "sides"})


def _setting(processor: Any, name: str) -> dict[str, int]:
    """Give a size as its settings that are not empty."""
    size = getattr(processor, name, None) or {}
    return {key: int(value) for key, value in dict(size).items() if value}


FAMILY = Family(layout, inputs=inputs, picture_tokens=picture_tokens)
