"""Every token's vector at every depth of a Hugging Face model, in three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.attention.forced import forced_inputs
from gazelab.attention.grids.family import Asked
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.attention.study.components import principal_components, turned_to
from gazelab.attention.study.records import TokenCloud
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

NOTE = "Each vector is scaled to one length first. Only what three dimensions hold is seen."


def token_cloud(
    model: HuggingFaceModel,
    picture: Picture,
    question: str,
    answer_ids: tuple[int, ...],
    check: Callable[[], None] = lambda: None,
) -> TokenCloud:
    """Read prompt and answer in one pass, and lay out the vectors of words and patches, depth by depth.

    Of an encoder-decoder model the vectors are the encoder's: picture and question meet there.

    Parameters
    ----------
    model, picture, question, answer_ids
        As in `gazelab.attention.study.text.text_study`.
    check : callable
        Called at each depth; may raise to stop.

    Raises
    ------
    AttentionError
        There is no answer, or the model gives no vectors.
    """
    if not answer_ids:
        raise AttentionError("there is no answer to look into.", todo="Ask the model first.")
    asked = model.ask(picture, question)
    given, _ = forced_inputs(model.checkpoint.model, asked.tensors, list(answer_ids))
    with torch.inference_mode():
        out = model.checkpoint.model(**given, output_hidden_states=True)
    states = _states(out, model.kind)
    if not states:
        raise AttentionError("it gives no vectors of its layers.", where=model.model_id)
    n = states[0].shape[-2]
    tokenizer, said = model.checkpoint.tokenizer, answer_ids[:-1] if model.kind == "self" else ()
    texts, patch = _named(asked, n, [str(tokenizer.decode([token])) for token in said])
    vectors = (state.reshape(-1, n, state.shape[-1])[0].float().cpu().numpy() for state in states)
    return cloud_of(vectors, texts, patch, NOTE, check)


def cloud_of(
    vectors: Any, texts: Sequence[str], patch: NDArray[np.int64], note: str, check: Callable[[], None]
) -> TokenCloud:
    """Lay out (token, width) vectors, one array a depth, each turned to the one before."""
    points: list[NDArray[np.float32]] = []
    explained: list[float] = []
    for depth in vectors:
        check()
        found, share = principal_components(depth)
        points.append(turned_to(found, points[-1]) if points else found)
        explained.append(share)
    depths = ("input", *(f"layer {i}" for i in range(len(points) - 1)))
    return TokenCloud(depths, np.stack(points), np.asarray(explained, np.float32), tuple(texts), patch, note)


def _states(out: Any, kind: str) -> tuple[Tensor, ...]:
    inner = getattr(out, "language_model_outputs", None) or out
    name = "encoder_hidden_states" if kind == "cross" else "hidden_states"
    return tuple(getattr(inner, name, None) or ())


def _named(asked: Asked, n: int, said: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Name each position: a patch of the main view by its place, everything else by its text."""
    patch = np.full((n, 2), -1, np.int64)
    texts = [""] * n
    every = np.concatenate([view.ravel() for view in asked.columns])
    beside = np.setdiff1d(np.arange(n), every)
    for position, text in zip(beside, (*asked.prompt_tokens, *said), strict=False):
        texts[int(position)] = text
    if asked.mixing is None:
        rows, cols = np.indices(asked.columns[0].shape)
        patch[asked.columns[0]] = np.stack([rows, cols], -1)
    return texts, patch
