"""PaliGemma 1 and 2: the whole picture, squashed to a square; its tokens come first in the prompt.

There is no chat template: picture, start mark, task, question, line break. "answer en" is the task under
which it was trained on questions (Beyer et al. 2024, arXiv:2407.07726); it follows no instructions. The
picture and the question see each other both ways (`token_type_ids` 0), the answer looks back only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.attention.grids.family import Family, Parts
from gazelab.attention.grids.layout import Layout
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

TASK = "answer en"


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1, 3, side, side).
    config : transformers.PreTrainedConfig
        For the vision tower's picture and patch size.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        Processor and checkpoint do not fit.
    """
    side_px, patch_px = int(config.vision_config.image_size), int(config.vision_config.patch_size)
    shape = tuple(inputs["pixel_values"].shape)
    if shape != (1, 3, side_px, side_px) or side_px % patch_px:
        raise AttentionError(
            f"pixel_values {shape} where the model reads one picture of {side_px} px in patches of"
            f" {patch_px} px.",
            todo="The checkpoint's processor and its model do not belong together.",
        )
    n = side_px // patch_px
    return Layout.whole(PatchGrid.stretched(n, n, width_px, height_px), f"{side_px} x {side_px}")


def prompt(parts: Parts, question: str, picture_text: str) -> list[int]:
    """Put the picture's tokens first; the question ends with a line break, which starts the answer."""
    tokenizer = parts.tokenizer
    text = f"{picture_text}{tokenizer.bos_token}{TASK} {question}\n"
    return [int(i) for i in tokenizer(text, add_special_tokens=False)["input_ids"]]


def extra(parts: Parts, is_picture: NDArray[np.bool_]) -> dict[str, Tensor]:
    """Mark the whole prompt as prefix; without it the library makes it causal, and says nothing."""
    return {"token_type_ids": torch.zeros(1, len(is_picture), dtype=torch.long)}


FAMILY = Family(layout, prompt=prompt, extra=extra, instructed=False)
