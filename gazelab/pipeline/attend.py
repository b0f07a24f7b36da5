"""Ask a model about one picture and keep where it looked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel, TokenStep, TraceHead, trace_of
from gazelab.attention.causal import CheckPlan, causal_check
from gazelab.attention.combined import views_chosen
from gazelab.attention.given import given_answer
from gazelab.attention.trace_store import TraceWriter, save_trace
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, encode_png
from gazelab.pipeline.attend_pictures import contact_sheet, overlay
from gazelab.pipeline.causal_pictures import check_picture
from gazelab.pipeline.map_choice import MapChoice
from gazelab.pipeline.map_line import map_line


@dataclass(frozen=True, eq=False)
class Attended:
    """An answer, the trace behind it, and the files written.

    Attributes
    ----------
    told : tuple of str
        What a reader must know of it, a sentence each.
    """

    trace: AttentionTrace
    map: AttentionMap
    files: tuple[Path, ...]
    told: tuple[str, ...] = ()


def attend(
    model: AttentionModel,
    picture: Picture,
    question: str,
    out: Path,
    choice: MapChoice,
    max_tokens: int,
    on_token: Callable[[TokenStep], None] | None = None,
    check: CheckPlan | None = None,
    on_pass: Callable[[int, int], None] = lambda done, total: None,
    answer: str | None = None,
) -> Attended:
    """Answer a question, and write the trace and pictures of it into a folder.

    Parameters
    ----------
    model : AttentionModel
    picture : Picture
    question : str
    out : Path
        Folder for `attention_*.safetensors`, its description as JSON, the map of the answer as JSON with how
        it was made, and PNG files: the map of the whole answer, one of each token, and a sheet with one map a
        layer.
    choice : MapChoice
        What the maps are made of.
    max_tokens : int
    on_token : callable, optional
        Called with each token as soon as it is known.
    check : CheckPlan, optional
        Blank the patches that were looked at, and as many others, and see what becomes of the answer. What
        was found is written beside the trace, as JSON and as a picture.
    on_pass : callable
        Called with (passes of the check done, passes at most).
    answer : str, optional
        Put into the model's mouth in place of its own; its files go into a folder of their own, so that those
        of the model's answer stay.

    Raises
    ------
    AttentionError
        The model fails or gives no token at all, or the files cannot be written.
    """
    choice.check(model)
    head = model.head(picture, question)
    views_chosen([head.view, *(name for name, _ in head.other_grids)], choice.view)
    if answer is None:
        steps = model.stream(picture, question, max_tokens)
        trace, path = _asked(model, head, steps, out, on_token)
    else:
        trace = given_answer(model, picture, question, answer)
        path = save_trace(out / f"given_{hashlib.sha256(answer.encode()).hexdigest()[:8]}", trace)
    first, choice = choice, choice.at_first(trace.made_with)
    chosen = choice.of_model(model, picture, question, trace) if choice.needs_model else choice.of(trace)
    _remove_earlier(path)
    kept = _write(path.with_name(f"{path.stem}_map.json"), _map_json(chosen))
    files = [path, path.with_suffix(".json"), kept, *_draw(path, picture, trace, choice, chosen, first)]
    told = [*([trace.note] if trace.note else []), map_line(chosen)]
    if choice is not first:
        told.append("That is the head which the model's card names; --layers and --heads choose others.")
    if check is not None:
        found = causal_check(model, picture, question, chosen, check, max_tokens=max_tokens, progress=on_pass)
        told.append(found.sentence())
        drawn = encode_png(check_picture(picture, chosen, found))
        files.append(_write(path.with_name(f"{path.stem}_check.json"), _json(found.to_json())))
        files.append(_write(path.with_name(f"{path.stem}_check.png"), drawn))
    return Attended(trace, chosen, tuple(files), tuple(told))


def _asked(
    model: AttentionModel,
    head: TraceHead,
    stream: Iterable[TokenStep],
    out: Path,
    on_token: Callable[[TokenStep], None] | None,
) -> tuple[AttentionTrace, Path]:
    """Write each token as it comes."""
    steps: list[TokenStep] = []
    with TraceWriter(out, head) as writer:
        for step in stream:
            steps.append(step)
            writer.append(step)
            if on_token is not None:
                on_token(step)
        if not steps:
            raise AttentionError(
                "it ended its answer at once, so there is nothing to map.",
                where=model.model_id,
                todo="Ask another question.",
            )
        path = writer.finish(model.answer_text(steps))
    return trace_of(head, steps, model.answer_text(steps)), path


def memory_line(model: AttentionModel, picture: Picture, question: str, max_tokens: int) -> str | None:
    """Say what a checkpoint's answer will take of the memory, before it runs; None for the embedded model.

    Raises
    ------
    AttentionError
        There is no room; says what to lower.
    """
    estimate = getattr(model, "memory", None)
    if estimate is None:
        return None
    needed = estimate(picture, question, max_tokens)
    needed.refuse_if_too_large(model.model_id)
    return f"{model.model_id} {needed.text()}"


def _remove_earlier(path: Path) -> None:
    """Remove what an earlier run found of the same question: it may be of a longer answer or another map."""
    for pattern in ("_token*.png", "_check.*"):
        for old in path.parent.glob(f"{path.stem}{pattern}"):
            old.unlink(missing_ok=True)


def _draw(
    path: Path,
    picture: Picture,
    trace: AttentionTrace,
    choice: MapChoice,
    chosen: AttentionMap,
    of_sheet: MapChoice,
) -> list[Path]:
    """Write the pictures beside a trace, each before the next is drawn: those of a large chart are large."""
    drawn = _pictures(picture, trace, choice, chosen, of_sheet)
    return [_write(path.with_name(f"{path.stem}_{name}.png"), encode_png(rgb)) for name, rgb in drawn]


def _pictures(
    picture: Picture, trace: AttentionTrace, choice: MapChoice, chosen: AttentionMap, of_sheet: MapChoice
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    yield "answer", overlay(picture, chosen)
    if len(trace.tokens) > 1 and choice.tokens is None and not choice.needs_model:
        for i in range(len(trace.tokens)):
            yield f"token{i:02}", overlay(picture, replace(choice, tokens=(i,)).of(trace))
    yield "layers", contact_sheet(picture, trace, of_sheet)


def _map_json(made: AttentionMap) -> bytes:
    """Write a map, its grid and every choice; `values` is null where nothing fell on the picture."""
    grid = made.grid
    finite = np.isfinite(made.values).all()
    plain = {
        "how": made.how,
        "picture_share": made.picture_share if np.isfinite(made.picture_share) else None,
        "values": made.values.tolist() if finite else None,
        "x_edges_px": grid.x_edges_px.tolist(),
        "y_edges_px": grid.y_edges_px.tolist(),
        "picture_width_px": grid.picture_width_px,
        "picture_height_px": grid.picture_height_px,
    }
    return _json(plain)


def _json(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False).encode()


def _write(path: Path, content: bytes) -> Path:
    try:
        path.write_bytes(content)
    except OSError as fault:
        raise AttentionError(
            f"it cannot be written ({fault.strerror}).", where=path, todo="Choose another --out."
        ) from fault
    return path
