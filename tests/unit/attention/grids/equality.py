"""The tap beside what the library itself gives, for any family's tiny checkpoint in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image

from gazelab.attention.decoder import can_be_tapped, decoder_of
from gazelab.attention.generation import generate_answer
from gazelab.attention.grids.family import Asked
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.attention.implementations import RestoredImplementations, attention_implementations
from gazelab.attention.rows import predicting_row
from gazelab.attention.tap import AttentionTap
from gazelab.core.picture import Picture

QUESTION = "What is the value of April?"
EXACT, STORED = 1e-6, 5e-4
"""Float32 against eager attention; and what the float16 of a trace may lose."""


def check_equality(
    model: HuggingFaceModel, picture: Picture, question: str = QUESTION, n_tokens: int = 5
) -> Asked:
    """Assert that the streamed look is the library's own attention, and that nothing is left of the tap.

    Every row from the one that predicts the first token to the one that predicts the last; columns of every
    view, all other keys, and the shares.
    """
    hf, asked = model.checkpoint.model, model.ask(picture, question)
    columns = np.concatenate([c.ravel() for c in asked.columns])
    plain = generate_answer(hf, model.checkpoint.tokenizer, asked.tensors, n_tokens)
    eager, eager_ids = _eager_rows(model, asked, n_tokens)
    before = _state(hf)  # now: the library leaves hooks of its own when it is asked for weights
    with AttentionTap(
        hf,
        rows=slice(predicting_row(asked.prompt_length, 0), None),
        picture=columns,
        kind=model.checkpoint.family.kind,
        method="interface" if can_be_tapped(hf) else "eager",
    ) as tap:
        tapped = generate_answer(hf, model.checkpoint.tokenizer, asked.tensors, n_tokens)
    assert len(plain) > 1, "a check of one token would not see a generated token's row"
    assert tapped == plain == eager_ids[: len(plain)]
    assert tap.rows == tuple(predicting_row(asked.prompt_length, k) for k in range(len(eager)))
    for row, whole in zip(tap.captured, eager, strict=True):
        assert row.layers == model.layers
        beside = np.setdiff1d(np.arange(whole.shape[-1]), columns)
        np.testing.assert_allclose(row.weights, whole[..., columns], atol=EXACT, rtol=0)
        np.testing.assert_allclose(row.text_weights, whole[..., beside], atol=EXACT, rtol=0)
        total = row.weights.sum(-1) + row.text_share + row.sink_share
        np.testing.assert_allclose(total, 1, atol=1e-5)
    assert _state(hf) == before
    _check_stream(model, picture, question, plain, eager, asked)
    assert _state(hf) == before
    return asked


def check_input(
    model: HuggingFaceModel,
    processor: Any,
    picture: Picture,
    question: str = QUESTION,
    text: str | None = None,
    **options: Any,
) -> None:
    """Assert that the input is, to the last number, what the family's own processor makes.

    Parameters
    ----------
    processor
        Of the library, made of the checkpoint's tokenizer and picture processor.
    text : str, optional
        The prompt as the user of that processor writes it; from the chat template by default.
    options
        Of the processor's call.
    """
    if text is None:
        asked = f"{question}\n{model.instruction}"
        content = [{"type": "image"}, {"type": "text", "text": asked}]
        text = model.checkpoint.tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
    bos = model.checkpoint.tokenizer.bos_token
    if bos and text.startswith(bos):
        options["add_special_tokens"] = False  # as the library's `apply_chat_template` does
    image = Image.fromarray(picture.rgb)
    theirs = dict(processor(text=[text], images=[image], return_tensors="pt", **options))
    theirs.pop("labels", None)  # for training
    ours = model.ask(picture, question).tensors
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        assert torch.equal(ours[name], value), name


def _check_stream(
    model: HuggingFaceModel,
    picture: Picture,
    question: str,
    plain: list[int],
    eager: list[Any],
    asked: Asked,
) -> None:
    """Each view of each streamed token is the eager row at that view's columns, to float16."""
    steps = list(model.stream(picture, question, len(plain)))
    assert [step.token_id for step in steps] == plain
    if asked.mixing is not None:
        return  # the row is spread over the patches; its own family's test says how
    for step, whole in zip(steps, eager, strict=False):
        looks = (step.weights, *step.other_weights)
        for view, look, columns in zip(asked.layout.views, looks, asked.columns, strict=True):
            assert look.shape[2:] == (view.grid.rows, view.grid.cols)
            np.testing.assert_allclose(look, whole[..., columns], atol=STORED)


@torch.no_grad()
def _eager_rows(model: HuggingFaceModel, asked: Asked, n_tokens: int) -> tuple[list[Any], list[int]]:
    """The library's own weights at each predicting row, (layer, head, key), and the tokens of that run."""
    hf, cross = model.checkpoint.model, model.checkpoint.family.kind == "cross"
    decoder, restored = decoder_of(hf), RestoredImplementations(hf)
    try:
        if can_be_tapped(hf):
            decoder.set_attn_implementation("eager")
        out = hf.generate(
            **asked.tensors,
            max_new_tokens=n_tokens,
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            no_repeat_ngram_size=0,
            output_attentions=True,
            return_dict_in_generate=True,
        )
    finally:
        restored.restore()
    steps = out.cross_attentions if cross else out.get("attentions", out.get("decoder_attentions"))
    ids = out.sequences[0].tolist()
    rows = []
    for k, layers in enumerate(steps):
        n_keys = layers[0].shape[-1] if cross else predicting_row(asked.prompt_length, k) + 1
        rows.append(np.stack([_padded(layer[0, :, -1].float().numpy(), n_keys) for layer in layers]))
    return rows, ids[-len(steps) :]


def _padded(row: Any, n_keys: int) -> Any:
    """A sliding-window layer's cached step holds the last keys only."""
    return np.pad(row, ((0, 0), (n_keys - row.shape[-1], 0)))


def _state(hf: Any) -> tuple[Any, ...]:
    """What a tap could leave behind: kernels and hooks."""
    hooks = sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) + len(module._backward_hooks)
        for module in hf.modules()
    )
    return attention_implementations(hf), hooks, hf.training
