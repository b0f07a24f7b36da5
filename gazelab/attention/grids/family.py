"""A model family: how a picture and a question go in, and how the picture's tokens lie over the picture.

Most families differ in `layout` alone. The rest has defaults that follow the library's own processors: the
chat template makes a prompt with one place-holder, which `picture_text` expands to the picture's tokens.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL.Image import Image
from torch import Tensor

from gazelab.attention.decoder import Kind
from gazelab.attention.foreign import BROKEN, said
from gazelab.attention.grids.layout import Layout
from gazelab.attention.prompt import prompt_ids
from gazelab.core.errors import AttentionError


class Parts(Protocol):
    """A checkpoint's parts, of transformers; `gazelab.attention.checkpoint.Checkpoint` is one."""

    name: str
    config: Any
    tokenizer: Any
    image_processor: Any
    model: Any

    @property
    def picture_id(self) -> int:
        """Token id of the picture's place-holder."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A question as it goes into the model.

    Attributes
    ----------
    tensors : dict
        On the model's device, batch 1: what `generate` takes.
    columns : tuple of numpy.ndarray, int64
        For each view of the layout, (rows, cols): key position of each patch's token; in the sequence, or
        (kind "cross") in the encoder's output. With `mixing`: one array (token,).
    layout : Layout
    prompt_length : int
        Positions before the answer in the sequence that the decoder reads.
    prompt_tokens : tuple of str
        The keys that are no patch, in order, as text.
    picture_at : int
        How many of them stand before the picture.
    mixing : numpy.ndarray, shape (token, rows, cols), or None
        For models whose tokens are no patches but look at patches in their turn: each token's share of each
        patch of the one view. A token's weight is spread over the patches by it.
    """

    tensors: dict[str, Tensor]
    columns: tuple[NDArray[np.int64], ...]
    layout: Layout
    prompt_length: int
    prompt_tokens: tuple[str, ...] = ()
    picture_at: int = 0
    mixing: NDArray[np.float32] | None = None


LayoutOf = Callable[[Mapping[str, Any], Any, int, int], Layout]
"""(the picture processor's tensors, the checkpoint's configuration, width in px, height in px) → Layout."""


def picture_inputs(parts: Parts, image: Image, question: str) -> dict[str, Tensor]:
    """Run the checkpoint's picture processor; most do not look at the question."""
    return dict(parts.image_processor(images=[image], return_tensors="pt"))


def repeated_placeholder(parts: Parts, layout: Layout) -> str:
    """Write the picture as its place-holder, once a token."""
    return str(parts.tokenizer.convert_ids_to_tokens(parts.picture_id)) * layout.n_tokens


def no_extra(parts: Parts, is_picture: NDArray[np.bool_]) -> dict[str, Tensor]:
    """Give what `forward` needs beside tokens and picture: here the picture's mark, where it asks for one."""
    if "mm_token_type_ids" not in inspect.signature(parts.model.forward).parameters:
        return {}
    # Without it such a model numbers the picture's tokens as if they were text, and says nothing.
    return {"mm_token_type_ids": torch.as_tensor(is_picture.astype(np.int64))[None]}


def image_features(model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """Compute the picture's tokens in the language model's space, (token, width)."""
    features = model.get_image_features(**inputs)
    features = getattr(features, "pooler_output", features)
    if isinstance(features, (tuple, list)):
        features = torch.cat([part.reshape(-1, part.shape[-1]) for part in features])
    tokens: Tensor = features.reshape(-1, features.shape[-1])
    return tokens


@dataclass(frozen=True, eq=False)
class Family:
    """One model family.

    Attributes
    ----------
    layout : callable
        `LayoutOf`.
    kind : "self" or "cross"
        Where the answer looks at the picture: in its own sequence, or in an encoder's output.
    inputs : callable
        (parts, PIL image, question) → tensors, batch 1; everything but the prompt.
    placeholder : str, optional
        What the chat template writes for a picture, where that is not the picture's token itself.
    picture_text : callable
        (parts, layout) → what that place-holder becomes: the picture's tokens with their marks.
    prompt : callable, optional
        (parts, question, picture text) → token ids, for families without a chat template.
    extra : callable
        (parts, is_picture) → further tensors.
    picture_tokens : callable
        (model, inputs) → (token, width) in the language model's space; used to prove a grid.
    ask : callable, optional
        (parts, image, question) → `Asked`, for families that fit nothing of the above.
    instructed : bool
        Whether a sentence that asks for a short answer is put after the question; not for models that were
        never taught to follow one.
    apart : callable
        (model) → context in which nothing but attention carries one patch to another's token; used to prove a
        grid.
    variant : callable, optional
        (configuration) → the `Family` of that checkpoint, where its parts decide how it is asked.
    """

    layout: LayoutOf
    kind: Kind = "self"
    inputs: Callable[[Parts, Image, str], dict[str, Tensor]] = picture_inputs
    placeholder: str | None = None
    picture_text: Callable[[Parts, Layout], str] = repeated_placeholder
    prompt: Callable[[Parts, str, str], list[int]] | None = None
    extra: Callable[[Parts, NDArray[np.bool_]], dict[str, Tensor]] = no_extra
    picture_tokens: Callable[[Any, Mapping[str, Any]], Tensor] = image_features
    ask: Callable[[Parts, Image, str], Asked] | None = None
    instructed: bool = True
    apart: Callable[[Any], AbstractContextManager[Any]] = nullcontext
    variant: Callable[[Any], Family] | None = None

    def of(self, config: Any) -> Family:
        """Give the family of one checkpoint, by its configuration."""
        return self if self.variant is None else self.variant(config)


def ask(family: Family, parts: Parts, image: Image, question: str) -> Asked:
    """Turn a picture and an escaped question into the model's input.

    Raises
    ------
    AttentionError
        The processor refuses the picture, or tokens and grid do not fit.
    """
    try:
        if family.ask is not None:
            return family.ask(parts, image, question)
        made = family.inputs(parts, image, question)
    except BROKEN as fault:
        raise AttentionError(
            f"its processor refuses a picture of {image.width} x {image.height} px ({said(fault)}).",
            where=parts.name,
            todo="Leave this picture out, or pad it with white.",
        ) from fault
    try:
        return _laid(family, parts, made, image, question)
    except BROKEN as fault:
        raise AttentionError(
            f"its tokens cannot be laid over a picture of {image.width} x {image.height} px ({said(fault)}).",
            where=parts.name,
            todo="Check the checkpoint's settings and, if you gave one, your own grid file.",
        ) from fault


def _laid(family: Family, parts: Parts, made: dict[str, Tensor], image: Image, question: str) -> Asked:
    layout = family.layout(made, parts.config, image.width, image.height)
    picture_text = family.picture_text(parts, layout)
    if family.prompt is not None:
        ids = family.prompt(parts, question, picture_text)
    else:
        ids = prompt_ids(parts.tokenizer, question, parts.picture_id, picture_text, family.placeholder)
    is_picture = np.asarray(ids) == parts.picture_id
    columns = layout.columns(is_picture)
    tensors = {
        "input_ids": torch.tensor([ids]),
        "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
        **made,
        **family.extra(parts, is_picture),
    }
    texts, picture_at = texts_beside(parts.tokenizer, ids, columns)
    length = 1 if family.kind == "cross" else len(ids)
    return Asked(on_device(parts.model, tensors), columns, layout, length, texts, picture_at)


def on_device(model: Any, tensors: Mapping[str, Any]) -> dict[str, Tensor]:
    """Move tensors to a model's device, and floating ones to its type; what is no tensor is left out."""
    return {
        name: value.to(model.device, model.dtype if value.is_floating_point() else value.dtype)
        for name, value in tensors.items()
        if isinstance(value, Tensor)
    }


def texts_beside(
    tokenizer: Any, ids: list[int], columns: tuple[NDArray[np.int64], ...]
) -> tuple[tuple[str, ...], int]:
    """Give the texts of the tokens that are no patch, and how many of them come before the picture."""
    patches = np.concatenate([c.ravel() for c in columns])
    beside = np.setdiff1d(np.arange(len(ids)), patches)
    texts = tuple(str(tokenizer.decode([ids[at]])) for at in beside)
    return texts, int((beside < patches.min()).sum())
