"""Ask a model about one picture and keep where it looked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gazelab.attention.base import AttentionModel, TokenStep, trace_of
from gazelab.attention.causal import CausalCheck, causal_check
from gazelab.attention.trace_store import TraceWriter
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, encode_png
from gazelab.pipeline.attend_pictures import contact_sheet, overlay
from gazelab.pipeline.map_choice import MapChoice


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
    check: Callable[[int, int], None] | None = None,
) -> Attended:
    """Answer a question, and write the trace and pictures of it into a folder.

    Parameters
    ----------
    model : AttentionModel
    picture : Picture
    question : str
    out : Path
        Folder for `attention_*.safetensors`, its description as JSON, and the PNG files beside them: the map
        of the whole answer, one of each token, and a sheet with one map a layer.
    choice : MapChoice
        What the maps are made of.
    max_tokens : int
    on_token : callable, optional
        Called with each token as soon as it is known.
    check : callable, optional
        Blank the patches that were looked at, and as many others, and see what becomes of the answer; called
        with (passes done, passes in all). What was found is written beside the trace as JSON.

    Raises
    ------
    AttentionError
        The model fails, or the files cannot be written.
    """
    choice.check(model)
    head = model.head(picture, question)
    steps: list[TokenStep] = []
    with TraceWriter(out, head) as writer:
        for step in model.stream(picture, question, max_tokens):
            steps.append(step)
            writer.append(step)
            if on_token is not None:
                on_token(step)
        path = writer.finish(model.answer_text(steps))
    trace = trace_of(head, steps, model.answer_text(steps))
    chosen = choice.of_model(model, picture, question, trace) if choice.needs_model else choice.of(trace)
    files = [path, path.with_suffix(".json"), *_draw(path, picture, trace, choice, chosen)]
    told = [trace.note] if trace.note else []
    if check is not None:
        found = causal_check(model, picture, question, chosen, max_tokens=max_tokens, progress=check)
        told.append(found.sentence())
        files.append(_write(path.with_name(f"{path.stem}_check.json"), _json(found)))
    return Attended(trace, chosen, tuple(files), tuple(told))


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


def _draw(
    path: Path, picture: Picture, trace: AttentionTrace, choice: MapChoice, chosen: AttentionMap
) -> list[Path]:
    """Write the pictures beside a trace; those that an earlier, longer answer left go."""
    stem = path.with_suffix("")
    for old in path.parent.glob(f"{stem.name}_token*.png"):
        old.unlink(missing_ok=True)
    pictures = {"answer": overlay(picture, chosen)}
    if len(trace.tokens) > 1 and choice.tokens is None and not choice.needs_model:
        for i in range(len(trace.tokens)):
            pictures[f"token{i:02}"] = overlay(picture, replace(choice, tokens=(i,)).of(trace))
    pictures["layers"] = contact_sheet(picture, trace, choice)
    return [
        _write(path.parent / f"{stem.name}_{name}.png", encode_png(rgb)) for name, rgb in pictures.items()
    ]


def _json(found: CausalCheck) -> bytes:
    return json.dumps(found.to_json(), ensure_ascii=False, indent=1).encode()


def _write(path: Path, content: bytes) -> Path:
    try:
        path.write_bytes(content)
    except OSError as fault:
        raise AttentionError(
            f"it cannot be written ({fault.strerror}).", where=path, todo="Choose another --out."
        ) from fault
    return path
