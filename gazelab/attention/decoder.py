"""Which part of a Hugging Face model writes the answer, and where its attention layers are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from torch import nn

from gazelab.core.errors import AttentionError

Kind = Literal["self", "cross"]
_ATTENTION = re.compile(r"(attention|attn)(?!.*(layer|block)$)", re.IGNORECASE)
_CROSS = re.compile(r"cross|encoder_attn|encdec|encoder_decoder", re.IGNORECASE)


def decoder_of(model: Any) -> Any:
    """Find the sub-model that writes the text; the model itself where it has no parts.

    Raises
    ------
    AttentionError
        Not a Hugging Face model, or one that torch has compiled.
    """
    if hasattr(model, "_orig_mod"):
        raise AttentionError(
            "a compiled model cannot be tapped.",
            where=type(model).__name__,
            todo="Give the model that was compiled.",
        )
    if not hasattr(model, "get_decoder") or not hasattr(model, "config"):
        raise AttentionError("not a Hugging Face model, so it cannot be tapped.", where=type(model).__name__)
    decoder = model
    # A vision-language model may name a whole encoder-decoder, whose decoder is called past its own forward.
    while hasattr(inner := decoder.get_decoder(), "set_attn_implementation") and inner is not decoder:
        decoder = inner
    return decoder


def n_heads(decoder: Any) -> int:
    """Give how many query heads a decoder's layers have.

    Raises
    ------
    AttentionError
        Its configuration does not say.
    """
    text = decoder.config.get_text_config(decoder=True)
    for name in ("decoder_attention_heads", "num_attention_heads", "num_heads"):
        for config in (decoder.config, text):
            if getattr(config, name, None) is not None:
                return int(getattr(config, name))
    raise AttentionError("its configuration tells no number of heads.", where=type(decoder).__name__)


def can_be_tapped(model: Any) -> bool:
    """Tell whether a model's decoder goes through the attention interface, and knows the sdpa kernel."""
    decoder = decoder_of(model)
    return uses_interface(decoder) and bool(getattr(decoder, "_supports_sdpa", True))


def uses_interface(decoder: Any) -> bool:
    """Tell whether a decoder's attention kernel can be chosen."""
    return bool(decoder._can_set_attn_implementation())


def attention_modules(decoder: nn.Module, kind: Kind) -> dict[nn.Module, int]:
    """Find a decoder's attention modules of one kind.

    Parameters
    ----------
    kind : "self" or "cross"
        Cross-attention is told by the module's name ("cross_attn", "encoder_attn", "EncDecAttention", …).

    Returns
    -------
    dict
        Module to the number of its layer.
    """
    found: dict[nn.Module, int] = {}
    for name, module in decoder.named_modules():
        layer = getattr(module, "layer_idx", None)
        if not isinstance(layer, int) or not is_attention(module):
            continue
        crosses = bool(_CROSS.search(name) or _CROSS.search(type(module).__name__))
        if crosses == (kind == "cross"):
            found[module] = layer
    return found


def is_attention(module: nn.Module) -> bool:
    """Tell whether a module is an attention layer, by its class's name; a block that holds one is not."""
    return bool(_ATTENTION.search(type(module).__name__))


def chosen_layers(wanted: Sequence[int] | None, available: Iterable[int]) -> tuple[int, ...]:
    """Resolve layer numbers; negative ones count from the last layer.

    Raises
    ------
    AttentionError
        There is no such layer.
    """
    numbers = sorted(set(available))
    if wanted is None:
        return tuple(numbers)
    out = set()
    for layer in wanted:
        number = numbers[layer] if -len(numbers) <= layer < 0 else layer
        if number not in numbers:
            raise AttentionError(f"there is no attention layer {layer}.", todo=f"The model has {numbers}.")
        out.add(int(number))
    return tuple(sorted(out))
