"""How much of a picture is left after a LLaVA processor's crop, in words."""

from __future__ import annotations

import numpy as np

from gazelab.core.geometry import Floats, PatchGrid

_NOTED = 5e-4
"""Less than half a permille is a rounding, not a part of the chart."""


def seen_share(grid: PatchGrid) -> float:
    """Give the share of the picture's area that a grid covers."""
    shares = (
        _covered(edges, length) / length
        for edges, length in (
            (grid.x_edges_px, grid.picture_width_px),
            (grid.y_edges_px, grid.picture_height_px),
        )
    )
    return float(np.prod(list(shares)))


def unseen(grid: PatchGrid) -> str:
    """Tell what a grid leaves out: "29 % of the picture, at the left and right"; empty if nothing."""
    share = 1 - seen_share(grid)
    if share < _NOTED:
        return ""
    x, y = grid.x_edges_px, grid.y_edges_px
    width, height = grid.picture_width_px, grid.picture_height_px
    sides = [
        name
        for name, gap_px, length in (
            ("left", x[0], width),
            ("right", width - x[-1], width),
            ("top", y[0], height),
            ("bottom", height - y[-1], height),
        )
        if gap_px / length >= _NOTED / 2
    ]
    *some, last = sides
    listed = f"{', '.join(some)} and {last}" if some else last
    return f"{100 * share:.2g} % of the picture, at the {listed}"


def _covered(edges_px: Floats, length_px: int) -> float:
    return float(min(edges_px[-1], length_px) - max(edges_px[0], 0.0))
