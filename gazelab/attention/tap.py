"""The attention tap: the rows that are looked at, beside the fast kernel, at O(N) a token.

`output_attentions=True` keeps a full N×N matrix for each layer and head. The tap lets the fast kernel make
the output as ever, and computes softmax(q·Kᵀ) for the wanted query rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from torch import Tensor, nn

from gazelab.attention.captured import PassRows, TapRow, picture_row, score_row, stacked, whole_row
from gazelab.attention.decoder import (
    Kind,
    attention_modules,
    can_be_tapped,
    chosen_layers,
    decoder_of,
    uses_interface,
)
from gazelab.attention.eager import weights_in
from gazelab.attention.implementations import RestoredImplementations, bypassed, set_implementation
from gazelab.attention.row_weights import row_scores
from gazelab.attention.rows import Rows, wanted_rows
from gazelab.attention.tapped import TAP, TAPPED, register_tap
from gazelab.core.errors import AttentionError


class AttentionTap:
    """Read a few attention rows of a Hugging Face model while it runs with its fast kernel.

    A context manager round `generate` or a forward pass, batch 1. On leaving, the model is as it was: the
    attention implementation of every sub-model is put back and no hook stays. Inside, the output is that of
    the sdpa kernel. Everything is computed where the model is (CPU, CUDA, MPS), and comes out once a row.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model whose decoder calls the attention interface.
    rows : "last", "all", int, slice or sequence of int
        Wanted query positions in the whole sequence; see `gazelab.attention.rows`. "last" reads, in every
        forward pass, the row that predicts the next token.
    layers : sequence of int, optional
        Which decoder layers; negative numbers count from the end; all by default.
    heads : sequence of int, optional
        Which query heads of each layer; negative numbers count from the end; all by default.
    picture : array of int, optional
        Key positions of the picture's tokens, of all its views one after another: these columns, the others
        (text) and the sums on text and sink are kept apart.
    kind : "self" or "cross"
        The decoder's attention to its own sequence, or (encoder-decoder models) to the encoder's.
    method : "interface" or "eager"
        "eager" is for models that bypass the attention interface: their own eager attention runs, the wanted
        rows are taken from each layer's N×N matrix, and the matrix is dropped layer by layer. Estimate the
        memory first with `gazelab.attention.eager.eager_memory_bytes`.
    before_softmax : bool
        Keep the scores q·k (scaled, with position bias) instead of the weights; keys that a row may not see
        are -inf.
    dtype : dtype
        Of the stored weights; float16 halves the memory.
    on_row : callable, optional
        Called with each `TapRow` as soon as its forward pass has ended.

    Raises
    ------
    AttentionError
        The model bypasses the interface, is tapped already, is run with a batch or compiled, or a layer's
        weights are not finite.

    Examples
    --------
    >>> with AttentionTap(model, rows="last") as tap:  # doctest: +SKIP
    ...     out = model.generate(**inputs, max_new_tokens=8)
    >>> tap.weights.shape  # doctest: +SKIP
    (8, 32, 16, 1657)
    """

    def __init__(
        self,
        model: Any,
        rows: Rows = "last",
        layers: Sequence[int] | None = None,
        *,
        heads: Sequence[int] | None = None,
        picture: ArrayLike | None = None,
        kind: Kind = "self",
        method: Literal["interface", "eager"] = "interface",
        before_softmax: bool = False,
        dtype: DTypeLike = np.float32,
        on_row: Callable[[TapRow], None] | None = None,
    ) -> None:
        wanted_rows(rows, 0, 1)  # refuses an unknown word before the model runs
        if before_softmax and (method == "eager" or picture is not None):
            raise AttentionError(
                "scores before the softmax are not read from eager attention, nor by shares of a picture.",
                todo="Leave `method` and `picture` out.",
            )
        self.model = model
        self.kind = kind
        self.method = method
        self.captured: list[TapRow] = []
        self._rows_wanted = rows
        self._heads = None if heads is None else tuple(int(head) for head in heads)
        self._picture = None if picture is None else _columns(picture)
        self._before_softmax = before_softmax
        self._dtype = np.dtype(dtype)
        self._on_row = on_row
        self._stack = decoder_of(model)
        self._name = type(self._stack).__name__
        self._modules = attention_modules(self._stack, kind)
        self._layers = chosen_layers(layers, self._modules.values())
        self._hooks: list[Any] = []
        self._strict = layers is not None
        self._past = 0
        self._called = False
        self._positions: list[int] = []
        self._rows_of_pass: list[int] | None = None
        self._pass: PassRows | None = None

    def __enter__(self) -> Self:
        if any(module in TAPPED for module in self._modules):
            raise AttentionError("the model is tapped already.", todo="Close the other tap first.")
        before = RestoredImplementations(self.model)
        self._restore = before.restore
        try:
            before.forbid_compiling()
            self._switch()
            self._hooks.append(self._stack.register_forward_pre_hook(self._pass_begins, with_kwargs=True))
            self._hooks.append(self._stack.register_forward_hook(self._pass_ends))
        except BaseException:
            self._leave()
            raise
        TAPPED.update(dict.fromkeys(self._modules, self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        for module in self._modules:
            if TAPPED.get(module) is self:
                del TAPPED[module]
        self._restore()
        self._pass = None

    @property
    def rows(self) -> tuple[int, ...]:
        """Query positions that were read, in order: the first axis of `weights`."""
        return tuple(row.position for row in self.captured)

    @property
    def layers(self) -> tuple[int, ...]:
        """The model's own number of each layer: the second axis of `weights`."""
        return self.captured[0].layers if self.captured else self._layers

    @property
    def weights(self) -> NDArray[Any]:
        """All rows read so far, before any grid.

        Returns
        -------
        numpy.ndarray, shape (token, layer, head, key)
            Keys that a row cannot see yet are 0 (-inf for scores).

        Raises
        ------
        AttentionError
            Nothing was read, or only the picture's columns were kept.
        """
        if self._picture is not None:
            raise AttentionError("only the picture's columns were kept.", todo="Tap without `picture`.")
        if not self.captured:
            raise AttentionError(
                "no attention was read.", todo="Run `generate` or a forward pass inside the `with` block."
            )
        return stacked(self.captured, -np.inf if self._before_softmax else 0.0)

    def _switch(self) -> None:
        """Make the decoder call the tap, or its own eager attention."""
        if not self._modules:
            raise AttentionError(f"no {self.kind}-attention layers can be found in it.", where=self._name)
        if self.method == "eager":
            for module in self._modules:
                self._hooks.append(module.register_forward_hook(self._eager_layer))
            if uses_interface(self._stack):  # else it knows no other way than its own
                set_implementation(self._stack, "eager")
            return
        if not can_be_tapped(self._stack):
            raise bypassed(self._name)
        register_tap()
        set_implementation(self._stack, TAP)
        top = self.model.config
        if (getattr(top, "_attn_implementation", None) or "eager") not in (TAP, "sdpa", "eager"):
            # Some models make the decoder's mask in the outer model: it must be one that sdpa understands.
            top._attn_implementation_internal = TAP

    def _pass_begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._pass = PassRows(self._layers, self._heads)
        self._positions, self._rows_of_pass = [], None
        self._called = False
        # The argument is being renamed from `past_key_values` to `cache`.
        given = [kwargs.get("cache"), kwargs.get("past_key_values"), *args]
        caches = [cache for cache in given if hasattr(cache, "get_seq_length")]
        self._past = int(caches[0].get_seq_length()) if caches else 0

    def look(
        self, module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, **options: Any
    ) -> None:
        """Compute the wanted rows of one layer of the running forward pass; called by the model."""
        causal = options.get("is_causal")
        rows = self._rows_of_layer(module, query.shape[0], query.shape[2])
        if not rows:
            return
        scores = row_scores(
            query,
            key,
            mask,
            rows,
            scaling=options.get("scaling"),
            causal=bool(getattr(module, "is_causal", True) if causal is None else causal),
            bias=options.get("position_bias"),
        )
        self._put(module, scores if self._before_softmax else scores.softmax(-1), query.shape[2])

    def _eager_layer(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Take the wanted rows from a layer's full matrix, and the matrix out of the layer's output."""
        at, full = weights_in(output, self._name)
        rows = self._rows_of_layer(module, full.shape[0], full.shape[2])
        if rows:
            self._put(module, full[0, :, rows].detach().float(), full.shape[2])
        return (*output[:at], None, *output[at + 1 :])

    def _rows_of_layer(self, module: nn.Module, batch: int, n_queries: int) -> list[int]:
        """Query indices wanted of a layer in this pass."""
        self._called = True
        if self._modules[module] not in self._layers:
            return []
        if batch != 1:
            raise AttentionError(
                f"a batch of {batch} cannot be tapped.", todo="Ask one question at a time, without beams."
            )
        if self._rows_of_pass is None:
            self._positions = wanted_rows(self._rows_wanted, self._past, self._past + n_queries)
            self._rows_of_pass = [position - self._past for position in self._positions]
        return self._rows_of_pass

    def _put(self, module: nn.Module, weights: Tensor, n_queries: int) -> None:
        if self._pass is None:
            raise AttentionError("a layer was run outside the decoder's forward pass.", where=self._name)
        n_keys = weights.shape[-1] if self.kind == "cross" else self._past + n_queries
        self._pass.put(self._modules[module], weights, n_keys)

    def _pass_ends(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Check the layers of this forward pass, and store its rows."""
        if not self._called:
            raise bypassed(self._name)
        if not self._positions:
            return
        held, self._pass = self._pass, None
        if held is None:
            return
        layers, weights = held.taken()
        missing = sorted(set(self._layers) - set(layers))
        if self._strict and missing:
            raise AttentionError(
                f"the layers {missing} do not go through the attention interface.", where=self._name
            )
        for i, position in enumerate(self._positions):
            row = self._stored(position, layers, weights[:, :, i])
            self.captured.append(row)
            if self._on_row is not None:
                self._on_row(row)

    def _stored(self, position: int, layers: tuple[int, ...], weights: Tensor) -> TapRow:
        given = (position, layers, weights, self._dtype, self._name)
        if self._before_softmax:
            return score_row(*given)
        return whole_row(*given) if self._picture is None else picture_row(*given, self._picture)


def _columns(picture: ArrayLike) -> NDArray[np.int64]:
    columns = np.asarray(picture, np.int64).ravel()
    if not len(columns) or len(np.unique(columns)) != len(columns):
        raise AttentionError("the picture's columns are none, or one is named twice.")
    return columns
