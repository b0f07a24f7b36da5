"""Which part of a model's attention becomes the one map that is drawn, scored and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from gazelab.attention.base import MAX_TOKENS, AttentionModel, looking_head
from gazelab.attention.combined import ALL_VIEWS, Sinks
from gazelab.attention.maps import Method, attention_map
from gazelab.attention.methods import MethodName, make_map, method_of, refuse_what_cannot_be_had
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


@dataclass(frozen=True, eq=False)
class MapChoice:
    """Which method, layers, heads and tokens make the one map that is scored; written into every result.

    Attributes
    ----------
    method : str
        A name in `gazelab.attention.methods.METHODS`; "mean", "max" and "raw" need a trace only.
    layers, heads, tokens : tuple of int or None
        None takes all.
    sinks : "keep" or "drop"
    view : str
        "all" adds up every view of the picture; else the name of one.
    """

    method: MethodName = "mean"
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    tokens: tuple[int, ...] | None = None
    sinks: Sinks = "keep"
    view: str = ALL_VIEWS

    @property
    def needs_model(self) -> bool:
        """Whether a trace alone does not do, so that `of_model` must make the map."""
        return method_of(self.method).needs_model

    def at_first(self, made_with: Mapping[str, str]) -> MapChoice:
        """Take the head that the model's card names where neither method, layers nor heads were chosen.

        In a small encoder-decoder the mean of all heads is mostly of those that look nowhere in particular.

        Parameters
        ----------
        made_with : mapping
            Of the trace.
        """
        named = looking_head(made_with)
        if named is None or self.method != "mean" or self.layers is not None or self.heads is not None:
            return self
        return replace(self, layers=(named[0],), heads=(named[1],))

    def check(self, model: AttentionModel) -> None:
        """Refuse a method that a model cannot do, and layers and heads that it has not, before it runs.

        Raises
        ------
        AttentionError
            Names the first, and what there is.
        """
        if self.needs_model:
            refuse_what_cannot_be_had(method_of(self.method), model)
        for what, wanted, there in (
            ("layer", self.layers, model.layers),
            ("head", self.heads, range(model.n_heads)),
        ):
            for number in wanted or ():
                if number not in there and not -len(there) <= number < 0:
                    todo = f"There are {there[0]} to {there[-1]}, and -1 for the last."
                    raise AttentionError(f"there is no {what} {number}.", where=model.model_id, todo=todo)
            if self.method == "raw" and len(there if wanted is None else wanted) > 1:
                raise AttentionError(
                    '"raw" takes one layer, one head and one token.',
                    todo=f"Choose one {what}, or use mean or max.",
                )

    def of(self, trace: AttentionTrace) -> AttentionMap:
        """Make the map of a trace.

        Raises
        ------
        AttentionError
            There is no such method, view, layer, head or token, or the method needs the model.
        """
        if self.needs_model:
            raise AttentionError(
                f"{method_of(self.method).label} cannot be made of a trace: the model must run.",
                todo="Use mean, max or raw, or ask the model again.",
            )
        known = (self.layers, self.heads, self.tokens)
        return attention_map(trace, cast("Method", self.method), *known, self.sinks, (), self.view)

    def of_model(
        self,
        model: AttentionModel,
        picture: Picture,
        question: str,
        trace: AttentionTrace | None = None,
        *,
        max_tokens: int = MAX_TOKENS,
        progress: Callable[[int, int], None] = lambda done, total: None,
        check: Callable[[], None] = lambda: None,
    ) -> AttentionMap:
        """Make the map with the model at hand, by any method; the rest is that of `make_map`.

        Parameters
        ----------
        trace : AttentionTrace, optional
            Of the same model, picture and question: where it will do, the model does not run.
        """
        return make_map(
            model,
            picture,
            question,
            self.method,
            layers=self.layers,
            heads=self.heads,
            tokens=self.tokens,
            sinks=self.sinks,
            view=self.view,
            max_tokens=max_tokens,
            trace=trace,
            progress=progress,
            check=check,
        )
