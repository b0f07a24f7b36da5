"""Which layers, heads and tokens of a trace are meant, and what fell where in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError


@dataclass(frozen=True, slots=True)
class Chosen:
    """Resolved numbers: `layers` the model's own, `heads` and `tokens` from 0."""

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    tokens: tuple[int, ...]

    def to_json(self) -> dict[str, list[int]]:
        """Give JSON-ready values."""
        return {"layers": list(self.layers), "heads": list(self.heads), "tokens": list(self.tokens)}

    def of(self, trace: AttentionTrace, values: NDArray[np.floating]) -> NDArray[np.float32]:
        """Pick from an array (token, layer, head, …); what is picked whole is not copied first."""
        picked = values
        layers = [trace.layers.index(layer) for layer in self.layers]
        for axis, wanted in enumerate((self.tokens, layers, self.heads)):
            if list(wanted) != list(range(values.shape[axis])):
                picked = picked.take(wanted, axis=axis)
        return np.asarray(picked, np.float32)


def chosen_of(
    trace: AttentionTrace,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
) -> Chosen:
    """Resolve a choice against a trace; None takes all, negative numbers count from the end.

    Raises
    ------
    AttentionError
        There is no such layer, head or token.
    """
    return Chosen(
        numbers_of("layer", layers, trace.layers),
        numbers_of("head", heads, range(trace.n_heads)),
        numbers_of("token", tokens, range(len(trace.tokens))),
    )


def numbers_of(what: str, wanted: Sequence[int] | None, available: Sequence[int]) -> tuple[int, ...]:
    """Resolve numbers of one kind against what there is; one that is named twice counts once.

    Raises
    ------
    AttentionError
        Names the first that is not there.
    """
    if len(available) == 0 or (wanted is not None and len(wanted) == 0):
        raise AttentionError(f"there is no {what} to make a map of.")
    if wanted is None:
        return tuple(int(number) for number in available)
    numbers = []
    for number in wanted:
        resolved = available[number] if -len(available) <= number < 0 else number
        if resolved not in available:
            raise AttentionError(f"there is no {what} {number}.", todo=f"There are {list(available)}.")
        numbers.append(int(resolved))
    return tuple(dict.fromkeys(numbers))
