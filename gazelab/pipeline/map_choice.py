"""Which part of a model's attention becomes the one map that is drawn, scored and kept."""

from __future__ import annotations

from dataclasses import dataclass

from gazelab.attention.base import AttentionModel
from gazelab.attention.maps import Method, Sinks, attention_map
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError


@dataclass(frozen=True, eq=False)
class MapChoice:
    """Which layers, heads and tokens become the one map that is scored; written into every result.

    Attributes
    ----------
    method : "mean", "max" or "raw"
    layers, heads, tokens : tuple of int or None
        None takes all.
    sinks : "keep" or "drop"
    """

    method: Method = "mean"
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    tokens: tuple[int, ...] | None = None
    sinks: Sinks = "keep"

    def check(self, model: AttentionModel) -> None:
        """Refuse layers and heads that a model has not, before it runs.

        Raises
        ------
        AttentionError
            Names the first, and what there is.
        """
        for what, wanted, there in (
            ("layer", self.layers, model.layers),
            ("head", self.heads, range(model.n_heads)),
        ):
            for number in wanted or ():
                if number not in there and not -len(there) <= number < 0:
                    todo = f"There are {there[0]} to {there[-1]}, and -1 for the last."
                    raise AttentionError(f"there is no {what} {number}.", where=model.model_id, todo=todo)

    def of(self, trace: AttentionTrace) -> AttentionMap:
        """Make the map of a trace."""
        return attention_map(trace, self.method, self.layers, self.heads, self.tokens, self.sinks)
