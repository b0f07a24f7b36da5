"""Token by token attention of question and answer, of a Hugging Face model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gazelab.attention.captured import TapRow
from gazelab.attention.forced import forced_inputs
from gazelab.attention.grids.family import Asked
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.attention.study.records import TextStudy
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

CROSS_NOTE = (
    "This model reads the picture and the question with an encoder; its answer's words are shown among"
    " themselves."
)


def text_study(
    model: HuggingFaceModel, picture: Picture, question: str, answer_ids: tuple[int, ...]
) -> TextStudy:
    """Read prompt and answer in one pass, and keep the rows of the words.

    Parameters
    ----------
    model : HuggingFaceModel
    picture, question
        As they were asked.
    answer_ids : tuple of int
        The answer's tokens (`AttentionTrace.token_ids`).

    Raises
    ------
    AttentionError
        There is no answer, or the model cannot be tapped.
    """
    asked = model.ask(picture, question)
    given, positions, columns = _read(model, asked, answer_ids)
    tap = AttentionTap(model.checkpoint.model, rows=positions, picture=columns, dtype=np.float16)
    with tap, torch.inference_mode():
        model.checkpoint.model(**given)
    layers, heads = tap.captured[0].weights.shape[:2]
    weights = np.zeros((layers, heads, len(positions), len(positions)), np.float16)
    share = np.zeros((layers, heads, len(positions)), np.float32)
    for i, row in enumerate(tap.captured):
        text = _text_of(row)
        weights[:, :, i, : text.shape[-1]] = text[..., : len(positions)]
        share[..., i] = row.weights.sum(-1, dtype=np.float32)
    crosses = model.kind == "cross"
    return TextStudy(
        _tokens(model, asked, answer_ids),
        1 if crosses else len(asked.prompt_tokens),
        0 if crosses else asked.picture_at,
        tap.layers,
        weights,
        share,
        CROSS_NOTE if crosses else "",
    )


def text_scores(
    model: HuggingFaceModel,
    picture: Picture,
    question: str,
    answer_ids: tuple[int, ...],
    layer: int,
    head: int,
) -> NDArray[np.float32]:
    """Give one head's scores q·k before the softmax, in the order of `text_study`'s tokens.

    Returns
    -------
    numpy.ndarray, shape (query, key), float32
        Scaled as the model scales them; -inf where a token may not look. The softmax runs over the picture's
        tokens too, so that it cannot be redone from these alone.
    """
    asked = model.ask(picture, question)
    given, positions, _ = _read(model, asked, answer_ids)
    tap = AttentionTap(
        model.checkpoint.model, rows=positions, layers=[layer], heads=[head], before_softmax=True
    )
    with tap, torch.inference_mode():
        model.checkpoint.model(**given)
    out = np.full((len(positions), len(positions)), -np.inf, np.float32)
    for i, row in enumerate(tap.captured):
        there = [k for k in positions if k < row.weights.shape[-1]]
        out[i, : len(there)] = row.weights[0, 0, there]
    return out


def _read(
    model: HuggingFaceModel, asked: Asked, answer_ids: tuple[int, ...]
) -> tuple[dict[str, Any], list[int], NDArray[np.int64]]:
    """Give the model's input, the words' positions, and the picture's, in the decoder's sequence."""
    if not answer_ids:
        raise AttentionError("there is no answer to look into.", todo="Ask the model first.")
    given, length = forced_inputs(model.checkpoint.model, asked.tensors, list(answer_ids))
    total = length + len(answer_ids) - 1
    if model.kind == "cross":
        return given, list(range(total)), np.zeros(0, np.int64)
    columns = np.concatenate([view.ravel() for view in asked.columns])
    return given, np.setdiff1d(np.arange(total), columns).tolist(), columns


def _tokens(model: HuggingFaceModel, asked: Asked, answer_ids: tuple[int, ...]) -> tuple[str, ...]:
    tokenizer = model.checkpoint.tokenizer
    said = tuple(str(tokenizer.decode([token])) for token in answer_ids[:-1])
    return ("<start>", *said) if model.kind == "cross" else (*asked.prompt_tokens, *said)


def _text_of(row: TapRow) -> NDArray[Any]:
    if row.text_weights is None:
        raise TypeError("a row without its text columns")
    return row.text_weights
