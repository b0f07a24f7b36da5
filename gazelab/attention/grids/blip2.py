"""BLIP-2: the language model reads a few query tokens, which have looked at the patches before.

The picture is squashed to a square and cut into patches. A small transformer, the Q-Former, lets learnt
queries look at them by cross-attention, and only the queries go to the language model. A query looks from no
place of its own. So what falls on a query is spread over the patches as that query looked at them: the mean
over all cross-attention layers and heads of the Q-Former. The mean is our choice; the class token, which is
no place either, is left out, and the trace's note says how much fell on it. (Li et al. 2023, "BLIP-2".)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL.Image import Image
from torch import Tensor

from gazelab.attention.grids.family import Asked, Family, Parts, on_device, picture_inputs, texts_beside
from gazelab.attention.grids.layout import Layout
from gazelab.attention.implementations import RestoredImplementations
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

PROMPT = "Question: {} Answer:"
PROMPT_OF_T5 = "Question: {} Short answer:"
"""Of the paper, section 4.1: what each kind of language model was asked with."""


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay the patches that the queries look at over the picture.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1, 3, side, side).
    config : transformers.Blip2Config
        For the vision tower's patch size and its only picture size.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        Not one picture of the vision tower's size.
    """
    vision = config.vision_config
    side, patch = int(vision.image_size), int(vision.patch_size)
    shape = tuple(inputs["pixel_values"].shape)
    if shape != (1, 3, side, side):
        raise AttentionError(
            f"pixel_values has the shape {shape}, where the vision tower takes {(1, 3, side, side)}.",
            todo="The checkpoint's processor and its model do not belong together.",
        )
    at = np.arange(side // patch + 1, dtype=np.float64) * (
        patch / side
    )  # what is left over at the end is not looked at
    note = "" if side % patch == 0 else "The model does not see the picture's right and lower edge."
    return Layout.whole(
        PatchGrid(at * width_px, at * height_px, width_px, height_px), f"{side} x {side}", note
    )


@dataclass(frozen=True, eq=False)
class Looks:
    """What a Q-Former's queries looked at.

    Attributes
    ----------
    weights : numpy.ndarray, shape (layer, head, query, 1 + patch), float32
        Cross-attention of the layers that have any; the class token comes first.
    layers : tuple of int
        Their numbers.
    """

    weights: NDArray[np.float32]
    layers: tuple[int, ...]

    @property
    def mean(self) -> NDArray[np.float32]:
        """Mean over layers and heads, (query, 1 + patch)."""
        return np.asarray(self.weights.mean((0, 1)), np.float32)


def qformer_looks(model: Any, pixel_values: Tensor) -> Looks:
    """Run the vision tower and the Q-Former, and read the queries' cross-attention.

    The library gives none of it with the fast kernel, so that these few layers run with the eager one.
    """
    read: dict[int, Tensor] = {}
    hooks = []
    for layer in model.qformer.encoder.layer:
        if layer.has_cross_attention:
            hooks.append(
                layer.crossattention.attention.register_forward_hook(
                    lambda _module, _args, output, number=layer.layer_idx: read.update({number: output[1][0]})
                )
            )
    before = RestoredImplementations(model)
    model.qformer.config._attn_implementation_internal = "eager"
    try:
        with torch.inference_mode():
            model.get_image_features(pixel_values=pixel_values)
    finally:
        before.restore()
        for hook in hooks:
            hook.remove()
    layers = tuple(sorted(read))
    return Looks(torch.stack([read[n] for n in layers]).float().cpu().numpy(), layers)


def ask(parts: Parts, image: Image, question: str) -> Asked:
    """Turn a picture and a question into the model's input; see `gazelab.attention.grids.family.ask`."""
    made = picture_inputs(parts, image, question)
    where = layout(made, parts.config, image.width, image.height)
    decoder_only = bool(parts.config.use_decoder_only_language_model)
    n_queries = int(parts.config.num_query_tokens)
    worded = (PROMPT if decoder_only else PROMPT_OF_T5).format(question)
    ids = [parts.picture_id] * n_queries + [int(i) for i in parts.tokenizer(worded)["input_ids"]]
    tensors = {
        **made,
        "input_ids": torch.tensor([ids]),
        "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
    }
    if not decoder_only:
        tensors["decoder_input_ids"] = torch.tensor([[parts.config.text_config.decoder_start_token_id]])
    tensors = on_device(parts.model, tensors)
    looks = qformer_looks(parts.model, tensors["pixel_values"])
    columns = (np.arange(n_queries),)
    texts, picture_at = texts_beside(parts.tokenizer, ids, columns)
    return Asked(
        tensors,
        columns,
        replace(where, note=f"{_told(looks)} {where.note}".strip()),
        len(ids) if decoder_only else 1,
        texts,
        picture_at,
        _spread(looks, where),
    )


def _spread(looks: Looks, where: Layout) -> NDArray[np.float32]:
    """Each query's share of each patch, (query, row, col), 1 in all."""
    patches = looks.mean[:, 1:]
    shares = patches / patches.sum(-1, keepdims=True)
    return np.asarray(shares.reshape(len(shares), where.grid.rows, where.grid.cols), np.float32)


def _told(looks: Looks) -> str:
    _, heads, queries, _ = looks.weights.shape
    return (
        f"Its {queries} picture tokens are queries that look from no place: what fell on one is spread over"
        " the patches as it looked at them, the mean over layers"
        f" {', '.join(map(str, looks.layers))} and all {heads} heads of the Q-Former's cross-attention. The"
        f" {looks.mean[:, 0].mean():.0%} of it that fell on the class token is left out."
    )


def patch_tokens(model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """Compute the patches that the queries look at, (token, width), class token left out."""
    pixel_values = inputs["pixel_values"].to(model.device, model.dtype)
    tokens: Tensor = model.vision_model(pixel_values=pixel_values).last_hidden_state[0, 1:]
    return tokens


_DECODER_ONLY = Family(layout, picture_tokens=patch_tokens, instructed=False, ask=ask)
_ENCODER_DECODER = replace(_DECODER_ONLY, kind="cross")


def of_language_model(config: Any) -> Family:
    """Choose by the language model: OPT looks at the queries in its sequence, T5 in its encoder's output."""
    return _DECODER_ONLY if config.use_decoder_only_language_model else _ENCODER_DECODER


FAMILY = replace(_DECODER_ONLY, variant=of_language_model)
