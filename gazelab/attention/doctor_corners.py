"""Prove a checkpoint's grid on this machine: mark the corners of a picture, and see which tokens change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.grids.layout import PatchView
from gazelab.attention.grids.proof import token_changes
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.core.picture import Picture

QUESTION = "What is the largest value?"
MARKER_PX = 12
"""A marker is a white rectangle of at most so many px, and of at most half a patch along each side."""
_TEXT = (
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "mm_token_type_ids",
    "decoder_input_ids",
    "decoder_attention_mask",
)
Box = tuple[int, int, int, int]
"""left, top, right, bottom in picture px."""


def check_corners(model: HuggingFaceModel, width_px: int, height_px: int) -> tuple[bool, str]:
    """Mark a picture in each corner and near the middle, and see which token of each view changes most.

    Where the grid says that the model does not see, nothing may change, and its note must say so.

    Returns
    -------
    ok : bool
    detail : str
        How many marks landed in their patches, and how many the model does not see; or those that went wrong.
    """
    picture = drawn(width_px, height_px)
    layout = model.ask(picture, QUESTION).layout
    boxes = corner_boxes(layout.views, width_px, height_px)
    edited = [picture_part(model, marked(picture, box)) for box in boxes]
    parts = model.checkpoint
    changes = token_changes(parts.family, parts.model, picture_part(model, picture), edited)
    wrong, told = [], []
    for view in layout.views:
        found = [landed(view, box, change) for box, change in zip(boxes, changes, strict=True)]
        wrong += [f"{view.name}: {fault}" for fault in found if fault]
        blind = found.count(None)
        if blind and not layout.note:
            wrong.append(f"{view.name}: {blind} corners are not seen, and the layout does not say so")
        unseen = f", {blind} lie where the model does not see" if blind else ""
        size = f"{view.name} {view.grid.rows} x {view.grid.cols}"
        told.append(f"{size}: {len(found) - blind} marks changed the token of their own patch{unseen}")
    return not wrong, "; ".join(wrong or told) + "."


def picture_part(model: HuggingFaceModel, picture: Picture) -> dict[str, Any]:
    """Give what the processor makes of a picture, on the model's device, without the prompt."""
    tensors = model.ask(picture, QUESTION).tensors
    return {name: value for name, value in tensors.items() if name not in _TEXT}


def drawn(width_px: int, height_px: int) -> Picture:
    """Draw a grey picture with texture: no two patches are alike."""
    pixels = np.random.default_rng(width_px).integers(90, 160, (height_px, width_px, 3), np.uint8)
    return Picture.from_rgb(pixels)


def marked(picture: Picture, box: Box) -> Picture:
    """Whiten a part of a picture."""
    left, top, right, bottom = box
    pixels = picture.rgb.copy()
    pixels[top:bottom, left:right] = 255
    return Picture.from_rgb(pixels)


def corner_boxes(views: Sequence[PatchView], width_px: int, height_px: int) -> list[Box]:
    """Give a mark in each corner, in one patch of every view, and one in a patch of the main one."""
    view = views[0]
    # Of a strip that is squashed, the small copy has the narrower patches.
    wide = min(_marker_px(one.grid.x_edges_px) for one in views)
    high = min(_marker_px(one.grid.y_edges_px) for one in views)
    corners = [(x, y, x + wide, y + high) for x in (0, width_px - wide) for y in (0, height_px - high)]
    x_px, y_px = int(width_px * 0.4), int(height_px * 0.7)
    rows, cols = view.grid.locate([x_px], [y_px])
    if rows[0] >= 0 and cols[0] >= 0:  # in the middle of its patch: a resize spreads what lies at the edge
        x_px = int(view.grid.x_edges_px[cols[0] : cols[0] + 2].clip(0, width_px).mean() - wide / 2)
        y_px = int(view.grid.y_edges_px[rows[0] : rows[0] + 2].clip(0, height_px).mean() - high / 2)
    return [*corners, (x_px, y_px, x_px + wide, y_px + high)]


def landed(view: PatchView, box: Box, change: NDArray[np.float64]) -> str | None:
    """Say what is wrong with where a mark landed; "" if nothing, None if the model does not see it."""
    rows, cols = view.grid.locate([(box[0] + box[2]) / 2], [(box[1] + box[3]) / 2])
    row, col = int(rows[0]), int(cols[0])
    of_view = change[view.token.ravel()]
    if row < 0 or col < 0:
        clear = _clear_of(view.grid.x_edges_px, box[0::2]) or _clear_of(view.grid.y_edges_px, box[1::2])
        return f"{box} px is seen, and the grid says that it is not" if clear and of_view.max() > 0 else None
    if of_view.max() == 0:
        return f"{box} px changes nothing"
    found, expected = int(view.token.ravel()[of_view.argmax()]), int(view.token[row, col])
    return "" if found in _touched(view, box) else f"{box} px changes token {found}, not {expected}"


def _touched(view: PatchView, box: Box) -> NDArray[np.int64]:
    """Give the tokens of the patches that a mark lies on: several where it was laid in another view's."""
    rows, cols = view.grid.locate([box[0], box[2] - 0.5], [box[1], box[3] - 0.5])
    (top, bottom), (left, right) = rows.tolist(), cols.tolist()  # -1 beyond the view's edge
    return view.token[max(top, 0) : bottom + 1 or None, max(left, 0) : right + 1 or None]


def _clear_of(edges: NDArray[np.float64], ends_px: Sequence[int]) -> bool:
    """Whether a side of a box lies outside by more than a resize spreads it: a quarter of a patch."""
    reach_px = np.diff(edges).min() / 4
    return bool(ends_px[1] + reach_px <= edges[0] or ends_px[0] - reach_px >= edges[-1])


def _marker_px(edges: NDArray[np.float64]) -> int:
    return int(np.clip(np.diff(edges).min() // 2, 1, MARKER_PX))
