"""Attention to a given answer: prompt and answer read in one pass, each token's predicting row kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, DTypeLike, NDArray
from torch import Tensor
from transformers.utils import ModelOutput

from gazelab.attention.base import trace_of
from gazelab.attention.captured import TapRow
from gazelab.attention.decoder import Kind, can_be_tapped
from gazelab.attention.generation import TOP, token_text
from gazelab.attention.huggingface import HuggingFaceModel, step_of
from gazelab.attention.memory import told
from gazelab.attention.rows import predicting_row
from gazelab.attention.tap import AttentionTap
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


@dataclass(frozen=True, eq=False)
class ForcedAnswer:
    """How a model looks, and what it expects, while a given answer is put into its mouth.

    Attributes
    ----------
    rows : tuple of TapRow
        One a token of the answer: the row that predicts it.
    probability : numpy.ndarray, shape (token,), float32
        Of each token of the answer, given those before it.
    best, best_probability : numpy.ndarray, shape (token, rank)
        Ids of the most probable tokens in each place, the likeliest first, and their probabilities: the first
        is what the model itself would have said.
    """

    rows: tuple[TapRow, ...]
    probability: NDArray[np.float32]
    best: NDArray[np.int64]
    best_probability: NDArray[np.float32]


def forced_answer(
    model: Any,
    tensors: Mapping[str, Tensor],
    answer_ids: Sequence[int],
    *,
    picture: ArrayLike | None = None,
    kind: Kind = "self",
    method: Literal["interface", "eager"] = "interface",
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    dtype: DTypeLike = np.float32,
    on_row: Callable[[TapRow], None] | None = None,
) -> ForcedAnswer:
    """Read a prompt and a given answer in one pass (teacher forcing).

    The rows are those of a generation that happens to give this answer.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    tensors : mapping
        What `model.generate` takes, batch 1: `input_ids` and what the picture became. Of an encoder-decoder
        they go into the encoder; its decoder begins with `decoder_input_ids` or the model's start token.
    answer_ids : sequence of int
        Token ids of the answer, one or more.
    picture, kind, method, layers, heads, dtype, on_row
        As in `gazelab.attention.tap.AttentionTap`.

    Raises
    ------
    AttentionError
        The answer is empty, the model cannot be tapped, or memory runs out.
    """
    if not answer_ids:
        raise AttentionError("an answer without tokens cannot be read.")
    given, length = forced_inputs(model, tensors, list(answer_ids))
    rows = slice(predicting_row(length, 0), predicting_row(length, len(answer_ids)))
    tap = AttentionTap(
        model,
        rows,
        layers,
        heads=heads,
        picture=picture,
        kind=kind,
        method=method,
        dtype=dtype,
        on_row=on_row,
    )
    with told(model), tap, torch.inference_mode():
        expected = model(**given).logits[0, -len(answer_ids) :].float().softmax(-1)
        said = torch.as_tensor(list(answer_ids), device=expected.device)[:, None]
        best = expected.topk(min(TOP, expected.shape[-1]))
    return ForcedAnswer(
        tuple(tap.captured),
        expected.gather(1, said)[:, 0].cpu().numpy(),
        best.indices.cpu().numpy(),
        best.values.cpu().numpy(),
    )


def forced_trace(model: HuggingFaceModel, picture: Picture, question: str, answer: str) -> AttentionTrace:
    """Ask a question, give the answer too, and keep the whole look as if the model had said it.

    Parameters
    ----------
    model : HuggingFaceModel
    picture : Picture
    question : str
    answer : str
        Read exactly as it is: a space before the first word, where the model would write one, counts.

    Raises
    ------
    AttentionError
        As `forced_answer`.
    """
    asked, parts = model.ask(picture, question), model.checkpoint
    ids = [int(i) for i in parts.tokenizer(answer, add_special_tokens=False)["input_ids"]]
    forced = forced_answer(
        parts.model,
        asked.tensors,
        ids,
        picture=np.concatenate([columns.ravel() for columns in asked.columns]),
        kind=parts.family.kind,
        method="interface" if can_be_tapped(parts.model) else "eager",
        dtype=np.float16,
    )
    steps = []
    for k, row in enumerate(forced.rows):
        top = tuple(
            (str(parts.tokenizer.decode([int(token)])), float(probability))
            for token, probability in zip(forced.best[k], forced.best_probability[k], strict=True)
        )
        steps.append(step_of(asked, row, token_text(parts.tokenizer, ids[:k], ids[k]), ids[k], top))
    head = model.head(picture, question)
    note = f"{head.note} The answer was given, not generated.".strip()
    return trace_of(replace(head, note=note), steps, answer)


def forced_inputs(
    model: Any, tensors: Mapping[str, Tensor], answer_ids: list[int]
) -> tuple[dict[str, Any], int]:
    """Add an answer, without its last token, to what goes in; and give the prompt's length.

    Returns
    -------
    inputs : dict
        For the model's `forward`; logits are asked for the answer's tokens only.
    length : int
        Positions before the answer.
    """
    crosses = bool(getattr(model.config, "is_encoder_decoder", False))
    name = "decoder_input_ids" if crosses else "input_ids"
    given = dict(tensors)
    if crosses and name not in given:
        given[name] = torch.tensor([[_start(model)]], device=model.device)
    prompt = given.pop(name)
    read = answer_ids[:-1]
    for _ in read:
        # The family's own rule of what a token of an answer is: its mask, its type, its position.
        given = model._update_model_kwargs_for_generation(ModelOutput(), given, crosses)
    given[name] = torch.cat([prompt, torch.tensor([read], dtype=prompt.dtype, device=prompt.device)], 1)
    more: dict[str, Any] = {"use_cache": False}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        more["logits_to_keep"] = len(answer_ids)
    return {**given, **more}, int(prompt.shape[1])


def _start(model: Any) -> int:
    """Give the token that a decoder begins with, as `generate` chooses it."""
    settings = (model.generation_config, model.config)
    for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"):
        for told_by in settings:
            if (token := getattr(told_by, name, None)) is not None:
                return int(token)
    raise AttentionError("it tells no token that an answer begins with.", where=type(model).__name__)
