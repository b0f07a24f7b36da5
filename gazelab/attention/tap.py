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
from transformers import AttentionInterface, AttentionMaskInterface

from gazelab.attention.captured import TapRow, picture_row, stack_layers, whole_row
from gazelab.attention.decoder import (
    Kind,
    attention_modules,
    can_be_tapped,
    chosen_layers,
    decoder_of,
    uses_interface,
)
from gazelab.attention.eager import weights_in
from gazelab.attention.implementations import RestoredImplementations, attention_implementations
from gazelab.attention.row_weights import aligned, row_weights
from gazelab.attention.rows import Rows, wanted_rows
from gazelab.core.errors import AttentionError

TAP = "gazelab_tap"
_TAPPED: dict[nn.Module, AttentionTap] = {}


class AttentionTap:
    """Read a few attention rows of a Hugging Face model while it runs with its fast kernel.

    A context manager round `generate` or a forward pass, batch 1. On leaving, the model is as it was: the
    attention implementation of every sub-model is put back and no hook stays. Inside, the output is that of
    the sdpa kernel.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model whose decoder calls the attention interface.
    rows : "last", "all", int, slice or sequence of int
        Wanted query positions in the whole sequence; see `gazelab.attention.rows`. "last" reads, in every
        forward pass, the row that predicts the next token.
    layers : sequence of int, optional
        Which decoder layers; negative numbers count from the end; all by default.
    picture : array of int, optional
        Key positions of the picture's tokens: only these columns are kept, with the sums on text and sink.
    kind : "self" or "cross"
        The decoder's attention to its own sequence, or (encoder-decoder models) to the encoder's.
    method : "interface" or "eager"
        "eager" is for models that bypass the attention interface: their own eager attention runs, the wanted
        rows are taken from each layer's N×N matrix, and the matrix is dropped layer by layer. Estimate the
        memory first with `gazelab.attention.eager.eager_memory_bytes`.
    dtype : dtype
        Of the stored weights; float16 halves the memory.
    on_row : callable, optional
        Called with each `TapRow` as soon as its forward pass has ended.

    Raises
    ------
    AttentionError
        The model bypasses the interface, is tapped already, is run with a batch, or a layer's weights are
        not finite.

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
        picture: ArrayLike | None = None,
        kind: Kind = "self",
        method: Literal["interface", "eager"] = "interface",
        dtype: DTypeLike = np.float32,
        on_row: Callable[[TapRow], None] | None = None,
    ) -> None:
        wanted_rows(rows, 0, 1)  # refuses an unknown word before the model runs
        self.model = model
        self.kind = kind
        self.method = method
        self.captured: list[TapRow] = []
        self._rows_wanted = rows
        self._picture = None if picture is None else np.asarray(picture, np.int64).ravel()
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
        self._pass: dict[int, Tensor] = {}

    def __enter__(self) -> Self:
        if any(module in _TAPPED for module in self._modules):
            raise AttentionError("the model is tapped already.", todo="Close the other tap first.")
        before = RestoredImplementations(self.model)
        self._restore = before.restore
        try:
            self._switch()
            self._hooks.append(self._stack.register_forward_pre_hook(self._pass_begins, with_kwargs=True))
            self._hooks.append(self._stack.register_forward_hook(self._pass_ends))
        except BaseException:
            self._leave()
            raise
        _TAPPED.update(dict.fromkeys(self._modules, self))
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
            if _TAPPED.get(module) is self:
                del _TAPPED[module]
        self._restore()
        self._pass.clear()

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
            Keys that a row cannot see yet are 0.

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
        longest = max(row.weights.shape[-1] for row in self.captured)
        out = np.zeros((len(self.captured), *self.captured[0].weights.shape[:2], longest), self._dtype)
        for i, row in enumerate(self.captured):
            out[i, ..., : row.weights.shape[-1]] = row.weights
        return out

    def _switch(self) -> None:
        """Make the decoder call the tap, or its own eager attention."""
        if not self._modules:
            raise AttentionError(f"no {self.kind}-attention layers can be found in it.", where=self._name)
        if self.method == "eager":
            for module in self._modules:
                self._hooks.append(module.register_forward_hook(self._eager_layer))
            if uses_interface(self._stack):  # else it knows no other way than its own
                self._set_implementation("eager")
            return
        if not can_be_tapped(self._stack):
            raise self._bypassed()
        AttentionInterface.register(TAP, _tapped_attention)
        AttentionMaskInterface.register(TAP, AttentionMaskInterface()["sdpa"])
        self._set_implementation(TAP)
        top = self.model.config
        if (getattr(top, "_attn_implementation", None) or "eager") not in (TAP, "sdpa", "eager"):
            # Some models make the decoder's mask in the outer model: it must be one that sdpa understands.
            top._attn_implementation_internal = TAP

    def _set_implementation(self, name: str) -> None:
        try:
            self._stack.set_attn_implementation(name)
        except (ValueError, KeyError, ImportError) as fault:
            raise AttentionError(f"it refuses the tap ({fault}).", where=self._name) from fault
        used = attention_implementations(self._stack).get("")
        if used != name:
            raise AttentionError(f"it kept the {used} kernel instead of {name}.", where=self._name)

    def _bypassed(self) -> AttentionError:
        return AttentionError(
            "its attention does not go through the attention interface with sdpa, so it cannot be tapped.",
            where=self._name,
            todo='Use method="eager"; gazelab.attention.eager.eager_memory_bytes() says what that costs.',
        )

    def _pass_begins(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._pass.clear()
        self._positions = []
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
        if rows:
            weights = row_weights(
                query,
                key,
                mask,
                rows,
                scaling=options.get("scaling"),
                causal=bool(getattr(module, "is_causal", True) if causal is None else causal),
                bias=options.get("position_bias"),
            )
            self._pass[self._modules[module]] = self._aligned(weights, query.shape[2])

    def _eager_layer(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Take the wanted rows from a layer's full matrix, and the matrix out of the layer's output."""
        at, full = weights_in(output, self._name)
        rows = self._rows_of_layer(module, full.shape[0], full.shape[2])
        if rows:
            weights = full[0, :, rows].detach().float().transpose(0, 1)
            self._pass[self._modules[module]] = self._aligned(weights, full.shape[2])
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
        self._positions = wanted_rows(self._rows_wanted, self._past, self._past + n_queries)
        return [position - self._past for position in self._positions]

    def _aligned(self, weights: Tensor, n_queries: int) -> Tensor:
        return weights if self.kind == "cross" else aligned(weights, self._past + n_queries)

    def _pass_ends(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Check the layers of this forward pass, and store its rows."""
        if not self._called:
            raise self._bypassed()
        if not self._positions:
            return
        missing = set(self._layers) - set(self._pass)
        if self._strict and missing:
            raise AttentionError(
                f"the layers {sorted(missing)} do not go through the attention interface.",
                where=self._name,
            )
        layers, stacked = stack_layers(self._pass, self._name)
        self._pass.clear()
        for i, position in enumerate(self._positions):
            row = self._stored(position, layers, stacked[:, i])
            self.captured.append(row)
            if self._on_row is not None:
                self._on_row(row)

    def _stored(self, position: int, layers: tuple[int, ...], weights: Tensor) -> TapRow:
        if self._picture is None:
            return whole_row(position, layers, weights, self._dtype)
        return picture_row(position, layers, weights, self._dtype, self._picture)


def _tapped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> Any:
    """Attention as the model calls it: sdpa for the output, and the tap beside it."""
    beyond = [name for name in ("softcap", "s_aux") if options.get(name) is not None]
    if beyond:
        raise AttentionError(
            f"its attention needs {beyond[0]}, which the sdpa kernel cannot do.",
            where=type(module).__name__,
            todo='Use method="eager".',
        )
    tap = _TAPPED.get(module)
    if tap is not None:
        tap.look(module, query, key, attention_mask, **options)
    return AttentionInterface()["sdpa"](module, query, key, value, attention_mask, **options)
