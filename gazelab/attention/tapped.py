"""The attention function that a tapped model calls: sdpa for the output, and whoever looks on beside it."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface

from gazelab.core.errors import AttentionError

TAP = "gazelab_tap"
_BEYOND = ("softcap", "s_aux")
"""What some models ask of their attention (capped scores, a learned sink) and the sdpa kernel cannot do."""


class Looks(Protocol):
    """Someone who looks on."""

    def look(
        self, module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, **options: Any
    ) -> None:
        """Take what is wanted of one layer's call; the shapes are those of the library's kernels."""


TAPPED: dict[nn.Module, Looks] = {}
"""Who looks on at which attention module."""


def register_tap() -> None:
    """Make the tap known to transformers, as a kernel with sdpa's masks."""
    AttentionInterface.register(TAP, _tapped_attention)
    AttentionMaskInterface.register(TAP, AttentionMaskInterface()["sdpa"])


def _tapped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> Any:
    """Attention as the model calls it."""
    beyond = [name for name in _BEYOND if options.get(name) is not None]
    if beyond:
        raise AttentionError(
            f"its attention needs {beyond[0]}, which the sdpa kernel cannot do.",
            where=type(module).__name__,
            todo='Use method="eager".',
        )
    onlooker = TAPPED.get(module)
    if onlooker is not None:
        onlooker.look(module, query, key, attention_mask, **options)
    return AttentionInterface()["sdpa"](module, query, key, value, attention_mask, **options)
