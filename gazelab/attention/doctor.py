"""Check a checkpoint before its maps are trusted: tap against eager, token count, a mark at each corner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from gazelab.attention.base import AttentionModel, open_model
from gazelab.attention.captured import TapRow
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.decoder import can_be_tapped
from gazelab.attention.doctor_corners import QUESTION, check_corners, drawn, picture_part
from gazelab.attention.eager import eager_memory_bytes
from gazelab.attention.generation import generate_answer
from gazelab.attention.grids.family import Asked
from gazelab.attention.grids.proof import picture_tokens
from gazelab.attention.huggingface import EAGER_BUDGET_BYTES, HuggingFaceModel
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.memory import estimate
from gazelab.attention.prompt import special_tokens
from gazelab.attention.rows import predicting_row
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import GazelabError

SIZES_PX = ((853, 601), (1000, 300), (300, 1000), (200, 200), (64, 900))
"""A chart as in ChartQA, wide, tall, small, and a strip."""
ASKED_PX = (200, 200)
TOKENS = 8
EXACT, ROUNDED = 1e-3, 0.05
"""How far tap and eager may be apart: in float32, and in half precision, where the two kernels round
differently layer by layer."""


class Check(NamedTuple):
    """One line of the report.

    Attributes
    ----------
    check : str
        What was looked at.
    ok : bool
    detail : str
        The measured figures, or why it failed.
    """

    check: str
    ok: bool
    detail: str


def check_model(
    name: str,
    device: str = "cpu",
    *,
    dtype: str = "auto",
    trust_remote_code: bool = False,
    options: ModelOptions | None = None,
    tell: Callable[[Check], None] = lambda check: None,
) -> list[Check]:
    """Check a model on this machine, with nothing but its own files and drawn pictures.

    Parameters
    ----------
    name, device, dtype, trust_remote_code
        As in `gazelab.attention.base.open_model`; nothing is fetched.
    options : ModelOptions, optional
        All of them at once, instead of those three.
    tell : callable
        Told each line as it is known: a large model takes minutes.

    Returns
    -------
    list of Check
        A model that cannot be opened gives one line that says why.
    """
    chosen = options or ModelOptions(device, dtype, trust_remote_code=trust_remote_code)
    found = []
    for check in _checks(name, chosen):
        tell(check)
        found.append(check)
    return found


def _checks(name: str, options: ModelOptions) -> Iterator[Check]:
    try:
        model = open_model(name, **options.as_arguments())
    except GazelabError as fault:
        yield Check("opens", False, str(fault))
        return
    yield Check("opens", True, f"{model.about} {len(model.layers)} layers, {model.n_heads} heads.")
    if isinstance(model, HuggingFaceModel):
        yield from _hugging_face_checks(model)
    else:
        yield _run("answers", _answers, model)


def _hugging_face_checks(model: HuggingFaceModel) -> Iterator[Check]:
    yield _run("sub-models", _sub_models, model)
    yield _run("template", _template, model)
    yield _run("memory", _memory, model)
    yield _run("answers", _answers, model)
    yield _run("tap = eager", _tap_equals_eager, model)
    yield _run("same answer without the tap", _same_answer, model)
    yield _run("special tokens in a question", _special_tokens, model)
    for width, height in SIZES_PX:
        yield _run(f"token count, {width} x {height} px", _token_count, model, width, height)
    for width, height in SIZES_PX:
        yield _run(f"corners, {width} x {height} px", check_corners, model, width, height)


def _run(check: str, measure: Callable[..., tuple[bool, str]], *arguments: Any) -> Check:
    try:
        ok, detail = measure(*arguments)
    except GazelabError as fault:
        return Check(check, False, str(fault))
    return Check(check, ok, detail)


def _sub_models(model: HuggingFaceModel) -> tuple[bool, str]:
    kernels = attention_implementations(model.checkpoint.model)
    unset = [part for part, kernel in kernels.items() if kernel is None]
    shown = ", ".join(f"{part or 'model'}: {kernel}" for part, kernel in kernels.items())
    return not unset, f"{shown}. Maps are of the language model."


def _template(model: HuggingFaceModel) -> tuple[bool, str]:
    made_with = model.checkpoint.versions()
    processor = f"{made_with['processor']} {made_with['processor_settings_sha256'][:12]}"
    family = model.checkpoint.family
    if made_with["chat_template"]:
        template = f"{made_with['chat_template_file']} {made_with['chat_template_sha256'][:12]}"
    else:
        template = "none; it is asked in its family's own words"
    needed = family.prompt is None and family.ask is None
    return bool(made_with["chat_template"]) or not needed, f"{template}; processor {processor}."


def _memory(model: HuggingFaceModel) -> tuple[bool, str]:
    asked = model.ask(drawn(*SIZES_PX[0]), QUESTION)
    needed = estimate(model.checkpoint.model, _n_keys(asked), TOKENS)
    width, height = SIZES_PX[0]
    return needed.fits, f"a question on {width} x {height} px {needed.text()}"


def _answers(model: AttentionModel) -> tuple[bool, str]:
    trace = model.trace(drawn(*ASKED_PX), QUESTION, 4)
    whole = trace.picture_share + trace.text_share + trace.sink_share
    off = float(np.abs(whole - 1).max()) if whole.size else float("nan")
    share = float(trace.picture_share.mean()) if whole.size else float("nan")
    return bool(off < 0.01), f"“{trace.answer}”; {share:.0%} of its attention fell on the picture."


def _tap_equals_eager(model: HuggingFaceModel) -> tuple[bool, str]:
    """Compare the rows of the prompt's end and of each generated token with the library's own eager ones."""
    hf = model.checkpoint.model
    asked = model.ask(drawn(*ASKED_PX), QUESTION)
    if not can_be_tapped(hf):
        return True, "it cannot be tapped and is read eagerly: there is nothing to compare."
    n_tokens = _n_keys(asked)
    needed = eager_memory_bytes(hf, n_tokens)
    if needed > EAGER_BUDGET_BYTES:
        return False, f"not tried: eager attention over {n_tokens} tokens needs {needed / 1e9:.1f} GB."
    tapped, ids = _rows(model, asked, "interface")
    eager, eager_ids = _rows(model, asked, "eager")
    alike = next((k for k, (a, b) in enumerate(zip(ids, eager_ids, strict=False)) if a != b), len(ids))
    # A row depends on the tokens before it: those of another answer are no longer the same question.
    pairs = list(zip(tapped, eager, strict=False))[: alike + 1]
    for one, other in pairs:
        if one.position != other.position:
            return False, f"the tap reads the row of position {one.position}, eager that of {other.position}."
    apart = [_apart(*pair) for pair in pairs]
    first, moved = max(a[0] for a in apart), float(np.mean([a[1] for a in apart]))
    limit = EXACT if hf.dtype == torch.float32 else ROUNDED
    return first <= limit and moved <= limit, (
        f"{len(apart)} tokens: first layer {first:.2g} apart at most, {moved:.2g} of the weight elsewhere"
        f" over all layers (limit {limit:g}, {hf.dtype})."
    )


def _rows(model: HuggingFaceModel, asked: Asked, method: Any) -> tuple[list[TapRow], list[int]]:
    parts = model.checkpoint
    tap = AttentionTap(
        parts.model,
        rows=slice(predicting_row(asked.prompt_length, 0), None),
        picture=np.concatenate([columns.ravel() for columns in asked.columns]),
        kind=parts.family.kind,
        method=method,
    )
    with tap:
        ids = generate_answer(parts.model, parts.tokenizer, asked.tensors, 4)
    return list(tap.captured), ids


def _apart(one: TapRow, other: TapRow) -> tuple[float, float]:
    """How far two rows are apart: at most in the first layer, and by how much of the weight over all."""
    if one.text_weights is None or other.text_weights is None:
        raise TypeError("rows without their text columns")
    picture = np.abs(one.weights - other.weights)
    text = np.abs(one.text_weights - other.text_weights)
    first = max(float(part[0].max(initial=0.0)) for part in (picture, text))
    return first, float((picture.sum(-1) + text.sum(-1)).mean() / 2)


def _same_answer(model: HuggingFaceModel) -> tuple[bool, str]:
    picture = drawn(*ASKED_PX)
    tapped = model.trace(picture, QUESTION, TOKENS).answer
    plain = model.untapped_answer(model.ask(picture, QUESTION), TOKENS)
    return tapped == plain, f"“{tapped}” with the tap, “{plain}” without."


def _special_tokens(model: HuggingFaceModel) -> tuple[bool, str]:
    """Ask with a special token in the question: it must not become a second picture or end the turn."""
    picture = drawn(*ASKED_PX)
    plain = model.ask(picture, QUESTION)
    specials = special_tokens(model.checkpoint.tokenizer)
    several = [special for special in specials if len(special) > 1][:20]
    for special in several:
        asked = model.ask(picture, f"{special} {QUESTION}")
        same = all(a.shape == b.shape for a, b in zip(asked.columns, plain.columns, strict=True))
        if not same or asked.layout.n_tokens < plain.layout.n_tokens // 2:
            return False, f"“{special}” in a question changes the picture's tokens."
    return True, f"{len(several)} of them, each broken up: the picture's tokens stay as they are."


def _token_count(model: HuggingFaceModel, width: int, height: int) -> tuple[bool, str]:
    picture = drawn(width, height)
    asked = model.ask(picture, QUESTION)
    parts = model.checkpoint
    given = len(picture_tokens(parts.family, parts.model, picture_part(model, picture)))
    grids = " and ".join(f"{v.name} {v.grid.rows} x {v.grid.cols}" for v in asked.layout.views)
    note = f" {asked.layout.note}" if asked.layout.note else ""
    return (
        given == asked.layout.n_tokens,
        f"{given} tokens made, {asked.layout.n_tokens} laid out, {grids}.{note}",
    )


def _n_keys(asked: Asked) -> int:
    """How many positions the picture and the prompt take."""
    return sum(columns.size for columns in asked.columns) + len(asked.prompt_tokens)
