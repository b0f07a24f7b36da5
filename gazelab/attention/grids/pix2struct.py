"""Pix2Struct, MatCha and DePlot: patches of 16 px, as many as fit a budget with the picture's shape kept.

An encoder reads the patches and a decoder answers. Checkpoints for questions read the question from the
picture itself: it is drawn as a header above the chart, as wide as the chart, so that each question gives the
chart another grid. Rows of patches that hold nothing but header are not in it: what falls on them is the text
share. A row that holds both begins above the picture, at a negative edge. (Lee et al. 2023, "Pix2Struct"; Liu
et al. 2023, "MatCha" and "DePlot".)

The rest of the budget is padding, which the model does not see. The whole input is scaled to a mean of 0 and
a deviation of 1, so that an edit anywhere changes every token, though only a little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor

from gazelab.attention.grids.family import Asked, Family, Parts, on_device
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.attention.grids.pix2struct_header import drawn_below
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

NOTE = (
    "The question is drawn above the picture: what fell on it is the text share, and what fell on its first"
    " patch the sink share."
)
DRAWN_PX = "drawn_px"
"""Key of the heights of the header and of header and picture together, beside the processor's tensors."""


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `flattened_patches` (1, patch, 2 + values), each with its row and column from 1, or 0 in the padding;
        and `drawn_px` where a header was drawn.
    config : transformers.Pix2StructConfig
        For the size of a patch.
    width_px, height_px : int
        Of the picture before the header and the processor.

    Raises
    ------
    AttentionError
        The patches are not those of one picture row by row, or processor and checkpoint do not fit.
    """
    patches = inputs["flattened_patches"]
    rows, cols = _shape(patches, config)
    header, high = inputs.get(DRAWN_PX, (0, height_px))
    x_edges = np.linspace(0, width_px, cols + 1)
    y_edges = (np.linspace(0, high, rows + 1) - header) * (height_px / (high - header))
    first = int(np.searchsorted(y_edges, 0.0, side="right")) - 1  # the first row that is not all header
    token = np.arange(rows * cols, dtype=np.int64).reshape(rows, cols)[first:]
    grid = PatchGrid(x_edges, y_edges[first:], width_px, height_px)
    side = _patch_px(config)
    return Layout(
        (PatchView("picture", grid, token),),
        rows * cols,
        f"{cols * side} x {rows * side}",
        NOTE if header else "",
    )


def _shape(patches: Tensor, config: Any) -> tuple[int, int]:
    """Rows and columns of the patches that are no padding."""
    values = int(config.vision_config.patch_embed_hidden_size)
    if patches.shape[0] != 1 or patches.shape[2] != 2 + values:
        raise AttentionError(
            f"flattened_patches has the shape {tuple(patches.shape)}, where one picture has (1, patches,"
            f" {2 + values}).",
            todo="The checkpoint's processor and its model do not belong together.",
        )
    at = patches[0, :, :2].cpu().numpy().astype(np.int64)
    rows, cols = at.max(0)
    n = int(rows * cols)
    expected = np.stack(np.unravel_index(np.arange(n), (rows, cols)), 1) + 1 if n else at[:0]
    if n == 0 or n > len(at) or not np.array_equal(at[:n], expected) or at[n:].any():
        raise AttentionError(f"the patches do not fill {rows} x {cols} places row by row.")
    return int(rows), int(cols)


def _patch_px(config: Any) -> int:
    return math.isqrt(int(config.vision_config.patch_embed_hidden_size) // 3)


def drawn_inputs(parts: Parts, image: Image, question: str) -> dict[str, Any]:
    """Run the picture processor, with the question as a header where the checkpoint was trained so."""
    processor = parts.image_processor
    if not processor.is_vqa:
        return dict(processor(images=[image], return_tensors="pt"))
    drawn = drawn_below(processor, image, question)
    made = processor(images=[drawn.rgb], is_vqa=False, return_tensors="pt", input_data_format="channels_last")
    return {**made, DRAWN_PX: (drawn.header_px, len(drawn.rgb))}


def ask(parts: Parts, image: Image, question: str) -> Asked:
    """Turn a picture and a question into the model's input; see `gazelab.attention.grids.family.ask`."""
    made = drawn_inputs(parts, image, question)
    where = layout(made, parts.config, image.width, image.height)
    begun = [_start(parts.model)]
    if not parts.image_processor.is_vqa:  # such a checkpoint goes on with the text that it is given
        begun += parts.tokenizer(question, add_special_tokens=False)["input_ids"]
    tensors = {
        **made,
        "decoder_input_ids": torch.tensor([begun]),
        "decoder_attention_mask": torch.ones(1, len(begun), dtype=torch.long),
    }
    texts, picture_at = _beside(where, int(made["flattened_patches"].shape[1]))
    return Asked(on_device(parts.model, tensors), (where.token,), where, len(begun), texts, picture_at)


def _start(model: Any) -> int:
    """Token id from which the decoder begins."""
    for config in (model.generation_config, model.config, model.config.text_config):
        if getattr(config, "decoder_start_token_id", None) is not None:
            return int(config.decoder_start_token_id)
    raise AttentionError("its configuration names no token from which an answer begins.")


def _beside(where: Layout, n_keys: int) -> tuple[tuple[str, ...], int]:
    """Name the keys that are no patch of the picture: header first, padding last."""
    header = int(where.token.min())
    cols = where.grid.cols
    names = [f"question {n // cols + 1},{n % cols + 1}" for n in range(header)]
    return (*names, *["padding"] * (n_keys - where.n_tokens)), header


def encoded(model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """Compute the encoder's tokens, (token, width), padding left out."""
    patches = inputs["flattened_patches"].to(model.device, model.dtype)
    seen = patches[..., 0] > 0
    out = model.encoder(flattened_patches=patches, attention_mask=seen.float()).last_hidden_state
    tokens: Tensor = out[seen]
    return tokens


FAMILY = Family(layout, kind="cross", inputs=drawn_inputs, picture_tokens=encoded, instructed=False, ask=ask)
