"""Edit a picture at one place and see which tokens change: the grid, proven on a family's own processor.

The vision tower's attention is zeroed meanwhile (`patches_apart`), so that a token sees its own patches only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.attention.grids.proof import picture_tokens, token_changes
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.core.picture import Picture

SIZES_PX = [(853, 601), (1000, 300), (300, 1000), (200, 200), (64, 900)]
MARKER_PX = 12
"""A marker is a white rectangle of at most so many px, and of at most half a patch along each side."""
_QUESTION = "?"
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


def grey(width: int, height: int) -> Picture:
    """A dim picture with texture: no two patches are alike."""
    return Picture.from_rgb(np.random.default_rng(5).integers(90, 160, (height, width, 3), np.uint8))


def picture_part(model: HuggingFaceModel, picture: Picture) -> dict[str, Any]:
    """What the processor makes of a picture, without the prompt."""
    family = model.checkpoint.family
    if family.ask is None:
        return family.inputs(model.checkpoint, Image.fromarray(picture.rgb), _QUESTION)
    tensors = model.ask(picture, _QUESTION).tensors
    return {name: value for name, value in tensors.items() if name not in _TEXT}


def layout_of(model: HuggingFaceModel, picture: Picture) -> Layout:
    return model.ask(picture, _QUESTION).layout


def changes(model: HuggingFaceModel, picture: Picture, boxes: Sequence[Box]) -> NDArray[np.float64]:
    """How far each picture token moves, (box, token), when a box of the picture is made white."""
    edited = []
    for left, top, right, bottom in boxes:
        pixels = picture.rgb.copy()
        pixels[top:bottom, left:right] = 255
        edited.append(picture_part(model, Picture.from_rgb(pixels)))
    parts = model.checkpoint
    return token_changes(parts.family, parts.model, picture_part(model, picture), edited)


def corner_boxes(view: PatchView, width: int, height: int) -> list[Box]:
    """A marker in each corner of the picture and one off its middle, none larger than half a patch."""
    wide = _marker_px(view.grid.x_edges_px)
    high = _marker_px(view.grid.y_edges_px)
    corners = [(x, y, x + wide, y + high) for x in (0, width - wide) for y in (0, height - high)]
    x_px, y_px = int(width * 0.4), int(height * 0.7)
    rows, cols = view.grid.locate([x_px], [y_px])
    if rows[0] >= 0 and cols[0] >= 0:  # in the middle of its patch: a resize spreads what lies at the edge
        x_px = int(view.grid.x_edges_px[cols[0] : cols[0] + 2].clip(0, width).mean() - wide / 2)
        y_px = int(view.grid.y_edges_px[rows[0] : rows[0] + 2].clip(0, height).mean() - high / 2)
    return [*corners, (x_px, y_px, x_px + wide, y_px + high)]


def check_corners(model: HuggingFaceModel, width: int, height: int) -> None:
    """Assert, for every view, that a marker changes the token that the grid has there.

    Where the grid has none the model must be blind, and the layout must say so.
    """
    picture = grey(width, height)
    layout = layout_of(model, picture)
    for view in layout.views:
        boxes = corner_boxes(view, width, height)
        moved = changes(model, picture, boxes)
        assert moved.shape[1] == layout.n_tokens
        for box, change in zip(boxes, moved, strict=True):
            rows, cols = view.grid.locate([(box[0] + box[2]) / 2], [(box[1] + box[3]) / 2])
            row, col = int(rows[0]), int(cols[0])
            of_view = change[view.token.ravel()]
            if row < 0 or col < 0:
                if _clear_of(view.grid.x_edges_px, box[0::2]) or _clear_of(view.grid.y_edges_px, box[1::2]):
                    assert of_view.max() == 0, f"{view.name}: {box} is seen, and the grid says that it is not"
                assert layout.note, "a part of the picture is not seen, and the layout does not say so"
                continue
            found = view.token.ravel()[of_view.argmax()]
            assert of_view.max() > 0, f"{view.name}: {box} px changes nothing"
            assert found == view.token[row, col], f"{view.name}: {box} px changes token {found}"


def check_every_patch(model: HuggingFaceModel, width: int, height: int) -> None:
    """Assert that an edit within a patch changes that patch's token and no other of its view.

    For a size that the processor scales by a whole number, or not at all: any other resize spreads an edit.
    """
    picture = grey(width, height)
    layout = layout_of(model, picture)
    for view in layout.views:
        cells = list(_cells(view))
        moved = changes(model, picture, [box for _, box in cells])
        for (cell, box), change in zip(cells, moved, strict=True):
            hit = [token for token in view.token.ravel() if change[token] > 0]
            assert hit == [view.token[cell]], f"{view.name} {cell}: {box} px changes {hit}"


def check_token_count(model: HuggingFaceModel, width: int, height: int) -> Layout:
    """Assert that the model makes as many tokens as the layout and the prompt have."""
    picture = grey(width, height)
    asked = model.ask(picture, _QUESTION)
    made = picture_tokens(model.checkpoint.family, model.checkpoint.model, picture_part(model, picture))
    assert len(made) == asked.layout.n_tokens
    assert [c.shape for c in asked.columns] == [(v.grid.rows, v.grid.cols) for v in asked.layout.views]
    return asked.layout


def _cells(view: PatchView) -> Iterator[tuple[tuple[int, int], Box]]:
    """The inner part of each patch, away from its edges."""
    x, y = view.grid.x_edges_px, view.grid.y_edges_px
    for row, col in np.ndindex(view.grid.rows, view.grid.cols):
        wide, high = x[col + 1] - x[col], y[row + 1] - y[row]
        left, top = int(x[col] + wide / 3), int(y[row] + high / 3)
        yield (row, col), (left, top, left + max(1, int(wide / 3)), top + max(1, int(high / 3)))


def _clear_of(edges: NDArray[np.float64], ends_px: tuple[int, ...]) -> bool:
    """Whether a side of a box lies outside by more than a resize spreads it: a quarter of a patch."""
    reach_px = np.diff(edges).min() / 4
    return bool(ends_px[1] + reach_px <= edges[0] or ends_px[0] - reach_px >= edges[-1])


def _marker_px(edges: NDArray[np.float64]) -> int:
    return int(np.clip(np.diff(edges).min() // 2, 1, MARKER_PX))
