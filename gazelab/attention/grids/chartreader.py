"""The embedded chart reader: the picture is stretched to the model's size, whatever its shape."""

from __future__ import annotations

from gazelab.core.geometry import PatchGrid


def grid(rows: int, cols: int, picture_width_px: int, picture_height_px: int) -> PatchGrid:
    """Lay `rows` x `cols` equal cells over the whole picture; x and y have scales of their own."""
    return PatchGrid.stretched(rows, cols, picture_width_px, picture_height_px)
