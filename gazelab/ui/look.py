"""One answer's look, kept so that any token, layer, head or cell can be shown at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.attention.maps import sink_patches
from gazelab.core.attention import AttentionTrace
from gazelab.core.geometry import PatchGrid
from gazelab.pipeline.map_choice import MapChoice
from gazelab.ui.growing_trace import GrowingTrace
from gazelab.ui.look_sums import Floats, StepSums, ViewSums, largest, mean_of, sums_of_step, sums_of_trace

ALL_TOKENS = -1
ALL_VIEWS = -1
RASTER_PX = 480
"""Longer side of the raster on which several views are put together."""


class Together(StrEnum):
    """How layers, heads and tokens become one map."""

    MEAN = "mean"
    MAX = "max"


class Measure(StrEnum):
    """A number for each layer and head."""

    PICTURE = "picture"
    FOCUS = "focus"
    FIRST = "first"
    TEXT = "text"
    PATCH = "patch"


@dataclass(frozen=True, slots=True)
class Pick:
    """What is looked at.

    Attributes
    ----------
    token : int
        Index, or `ALL_TOKENS`.
    layer : int or None
        The model's own number; None for all.
    head : int or None
    together : Together
    view : int
        Index into `AttentionTrace.views`, or `ALL_VIEWS`.
    drop_sinks : bool
    """

    token: int = ALL_TOKENS
    layer: int | None = None
    head: int | None = None
    together: Together = Together.MEAN
    view: int = 0
    drop_sinks: bool = False

    def choice(self) -> MapChoice:
        """Give the same as what results are made from and labelled with."""
        return MapChoice(
            method=self.together.value,
            layers=None if self.layer is None else (self.layer,),
            heads=None if self.head is None else (self.head,),
            tokens=None if self.token == ALL_TOKENS else (self.token,),
            sinks="drop" if self.drop_sinks else "keep",
        )


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the picked attention fell, as shares of 1.

    Attributes
    ----------
    views : tuple of (str, float)
        Name of each view of the picture and what fell on it.
    text, first : float
        On text, and on the first token or a learned sink.
    padding : float
        Of the picture's share: on padding, which shows nothing of the chart.
    sinks : float
        Of the main view's share: on sink patches; NaN while they are not known.
    """

    views: tuple[tuple[str, float], ...]
    text: float
    first: float
    padding: float
    sinks: float

    @property
    def picture(self) -> float:
        """On the picture, all views together."""
        return sum(share for _, share in self.views)


@dataclass(frozen=True, eq=False)
class Shown:
    """A map to be drawn.

    Attributes
    ----------
    values : numpy.ndarray, shape (row, col), float64
        Sums to 1; all NaN if no attention fell on the picture.
    grid : PatchGrid or None
        None: equal cells over the whole picture, where views were put together.
    shares : Shares
    """

    values: NDArray[np.float64]
    grid: PatchGrid | None
    shares: Shares


class Look:
    """A trace, complete or growing, with the sums that make a click quick.

    Parameters
    ----------
    trace : AttentionTrace
    sums : list of StepSums
        One a token.
    """

    def __init__(self, trace: AttentionTrace, sums: list[StepSums]) -> None:
        self.trace = trace
        self.sinks: NDArray[np.bool_] | None = None
        self._sums = sums
        self._inside = [view.grid.inside() for view in trace.views]
        self._growing: GrowingTrace | None = None

    @classmethod
    def begin(cls, head: TraceHead) -> Look:
        """Begin with no token."""
        growing = GrowingTrace(head)
        look = cls(growing.trace(), [])
        look._growing = growing
        return look

    @classmethod
    def of(cls, trace: AttentionTrace) -> Look:
        """Take a complete trace; slow for a large one, so not on the window's thread."""
        look = cls(trace, sums_of_trace(trace))
        look.sinks = sink_patches(trace)
        return look

    def add(self, step: TokenStep, sums: StepSums | None = None) -> None:
        """Add one more token to a look that was begun; with its sums it is quick."""
        if self._growing is None:
            raise ValueError("this look is complete")
        self._growing.add(step)
        self._sums.append(sums or sums_of_step(step))
        self.trace = self._growing.trace()

    def finish(self, answer: str, sinks: NDArray[np.bool_] | None) -> None:
        """Tell what the tokens spell and which patches are sinks."""
        self.trace, self.sinks, self._growing = replace(self.trace, answer=answer), sinks, None

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return len(self._sums)

    def shown(self, pick: Pick) -> Shown:
        """Make the map that is picked."""
        shares = self.shares(pick)
        if pick.view == ALL_VIEWS and len(self._inside) > 1:
            return Shown(self._all_views(pick), None, shares)
        return Shown(*self.one_view(pick), shares)

    def one_view(self, pick: Pick) -> tuple[NDArray[np.float64], PatchGrid]:
        """Give the map over one view's patches, the main one's where all views are picked, and its grid."""
        view = max(pick.view, 0)
        return _scaled_to_1(self._map(pick, view)), self.trace.views[view].grid

    def token_maps(self, pick: Pick) -> Floats:
        """Give one map a token, each summing to 1 (or 0 where nothing fell on the view); (token, row, col).

        With all views picked they are maps of the main one.
        """
        view = max(pick.view, 0)
        maps = np.stack([self._row(k, pick, view) for k in range(self.n_tokens)])
        maps = np.where(self._inside[view] > 0, maps, 0)
        total = maps.sum((-2, -1), keepdims=True)
        out: Floats = (maps / np.where(total > 0, total, 1)).astype(np.float32)
        return out

    def grid(self, pick: Pick) -> PatchGrid:
        """Give the grid whose patches can be asked for."""
        return self.trace.views[max(pick.view, 0)].grid

    def numbers(self, measure: Measure, pick: Pick, patch: tuple[int, int] | None = None) -> Floats:
        """Give a number for each layer and head, the mean over the tokens that are picked; (layer, head).

        `Measure.PATCH` is the share of the view's attention that fell on a patch; NaN without one.
        """
        view = max(pick.view, 0)
        chosen = [self._sums[k] for k in self._tokens(pick)]
        match measure:
            case Measure.PICTURE:
                return mean_of([s.picture_share for s in chosen])
            case Measure.FOCUS:
                return mean_of([s.views[view].focus for s in chosen])
            case Measure.FIRST:
                return mean_of([s.sink_share for s in chosen])
            case Measure.TEXT:
                return mean_of([s.text_share for s in chosen])
        if patch is None:
            return np.full_like(chosen[0].sink_share, np.nan)
        return mean_of([_on_patch(s.views[view], patch) for s in chosen])

    def text_tokens(self, pick: Pick, n: int = 3) -> list[tuple[str, float]]:
        """Give the text tokens that drew the most of the picked attention, with their shares of all of it."""
        weights, trace = self.trace.text_weights, self.trace
        if weights is None or not self.n_tokens:
            return []
        rows = [weights[k][self._at(pick)].astype(np.float32) for k in self._tokens(pick)]
        share = np.concatenate([row.reshape(-1, weights.shape[-1]) for row in rows]).mean(0)
        names = [*trace.prompt_tokens, *trace.tokens]
        return [
            (names[k], float(share[k])) for k in np.argsort(-share)[:n] if k < len(names) and share[k] > 0
        ]

    def small_maps(self, pick: Pick) -> Floats:
        """Give a small map for each layer and head; (layer, head, row, col)."""
        view = max(pick.view, 0)
        return mean_of([self._sums[k].views[view].small for k in self._tokens(pick)])

    def shares(self, pick: Pick) -> Shares:
        """Tell where the picked attention fell."""
        chosen = [self._sums[k] for k in self._tokens(pick)]
        at = self._at(pick)

        def mean(parts: list[Floats]) -> float:
            return float(np.mean([part[at] for part in parts]))

        views = self.trace.views
        on_view = tuple((v.name, mean([s.views[i].share for s in chosen])) for i, v in enumerate(views))
        main = self._map(replace(pick, together=Together.MEAN, drop_sinks=False), 0, padding=True)
        total = float(main.sum())
        beside = float((main * (1 - self._inside[0])).sum())
        sunk = float("nan") if self.sinks is None else float(main[self.sinks].sum())
        return Shares(
            on_view,
            mean([s.text_share for s in chosen]),
            mean([s.sink_share for s in chosen]),
            beside / total if total > 0 else 0.0,
            sunk / total if total > 0 else 0.0,
        )

    def _tokens(self, pick: Pick) -> list[int]:
        return list(range(self.n_tokens)) if pick.token == ALL_TOKENS else [pick.token]

    def _at(self, pick: Pick) -> tuple[slice | int, slice | int]:
        """Give the index of the picked layer and head, or everything."""
        layer = slice(None) if pick.layer is None else self.trace.layers.index(pick.layer)
        return layer, slice(None) if pick.head is None else pick.head

    def _map(self, pick: Pick, view: int, *, padding: bool = False) -> NDArray[np.float64]:
        """Put the picked tokens together, not scaled; patches that are all padding are 0."""
        rows = np.stack([self._row(k, pick, view) for k in self._tokens(pick)])
        values = (rows.max(0) if pick.together is Together.MAX else rows.mean(0)).astype(float)
        if not padding:
            values = np.where(self._inside[view] > 0, values, 0.0)
        if pick.drop_sinks and view == 0 and self.sinks is not None:
            values = np.where(self.sinks, 0.0, values)
        return np.asarray(values)

    def _row(self, token: int, pick: Pick, view: int) -> Floats:
        """Put one token's layers and heads together; (row, col)."""
        sums = self._sums[token].views[view]
        layer, head = self._at(pick)
        if pick.layer is not None and pick.head is not None:
            return sums.weights[layer, head].astype(np.float32)
        if pick.together is Together.MAX:
            weights = sums.weights[layer, head]
            return largest(weights, tuple(range(weights.ndim - 2)))
        if pick.layer is not None:
            return np.asarray(sums.by_layer[layer])
        return np.asarray(sums.by_head[head]) if pick.head is not None else sums.whole

    def _all_views(self, pick: Pick) -> NDArray[np.float64]:
        """Paint every view's mass over the picture and add them."""
        grid = self.trace.grid
        factor = RASTER_PX / max(grid.picture_width_px, grid.picture_height_px)
        shape = [max(1, round(side * factor)) for side in (grid.picture_height_px, grid.picture_width_px)]
        total = np.zeros(shape)
        for index, view in enumerate(self.trace.views):
            total += view.grid.paint(self._map(pick, index), *shape)
        return _scaled_to_1(total)


def _scaled_to_1(values: NDArray[np.float64]) -> NDArray[np.float64]:
    total = float(values.sum())
    return np.asarray(values / total) if total > 0 else np.full_like(values, np.nan)


def _on_patch(sums: ViewSums, patch: tuple[int, int]) -> Floats:
    """Give the share of what fell on a view that fell on one of its patches; (layer, head)."""
    on = sums.weights[..., patch[0], patch[1]].astype(np.float32)
    out: Floats = np.divide(on, sums.share, out=np.zeros_like(on), where=sums.share > 0)
    return out
