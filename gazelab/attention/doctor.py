"""Check a checkpoint before its maps are trusted: tap against eager, token count, an edit at each corner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel, open_model
from gazelab.attention.decoder import Kind
from gazelab.attention.eager import eager_memory_bytes
from gazelab.attention.grids.layout import Layout
from gazelab.attention.grids.proof import picture_tokens, token_changes
from gazelab.attention.huggingface import EAGER_BUDGET_BYTES, HuggingFaceModel
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import GazelabError
from gazelab.core.picture import Picture

QUESTION = "What is the largest value?"
SIZES_PX = ((853, 601), (300, 300), (1000, 300), (300, 1000))
EXACT, ROUNDED = 1e-3, 0.05
"""How far tap and eager may be apart: in float32, and in half precision, where the two kernels round
differently layer by layer."""
EDIT_PX = 12


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
    name: str, device: str = "cpu", *, dtype: str = "auto", trust_remote_code: bool = False
) -> list[Check]:
    """Check a model on this machine, with nothing but its own files and drawn pictures.

    Parameters
    ----------
    name, device, dtype, trust_remote_code
        As in `gazelab.attention.base.open_model`; nothing is fetched.

    Returns
    -------
    list of Check
        A model that cannot be opened gives one line that says why.
    """
    try:
        model = open_model(name, device, dtype=dtype, trust_remote_code=trust_remote_code)
    except GazelabError as fault:
        return [Check("opens", False, str(fault))]
    opened = Check("opens", True, f"{model.about} {len(model.layers)} layers, {model.n_heads} heads.")
    if isinstance(model, HuggingFaceModel):
        return [opened, *_hugging_face_checks(model)]
    return [opened, _run("answers", _answers, model)]


def _hugging_face_checks(model: HuggingFaceModel) -> Iterator[Check]:
    yield _run("sub-models", _sub_models, model)
    yield _run("answers", _answers, model)
    yield _run("tap = eager", _tap_equals_eager, model)
    yield _run("same answer without the tap", _same_answer, model)
    for width, height in SIZES_PX:
        yield _run(f"token count, {width} x {height} px", _token_count, model, width, height)
    for width, height in (SIZES_PX[0], SIZES_PX[2]):
        yield _run(f"corners, {width} x {height} px", _corners, model, width, height)


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


def _answers(model: AttentionModel) -> tuple[bool, str]:
    trace = model.trace(_drawn(*SIZES_PX[1]), QUESTION, 4)
    whole = trace.picture_share + trace.text_share + trace.sink_share
    off = float(np.abs(whole - 1).max()) if whole.size else float("nan")
    share = float(trace.picture_share.mean()) if whole.size else float("nan")
    return bool(off < 0.01), f"“{trace.answer}”; {share:.0%} of its attention fell on the picture."


def _tap_equals_eager(model: HuggingFaceModel) -> tuple[bool, str]:
    """Compare the last rows of one pass with the library's own eager attention."""
    hf = model.checkpoint.model
    asked = model.ask(_drawn(*SIZES_PX[1]), QUESTION)
    n_tokens = sum(columns.size for columns in asked.columns) + len(asked.prompt_tokens)
    needed = eager_memory_bytes(hf, n_tokens)
    if needed > EAGER_BUDGET_BYTES:
        return False, f"not tried: eager attention over {n_tokens} tokens needs {needed / 1e9:.1f} GB."
    kind = model.checkpoint.family.kind
    tapped, eager = (_last_rows(hf, asked.tensors, kind, method) for method in ("interface", "eager"))
    apart = np.abs(tapped - eager)
    first, moved = float(apart[:, 0].max()), float(apart.sum(-1).mean() / 2)
    limit = EXACT if hf.dtype == torch.float32 else ROUNDED
    return first <= limit and moved <= limit, (
        f"first layer {first:.2g} apart at most, {moved:.2g} of the weight elsewhere over all layers"
        f" (limit {limit:g}, {hf.dtype})."
    )


def _last_rows(
    hf: Any, tensors: dict[str, torch.Tensor], kind: Kind, method: Literal["interface", "eager"]
) -> Any:
    with AttentionTap(hf, rows=slice(-4, None), kind=kind, method=method) as tap, torch.inference_mode():
        hf(**tensors)
    return tap.weights


def _same_answer(model: HuggingFaceModel) -> tuple[bool, str]:
    picture = _drawn(*SIZES_PX[1])
    tapped = model.trace(picture, QUESTION, 8).answer
    plain = model.untapped_answer(model.ask(picture, QUESTION), 8)
    return tapped == plain, f"“{tapped}” with the tap, “{plain}” without."


def _token_count(model: HuggingFaceModel, width: int, height: int) -> tuple[bool, str]:
    picture = _drawn(width, height)
    asked = model.ask(picture, QUESTION)
    made = _picture_inputs(model, picture)
    given = len(picture_tokens(model.checkpoint.family, model.checkpoint.model, made))
    grid = asked.layout.grid
    return (
        given == asked.layout.n_tokens,
        f"{given} tokens made, {asked.layout.n_tokens} in the prompt, grid {grid.rows} x {grid.cols}.",
    )


def _corners(model: HuggingFaceModel, width: int, height: int) -> tuple[bool, str]:
    """Edit the picture near each corner and in the middle, and watch which token changes most."""
    picture = _drawn(width, height)
    layout = model.ask(picture, QUESTION).layout
    half = EDIT_PX // 2
    spots = [(x, y) for x in (half, width - half) for y in (half, height - half)]
    spots.append((width // 2 + half, height // 2 + half))
    edited = []
    for x_px, y_px in spots:
        pixels = picture.rgb.copy()
        pixels[y_px - half : y_px + half, x_px - half : x_px + half] = 255
        edited.append(_picture_inputs(model, Picture.from_rgb(pixels)))
    parts = model.checkpoint
    changes = token_changes(parts.family, parts.model, _picture_inputs(model, picture), edited)
    rows, cols = layout.grid.locate(*zip(*spots, strict=True))
    wrong = [
        f"{spot} px {fault}"
        for spot, row, col, change in zip(spots, rows, cols, changes, strict=True)
        if (fault := _misplaced(layout, int(row), int(col), change))
    ]
    return not wrong, "; ".join(wrong) or f"{len(spots)} edits, each changed the token of its own patch."


def _misplaced(layout: Layout, row: int, col: int, change: NDArray[np.float64]) -> str:
    """Say what is wrong if an edit in a cell of the main view changes another of that view's tokens most."""
    tokens = layout.token.ravel()
    found = int(tokens[change[tokens].argmax()])
    if row < 0 or col < 0:  # the grid says that the model does not see this place
        return f"changes token {found}, though no cell is there" if change[found] > 0 else ""
    expected = int(layout.token[row, col])
    if change[found] == 0:
        return f"changes nothing, not even token {expected}"
    return "" if found == expected else f"changes token {found}, not {expected}"


def _picture_inputs(model: HuggingFaceModel, picture: Picture) -> dict[str, torch.Tensor]:
    text = {"input_ids", "attention_mask", "mm_token_type_ids"}
    asked = model.ask(picture, QUESTION)
    return {name: value for name, value in asked.tensors.items() if name not in text}


def _drawn(width: int, height: int) -> Picture:
    """Draw a grey picture with texture: no two patches are alike."""
    pixels = np.random.default_rng(width).integers(80, 176, (height, width, 3), np.uint8)
    return Picture.from_rgb(pixels)
