"""Record the queries, keys and values of a Hugging Face model's attention layers while it answers."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface

from gazelab.attention.decoder import attention_modules, decoder_of, is_attention, uses_interface
from gazelab.attention.implementations import RestoredImplementations, set_implementation
from gazelab.attention.methods.recorded import Beyond, Block, RecordedLayer, explicit_attention
from gazelab.core.errors import AttentionError

RECORD = "gazelab_record"
_RECORDED: dict[nn.Module, Recorder] = {}


class Recorder:
    """A context manager round `generate`; on leaving, the model is as it was.

    The fast kernel makes the output as ever; where it cannot, full matrices do, one layer at a time. The
    kernel's arguments are kept: references to tensors that the model's cache holds anyway, and each layer's
    queries.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    kind : "self" or "cross"
    gradients : bool
        Keep the graph from each layer's attention on, so that a logit's gradient reaches it. Parameters are
        frozen for the time: their gradients are not wanted, and would cost memory.

    Raises
    ------
    AttentionError
        The model bypasses the attention interface, or is recorded already.
    """

    def __init__(self, model: Any, kind: str, *, gradients: bool = False) -> None:
        self.model = model
        self.kind = kind
        self.gradients = gradients
        stack = decoder_of(model)
        self.decoder = _layers(attention_modules(stack, "self"))
        self.cross = _layers(attention_modules(stack, "cross")) if kind == "cross" else {}
        self._encoder = _encoder_of(model) if kind == "cross" else None
        self.encoder = _layers(_encoder_modules(self._encoder, stack))
        self._stack = stack
        self._frozen: list[nn.Parameter] = []
        self._hooks: list[Any] = []

    def __enter__(self) -> Self:
        refuse_what_cannot_be_recorded(self.model)
        everything = {**self.decoder, **self.cross, **self.encoder}
        if any(module in _RECORDED for module in everything):
            raise AttentionError("the model is recorded already.", todo="Wait for the other map.")
        AttentionInterface.register(RECORD, _recorded_attention)
        AttentionMaskInterface.register(RECORD, AttentionMaskInterface()["sdpa"])
        self._before = RestoredImplementations(self.model)
        try:
            set_implementation(self._stack, RECORD)
            if self._encoder is not None:
                set_implementation(self._encoder, RECORD)
        except AttentionError:
            self._before.restore()
            raise
        top = self.model.config
        if (getattr(top, "_attn_implementation", None) or "eager") not in (RECORD, "sdpa", "eager"):
            # Some models make the decoder's mask in the outer model: it must be one that sdpa understands.
            top._attn_implementation_internal = RECORD
        if self.gradients:
            self._frozen = [part for part in self.model.parameters() if part.requires_grad]
            for part in self._frozen:
                part.requires_grad_(False)
            # `generate` switches gradients off for itself, and what it has switched it puts back.
            self._hooks = [self._stack.register_forward_pre_hook(lambda *_: _with_gradients())]
        _RECORDED.update(dict.fromkeys(everything, self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for module in [module for module, by in _RECORDED.items() if by is self]:
            del _RECORDED[module]
        for hook in self._hooks:
            hook.remove()
        for part in self._frozen:
            part.requires_grad_(True)
        self._hooks, self._frozen = [], []
        self._before.restore()

    def keep(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, options: Any
    ) -> Tensor:
        """Run the fast kernel and keep its arguments; gives the kernel's output."""
        if query.shape[0] != 1:
            raise AttentionError(
                f"a batch of {query.shape[0]} cannot be recorded.", todo="Ask one question at a time."
            )
        if self.gradients and not (query.requires_grad or key.requires_grad or value.requires_grad):
            # Here the graph begins: nothing before the first layer's attention is asked about.
            value = value.detach().requires_grad_(True)
        output, causal, beyond = _attended(module, query, key, value, mask, options)
        layer = next(part[module] for part in (self.decoder, self.cross, self.encoder) if module in part)
        first = layer.blocks[-1].end if layer.blocks else 0
        first_key = 0
        if module in self.decoder:
            self._refuse_a_second_reading(first, query, key)
            so_far = first + int(query.shape[2])
            # A sliding window's cached step holds the last keys only, a preallocated cache places to come.
            first_key = max(0, so_far - int(key.shape[2]))
            key, value = key[:, :, :so_far], value[:, :, :so_far]
        query, key, value = query.detach(), key.detach(), value.detach()
        if not first_key:
            _share(layer, key, value)
        bias, scaling = options.get("position_bias"), options.get("scaling")
        bias = None if bias is None else bias.detach()
        layer.blocks.append(
            Block(query, key, value, mask, bias, scaling, causal, output, first, first_key, beyond)
        )
        return output

    def _refuse_a_second_reading(self, first: int, query: Tensor, key: Tensor) -> None:
        """Stop where a model reads all its answer again: positions would be counted wrong."""
        if first and int(key.shape[2]) == int(query.shape[2]) > 1:
            raise AttentionError(
                "it reads its answer anew for each token, and keeps no cache.",
                where=type(self._stack).__name__,
                todo="Use mean, max, raw or relative.",
            )

    def layers(self, part: dict[nn.Module, RecordedLayer]) -> tuple[RecordedLayer, ...]:
        """Give the layers of one part that were run, from the lowest."""
        return tuple(sorted((layer for layer in part.values() if layer.blocks), key=lambda x: x.number))


def _with_gradients() -> None:
    torch.set_grad_enabled(True)


def _attended(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, options: Any
) -> tuple[Tensor, bool, Beyond]:
    """Attend as the model would: the output, whether it looks back only, and what sdpa cannot do."""
    causal = options.get("is_causal")
    causal = bool(getattr(module, "is_causal", True) if causal is None else causal)
    causal = causal and int(query.shape[2]) > 1  # a single query sees every key
    beyond = Beyond(options.get("softcap"), options.get("s_aux"))
    if beyond.softcap is None and beyond.sinks is None:
        output: Tensor = AttentionInterface()["sdpa"](module, query, key, value, mask, **options)[0]
    else:
        scaling = options.get("scaling")
        output = explicit_attention(query, key, value, mask, scaling=scaling, causal=causal, beyond=beyond)
    return output, causal, beyond


def _share(layer: RecordedLayer, key: Tensor, value: Tensor) -> None:
    """Let earlier calls use the newest keys, which begin with theirs: else each token would hold a copy."""
    for i, block in enumerate(layer.blocks):
        if not block.first_key:
            n = block.n_keys
            layer.blocks[i] = replace(block, key=key[:, :, :n], value=value[:, :, :n])


def refuse_what_cannot_be_recorded(model: Any) -> None:
    """Stop where a model's attention does not come through the interface.

    Raises
    ------
    AttentionError
        Its kernel cannot be chosen.
    """
    if not uses_interface(decoder_of(model)):
        raise AttentionError(
            "its attention does not go through the attention interface, so that its queries, keys and values"
            " cannot be read.",
            where=type(model).__name__,
            todo="Use mean, max, raw or relative.",
        )


def _layers(modules: dict[nn.Module, int]) -> dict[nn.Module, RecordedLayer]:
    return {module: RecordedLayer(number, module) for module, number in modules.items()}


def _encoder_of(model: Any) -> Any:
    """Find the sub-model whose output is looked at; None where there is none."""
    encoder = model
    while hasattr(inner := encoder.get_encoder(), "set_attn_implementation") and inner is not encoder:
        encoder = inner
    return None if encoder is model else encoder


def _encoder_modules(encoder: Any, decoder: nn.Module) -> dict[nn.Module, int]:
    """Find the encoder's attention layers, numbered in order."""
    if encoder is None:
        return {}
    there = {module for module in decoder.modules()}
    found = [
        module
        for module in encoder.modules()
        if is_attention(module)
        and module not in there
        and not any(is_attention(part) for part in module.modules() if part is not module)
    ]
    return {module: number for number, module in enumerate(found)}


def _recorded_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> Any:
    """Attention as the model calls it: sdpa, and its arguments kept beside it."""
    recorder = _RECORDED.get(module)
    if recorder is None:  # a part of the model that nobody asks about, such as a vision tower
        return AttentionInterface()["sdpa"](module, query, key, value, attention_mask, **options)
    return recorder.keep(module, query, key, value, attention_mask, options), None
