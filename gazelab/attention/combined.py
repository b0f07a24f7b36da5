"""From values on each view of a picture to one map: views added up, padding left out, sinks as chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gazelab.core.attention import AttentionMap
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.regrid import respread

Sinks = Literal["keep", "drop"]
ALL_VIEWS = "all"


@dataclass(frozen=True, eq=False)
class ViewValues:
    """Values of one view's patches, not scaled yet.

    Attributes
    ----------
    name : str
    grid : PatchGrid
    values : numpy.ndarray, shape (rows, cols), float64, nowhere negative
    sunk : numpy.ndarray, shape (rows, cols), bool
        The sink patches.
    """

    name: str
    grid: PatchGrid
    values: NDArray[np.float64]
    sunk: NDArray[np.bool_]


def views_chosen(names: Sequence[str], view: str) -> list[int]:
    """Give the indices of the views that go into a map: all of them, or the one named.

    Raises
    ------
    AttentionError
        There is no such view.
    """
    if view == ALL_VIEWS:
        return list(range(len(names)))
    if view not in names:
        raise AttentionError(
            f'there is no view "{view}".', todo=f"There are {', '.join([ALL_VIEWS, *names])}."
        )
    return [list(names).index(view)]


def one_map(
    views: Sequence[ViewValues],
    view: str = ALL_VIEWS,
    sinks: Sinks = "keep",
    how: dict[str, object] | None = None,
    picture_share: float = float("nan"),
) -> AttentionMap:
    """Add up the views of a picture on the main one's grid, and scale the sum to 1.

    What lies on a further view's patch is spread evenly over the patch, and goes to the main view's patches
    by exact area. Patches wholly in the padding get nothing; what fell there is told.

    Parameters
    ----------
    views : sequence of ViewValues
        The main view first.
    view : str
        "all", or the name of one, whose own grid the map then has.
    sinks : "keep" or "drop"
        "drop" sets each view's sink patches to 0 before anything is added.
    how : dict, optional
        What else is to be told of the map.
    picture_share : float
        Share of the attention that fell on the picture.

    Returns
    -------
    AttentionMap
        `how` gains `view`, `views` (each one's share of all that is on the picture's patches), `sinks`,
        `sink_patches`, `other_sink_patches`, `sink_patch_share` (of what lies on the picture),
        `padding_share` and `beside_share` (of all on the patches: in the padding, and where the main view has
        no patch), and `empty`, a reason, where there is no map.

    Raises
    ------
    AttentionError
        There is no such view, or `sinks` is neither.
    """
    if sinks not in ("keep", "drop"):
        raise AttentionError(f'sinks = "{sinks}" is unknown.', todo="Use keep or drop.")
    chosen = [views[i] for i in views_chosen([v.name for v in views], view)]
    grid, inside = chosen[0].grid, chosen[0].grid.inside() > 0
    laid, sunk = np.zeros(inside.shape), 0.0
    padding = beside = 0.0
    for part in chosen:
        seen = part.grid.inside() > 0
        sunk += float(part.values[part.sunk & seen].sum())
        kept = np.where(part.sunk, 0.0, part.values) if sinks == "drop" else part.values
        if part.grid is grid:
            laid += kept
            continue
        spread = respread(kept, part.grid, grid)
        laid += spread.values
        padding, beside = padding + float(spread.padding), beside + float(spread.beside)
    padding += float(laid[~inside].sum())
    values = np.where(inside, laid, 0.0)
    everything = sum(float(part.values.sum()) for part in chosen)
    on_picture = sum(float(part.values[part.grid.inside() > 0].sum()) for part in chosen)
    told = {
        **(how or {}),
        "view": view,
        "views": {part.name: _of(float(part.values.sum()), everything) for part in chosen},
        "sinks": sinks,
        "sink_patches": _listed(chosen[0].sunk),
        "other_sink_patches": {part.name: _listed(part.sunk) for part in chosen[1:]},
        "sink_patch_share": _of(sunk, on_picture),
        "padding_share": _of(padding, everything),
        "beside_share": _of(beside, everything),
    }
    total = values.sum()
    if not total > 0 or not np.isfinite(total):
        told["empty"] = _why_empty(values, everything, sunk, sinks)
        return AttentionMap(np.full_like(values, np.nan), grid, told, picture_share)
    return AttentionMap(values / total, grid, told, picture_share)


def _listed(mask: NDArray[np.bool_]) -> list[list[int]]:
    return [[int(r), int(c)] for r, c in np.argwhere(mask)]


def _of(part: float, whole: float) -> float | None:
    """Give a share; None, which JSON has and which is no number, where there is nothing to share."""
    return part / whole if whole > 0 else None


def _why_empty(values: NDArray[np.float64], everything: float, sunk: float, sinks: Sinks) -> str:
    if not np.isfinite(values).all():
        return "some values are not finite"
    if everything == 0:
        return "nothing fell on the picture"
    if sinks == "drop" and sunk > 0:
        return "all of it fell on sink patches or in the padding"
    return "all of it fell in the padding"
