"""One answer's look, kept so that any token, layer, head or cell can be shown at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.attention.combined import ALL_VIEWS, ViewValues, one_map
from gazelab.attention.methods import MethodName
from gazelab.attention.sinks import TextSink, sink_patches, sink_tokens
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.geometry import PatchGrid
from gazelab.pipeline.map_choice import MapChoice
from gazelab.ui.growing_trace import GrowingTrace
from gazelab.ui.look_sums import Floats, StepSums, ViewSums, largest, mean_of, sums_of_step, sums_of_trace

ALL_TOKENS = -1


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
    method : str
        A name in `gazelab.attention.methods.METHODS`.
    view : str
        Name of a view, or `ALL_VIEWS`.
    drop_sinks : bool
    """

    token: int = ALL_TOKENS
    layer: int | None = None
    head: int | None = None
    method: str = "mean"
    view: str = ALL_VIEWS
    drop_sinks: bool = False

    @property
    def is_one_row(self) -> bool:
        """Whether it is one token, layer and head, so that there is nothing to put together."""
        return self.token != ALL_TOKENS and self.layer is not None and self.head is not None

    def choice(self) -> MapChoice:
        """Give the same as what results are made from and labelled with."""
        method = "raw" if self.is_one_row and self.method in ("mean", "max") else self.method
        return MapChoice(
            method=cast(MethodName, method),
            layers=None if self.layer is None else (self.layer,),
            heads=None if self.head is None else (self.head,),
            tokens=None if self.token == ALL_TOKENS else (self.token,),
            sinks="drop" if self.drop_sinks else "keep",
            view=self.view,
        )


@dataclass(frozen=True, eq=False)
class FoundSinks:
    """What draws attention whatever is asked; known once the answer is complete.

    Attributes
    ----------
    patches : tuple of numpy.ndarray, shape (row, col), bool
        One a view.
    tokens : tuple of TextSink
    """

    patches: tuple[NDArray[np.bool_], ...]
    tokens: tuple[TextSink, ...]

    @classmethod
    def of(cls, trace: AttentionTrace) -> FoundSinks:
        """Look for them; slow for a large trace."""
        return cls(tuple(sink_patches(trace, view=view.name) for view in trace.views), sink_tokens(trace))


class Look:
    """A trace, complete or growing, with the sums that make a click quick.

    Parameters
    ----------
    trace : AttentionTrace
    sums : list of StepSums
        One a token.
    sinks : FoundSinks, optional
    """

    def __init__(self, trace: AttentionTrace, sums: list[StepSums], sinks: FoundSinks | None = None) -> None:
        self.trace = trace
        self.sinks = sinks
        self._sums = sums
        self._nothing_sunk = [np.zeros((v.grid.rows, v.grid.cols), bool) for v in trace.views]
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
        return cls(trace, sums_of_trace(trace), FoundSinks.of(trace))

    def add(self, step: TokenStep, sums: StepSums | None = None) -> None:
        """Add one more token to a look that was begun; with its sums it is quick."""
        if self._growing is None:
            raise ValueError("this look is complete")
        self._growing.add(step)
        self._sums.append(sums or sums_of_step(step))
        self.trace = self._growing.trace()

    def finish(self, answer: str, sinks: FoundSinks | None) -> None:
        """Tell what the tokens spell and what the sinks are."""
        self.trace, self.sinks, self._growing = replace(self.trace, answer=answer), sinks, None

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return len(self._sums)

    def grid(self, view: str) -> PatchGrid:
        """Give the grid that maps of a view have; of all views it is the main one's."""
        return self.trace.views[self._view(view)].grid

    def map(self, pick: Pick) -> AttentionMap:
        """Make the map that is picked: the same as `MapChoice.of`, but for `how` and at once.

        A method that needs the model is taken for the mean: its map is made elsewhere.
        """
        return self._one_map([self._row_of(k, pick) for k in self._tokens(pick)], pick)

    def token_maps(self, pick: Pick, tokens: Sequence[int] | None = None) -> list[AttentionMap]:
        """Make the map of each token alone, or of some."""
        wanted = range(self.n_tokens) if tokens is None else tokens
        return [self._one_map([self._row_of(k, pick)], pick) for k in wanted]

    def numbers(self, measure: Measure, pick: Pick, patch: tuple[int, int] | None = None) -> Floats:
        """Give a number for each layer and head, the mean over the tokens that are picked; (layer, head).

        `Measure.PATCH` is the share of the view's attention that fell on a patch; NaN without one.
        """
        view = self._view(pick.view)
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

    def small_maps(self, pick: Pick) -> Floats:
        """Give a small map for each layer and head; (layer, head, row, col)."""
        view = self._view(pick.view)
        return mean_of([self._sums[k].views[view].small for k in self._tokens(pick)])

    def view_shares(self, pick: Pick) -> list[tuple[str, float]]:
        """Give the share of the picked attention that fell on each view."""
        names = [view.name for view in self.trace.views]
        return [
            (name, self._mean([self._sums[k].views[i].share for k in self._tokens(pick)], pick))
            for i, name in enumerate(names)
        ]

    def text_share(self, pick: Pick) -> float:
        """Give the share of the picked attention that fell on text, the first token left out."""
        return self._mean([self._sums[k].text_share for k in self._tokens(pick)], pick)

    def first_share(self, pick: Pick) -> float:
        """Give the share of the picked attention that fell on the first token or a learned sink."""
        return self._mean([self._sums[k].sink_share for k in self._tokens(pick)], pick)

    def text_tokens(self, pick: Pick, n: int = 3) -> list[tuple[str, float, bool]]:
        """Name the sink tokens and those text tokens that drew most of the picked attention.

        Returns
        -------
        list of (str, float, bool)
            The token, its share of all attention, and whether it is a sink.
        """
        weights, trace = self.trace.text_weights, self.trace
        if weights is None or not self.n_tokens:
            return []
        rows = [weights[k][self._at(pick)].astype(np.float32) for k in self._tokens(pick)]
        share = np.concatenate([row.reshape(-1, weights.shape[-1]) for row in rows]).mean(0)
        names = [*trace.prompt_tokens, *trace.tokens]
        sunk = [] if self.sinks is None else [sink.index for sink in self.sinks.tokens]
        most = [int(k) for k in np.argsort(-share)[:n] if k < len(names) and share[k] > 0]
        return [(names[k], float(share[k]), k in sunk) for k in dict.fromkeys([*sunk, *most])]

    def _one_map(self, rows: Sequence[Sequence[Floats]], pick: Pick) -> AttentionMap:
        """Put rows together, one a token with its views, on one grid."""
        sunk = self._nothing_sunk if self.sinks is None else self.sinks.patches
        parts = []
        for i, view in enumerate(self.trace.views):
            maps = np.stack([row[i] for row in rows])
            values = maps.max(0) if pick.method == "max" else maps.mean(0)
            parts.append(ViewValues(view.name, view.grid, values.astype(np.float64), sunk[i]))
        return one_map(parts, pick.view, "drop" if pick.drop_sinks else "keep")

    def _row_of(self, token: int, pick: Pick) -> list[Floats]:
        """Put one token's layers and heads together; (row, col) for each view."""
        return [self._of_view(sums, pick) for sums in self._sums[token].views]

    def _of_view(self, sums: ViewSums, pick: Pick) -> Floats:
        layer, head = self._at(pick)
        if pick.layer is not None and pick.head is not None:
            return sums.weights[layer, head].astype(np.float32)
        if pick.method == "max":
            weights = sums.weights[layer, head]
            return largest(weights, tuple(range(weights.ndim - 2)))
        if pick.layer is not None:
            return np.asarray(sums.by_layer[layer])
        return np.asarray(sums.by_head[head]) if pick.head is not None else sums.whole

    def _mean(self, parts: list[Floats], pick: Pick) -> float:
        return float(np.mean([part[self._at(pick)] for part in parts]))

    def _tokens(self, pick: Pick) -> list[int]:
        return list(range(self.n_tokens)) if pick.token == ALL_TOKENS else [pick.token]

    def _at(self, pick: Pick) -> tuple[slice | int, slice | int]:
        """Give the index of the picked layer and head, or everything."""
        layer = slice(None) if pick.layer is None else self.trace.layers.index(pick.layer)
        return layer, slice(None) if pick.head is None else pick.head

    def _view(self, name: str) -> int:
        names = [view.name for view in self.trace.views]
        return 0 if name == ALL_VIEWS else names.index(name)


def _on_patch(sums: ViewSums, patch: tuple[int, int]) -> Floats:
    """Give the share of what fell on a view that fell on one of its patches; (layer, head)."""
    on = sums.weights[..., patch[0], patch[1]].astype(np.float32)
    out: Floats = np.divide(on, sums.share, out=np.zeros_like(on), where=sums.share > 0)
    return out
