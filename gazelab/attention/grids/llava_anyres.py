"""Any-resolution pictures, as LLaVA-NeXT and LLaVA-OneVision see them.

The picture goes in twice. Squashed to one square: the view "base". And, its shape kept, fitted into the best
of a list of rectangles, padded there, and cut into squares: the view "tiles", one grid over all squares. The
model drops the rows or columns of patches that are padding (counting in whole patches, so that up to half a
patch of the picture may go with them), and ends each row of patches with a newline token, which is no patch.

Where the square's side is no multiple of the patch (384 px, patches of 14) each square's last px are seen by
no patch; here they belong to the nearer patch, and those at the view's own end to none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from transformers.image_processing_utils import select_best_resolution

from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.attention.grids.llava import class_tokens
from gazelab.attention.grids.llava_seen import unseen
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import Floats, PatchGrid

_MISFIT = "The checkpoint's processor and its model do not belong together."


class Canvas(NamedTuple):
    """The rectangle of squares into which a picture is fitted.

    Attributes
    ----------
    rows, cols : int
        Squares.
    side_px : int
        Of a square.
    patch_px : int
        Of a patch.
    """

    rows: int
    cols: int
    side_px: int
    patch_px: int

    @property
    def patches(self) -> int:
        """Patches along a square's side."""
        return self.side_px // self.patch_px


def anyres_layout(
    inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int, max_squares: int | None = None
) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `pixel_values` (1, 1 + squares, 3, side, side) and `image_sizes` (1, 2), as the family's processor
        makes them.
    config : transformers.PreTrainedConfig
        For the squares, the rectangles and the patch size.
    width_px, height_px : int
        Of the picture before the processor.
    max_squares : int, optional
        The tiles' patches are blended into fewer cells where they are more than so many squares hold.

    Raises
    ------
    AttentionError
        The vision tower is of an unknown kind, or processor and checkpoint do not fit.
    """
    canvas = _canvas(inputs, config, width_px, height_px)
    n = canvas.patches
    size = f"{canvas.side_px} x {canvas.side_px} and {canvas.cols} x {canvas.rows} times that"
    base_edges = np.arange(n + 1.0) * canvas.patch_px / canvas.side_px
    base = PatchView(
        "base",
        PatchGrid(base_edges * width_px, base_edges * height_px, width_px, height_px),
        np.arange(n * n, dtype=np.int64).reshape(n, n),
    )
    x, y = _kept_edges(canvas, width_px, height_px)
    rows, cols = len(y) - 1, len(x) - 1
    if not rows or not cols:
        note = "So thin a picture leaves no tiles: the model has only its squashed form."
        return Layout((base,), n * n + rows, size, note)  # a row without patches still has its newline token
    few_rows, few_cols = _fewer(rows, cols, max_squares, n)
    grid = PatchGrid(_blended(x, few_cols), _blended(y, few_rows), width_px, height_px)
    token = n * n + np.arange(few_rows * (few_cols + 1), dtype=np.int64).reshape(few_rows, few_cols + 1)
    left_out = {"tiles": unseen(grid), "base view": unseen(base.grid)}
    notes = [f"Left out of the {view}: {lost}." for view, lost in left_out.items() if lost]
    if (few_rows, few_cols) != (rows, cols):
        notes.append(f"The tiles' {rows} x {cols} patches are blended into {few_rows} x {few_cols} cells.")
    tiles = PatchView("tiles", grid, token[:, :-1])
    return Layout((tiles, base), n * n + token.size, size, " ".join(notes))


def _canvas(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Canvas:
    """Choose the rectangle as the model does, and see that the processor has chosen the same."""
    side, patch = int(config.vision_config.image_size), int(config.vision_config.patch_size)
    high, wide = select_best_resolution((height_px, width_px), config.image_grid_pinpoints)
    canvas = Canvas(high // side, wide // side, side, patch)
    expected = (1, 1 + canvas.rows * canvas.cols, 3, side, side)
    shape = tuple(inputs["pixel_values"].shape)
    if shape != expected or high % side or wide % side:
        raise AttentionError(
            f"pixel_values {shape} where a rectangle of {wide} x {high} px, in squares of {side} px, needs"
            f" {expected}.",
            todo=_MISFIT,
        )
    told = np.asarray(inputs["image_sizes"]).tolist()
    if told != [[height_px, width_px]]:
        raise AttentionError(f"image_sizes is {told} for a picture of {width_px} x {height_px} px.")
    if class_tokens(config):
        raise AttentionError("the vision tower's class token is kept: its tokens make no grid.", todo=_MISFIT)
    return canvas


def _kept_edges(canvas: Canvas, width_px: int, height_px: int) -> tuple[Floats, Floats]:
    """Give the edges, in picture px, of the columns and rows of patches that the model keeps."""
    rows, cols = canvas.rows * canvas.patches, canvas.cols * canvas.patches
    wide, high = canvas.cols * canvas.side_px, canvas.rows * canvas.side_px
    across, down = wide / width_px, high / height_px
    # The processor rounds a side of the fitted picture up, in px; the model rounds it down, in patches.
    if across < down:
        fitted_wide, fitted_high = wide, min(int(np.ceil(height_px * across)), high)
    else:
        fitted_wide, fitted_high = min(int(np.ceil(width_px * down)), wide), high
    drop_rows = drop_cols = 0
    if width_px / height_px > cols / rows:
        drop_rows = (rows - int(round(height_px * (cols / width_px), 7))) // 2
    else:
        drop_cols = (cols - int(round(width_px * (rows / height_px), 7))) // 2
    x = _patch_edges(canvas, canvas.cols)[drop_cols : cols + 1 - drop_cols]
    y = _patch_edges(canvas, canvas.rows)[drop_rows : rows + 1 - drop_rows]
    return (
        (x - (wide - fitted_wide) // 2) * width_px / fitted_wide,
        (y - (high - fitted_high) // 2) * height_px / fitted_high,
    )


def _patch_edges(canvas: Canvas, squares: int) -> Floats:
    """Give the edges of the patches along one side of the rectangle, in its px."""
    inside = np.arange(canvas.patches) * float(canvas.patch_px)
    rest = canvas.side_px - canvas.patches * canvas.patch_px
    edges = np.concatenate([square * canvas.side_px + inside for square in range(squares)])
    edges[canvas.patches :: canvas.patches] -= rest / 2
    out: Floats = np.append(edges, squares * canvas.side_px - rest)
    return out


def _fewer(rows: int, cols: int, max_squares: int | None, n: int) -> tuple[int, int]:
    """Give the rows and columns that are left of the patches, as LLaVA-OneVision's model counts."""
    ratio = float(np.sqrt(rows * cols / (max_squares * n**2))) if max_squares else 1.0
    return (int(rows // ratio), int(cols // ratio)) if ratio > 1.1 else (rows, cols)


def _blended(edges: Floats, cells: int) -> Floats:
    """Lay fewer cells over the same patches, each as wide as the next in patches."""
    n = len(edges) - 1
    out: Floats = np.interp(np.linspace(0, n, cells + 1), np.arange(n + 1), edges)
    return out
