"""Ask a model about one picture and keep where it looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel, TokenStep, trace_of
from gazelab.attention.maps import display_scale
from gazelab.attention.trace_store import TraceWriter
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, encode_png
from gazelab.pipeline.map_choice import MapChoice

HEAT_STOPS = np.array([[255, 247, 188], [254, 217, 118], [253, 141, 60], [227, 74, 51], [128, 0, 38]], float)
HEAT_OPACITY = 0.75


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
    """Answer a question and write the trace and a heat map into a folder.

    Parameters
    ----------
    model : AttentionModel
    picture : Picture
    question : str
    out : Path
        Folder for `attention_*.safetensors` and the PNG beside it.
    choice : MapChoice
        What the heat map is made of.
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
    heat = path.with_suffix(".png")
    try:
        heat.write_bytes(encode_png(overlay(picture, chosen)))
    except OSError as fault:
        raise AttentionError(
            f"the heat map cannot be written ({fault.strerror}).", where=heat, todo="Choose another --out."
        ) from fault
    return Attended(trace, chosen, (path, path.with_suffix(".json"), heat))


def overlay(picture: Picture, chosen: AttentionMap) -> NDArray[np.uint8]:
    """Lay a map over its picture by the patches' exact rectangles; opacity grows with the weight.

    Returns
    -------
    numpy.ndarray, shape (height, width, 3), uint8
    """
    density = chosen.grid.paint(np.nan_to_num(chosen.values), picture.height_px, picture.width_px)
    scaled = display_scale(density)
    place = np.linspace(0, 1, len(HEAT_STOPS))
    colour = np.stack([np.interp(scaled, place, HEAT_STOPS[:, c]) for c in range(3)], -1)
    alpha = (scaled * HEAT_OPACITY)[..., None]
    out: NDArray[np.uint8] = np.round(picture.rgb * (1 - alpha) + colour * alpha).astype(np.uint8)
    return out
