"""Ask a model about one picture and keep where it looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel, TokenStep, trace_of
from gazelab.attention.trace_store import TraceWriter
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, encode_png
from gazelab.pipeline.attend_pictures import contact_sheet, overlay
from gazelab.pipeline.map_choice import MapChoice


@dataclass(frozen=True, eq=False)
class Attended:
    """An answer, the trace behind it, and the files written."""

    trace: AttentionTrace
    map: AttentionMap
    files: tuple[Path, ...]


def attend(
    model: AttentionModel,
    picture: Picture,
    question: str,
    out: Path,
    choice: MapChoice,
    max_tokens: int,
    on_token: Callable[[TokenStep], None] | None = None,
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
    chosen = choice.of(trace)
    drawn = _draw(path, picture, trace, choice, chosen)
    return Attended(trace, chosen, (path, path.with_suffix(".json"), *drawn))


def _draw(
    path: Path, picture: Picture, trace: AttentionTrace, choice: MapChoice, chosen: AttentionMap
) -> list[Path]:
    """Write the pictures beside a trace; those that an earlier, longer answer left go."""
    stem = path.with_suffix("")
    for old in path.parent.glob(f"{stem.name}_token*.png"):
        old.unlink(missing_ok=True)
    pictures = {"answer": overlay(picture, chosen)}
    if len(trace.tokens) > 1 and choice.tokens is None:
        for i in range(len(trace.tokens)):
            pictures[f"token{i:02}"] = overlay(picture, replace(choice, tokens=(i,)).of(trace))
    pictures["layers"] = contact_sheet(picture, trace, choice)
    return [_write_png(path.parent / f"{stem.name}_{name}.png", rgb) for name, rgb in pictures.items()]


def _write_png(path: Path, rgb: NDArray[np.uint8]) -> Path:
    try:
        path.write_bytes(encode_png(rgb))
    except OSError as fault:
        raise AttentionError(
            f"the heat map cannot be written ({fault.strerror}).", where=path, todo="Choose another --out."
        ) from fault
    return path
