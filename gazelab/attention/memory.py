"""What a run will take of the memory, told before it; and memory that ran out, told in words.

The figures are sums over the shapes of a decoder's and a vision tower's layers. They were 0.8 to 1.3 times
the peaks measured on a CPU (a decoder of SmolLM-135M's shape with 450 and 1,650 tokens, one of SmolVLM-256M's
with four tiles; float32 and bfloat16).
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from gazelab.attention.decoder import attention_modules, can_be_tapped, decoder_of, n_heads
from gazelab.attention.eager import eager_memory_bytes
from gazelab.attention.memory_free import free_host_bytes
from gazelab.core.errors import AttentionError

LOWER = "Take a smaller picture, another dtype (bfloat16), fewer layers, or a smaller model."
_HELD = 2
"""Times a layer's inner values is what a pass was measured to take: kernels pack copies, and allocators keep
what was given back."""
_SIGNS = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "cannot allocate memory",
    "alloc_failed",
    "bad_alloc",
)


@dataclass(frozen=True)
class MemoryEstimate:
    """What a run takes, in bytes.

    Attributes
    ----------
    device : str
        Where the model is ("cpu", "cuda:0", "mps").
    weights_bytes : int
        Held by the model already; no part of what is needed.
    cache_bytes : int
        Keys and values of the prompt and the answer.
    activations_bytes : int
        At the height of the pass over the prompt, or of the vision tower's, whichever is more.
    tap_bytes : int
        What reading the attention needs while it runs; for a model that cannot be tapped, one layer's matrix.
    trace_bytes : int
        The rows that are kept, in float16; always in the host's memory.
    eager_bytes : int
        What the library's own attentions (`output_attentions`) would add, for comparison.
    free_bytes : int or None
        What the device has left now; None if the system does not say.
    """

    device: str
    weights_bytes: int
    cache_bytes: int
    activations_bytes: int
    tap_bytes: int
    trace_bytes: int
    eager_bytes: int
    free_bytes: int | None

    @property
    def needed_bytes(self) -> int:
        """Beyond the weights."""
        return self.cache_bytes + self.activations_bytes + self.tap_bytes + self.trace_bytes

    @property
    def fits(self) -> bool:
        """Tell whether there is room; True if the system does not say."""
        return self.free_bytes is None or self.needed_bytes <= self.free_bytes

    def text(self) -> str:
        """Say it in one line."""
        free = "" if self.free_bytes is None else f" of {_gb(self.free_bytes)} free"
        return (
            f"needs about {_gb(self.needed_bytes)}{free} on {self.device} (picture and prompt"
            f" {_gb(self.activations_bytes)}, cache {_gb(self.cache_bytes)}, attention"
            f" {_gb(self.tap_bytes + self.trace_bytes)}); the weights hold {_gb(self.weights_bytes)}, and the"
            f" library's own attentions would add {_gb(self.eager_bytes)}."
        )

    def refuse_if_too_large(self, model_name: str) -> None:
        """Stop before the run rather than in it.

        Raises
        ------
        AttentionError
            There is no room; says what to lower.
        """
        if not self.fits:
            raise AttentionError(f"no room: it {self.text()}", where=model_name, todo=LOWER)


def estimate(
    model: Any, n_tokens: int, max_new_tokens: int, *, n_patches: int | None = None
) -> MemoryEstimate:
    """Estimate what a tapped answer takes.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    n_tokens : int
        Of the prompt, the picture's included; of an encoder-decoder, what the encoder reads.
    max_new_tokens : int
    n_patches : int, optional
        Patches that the vision tower reads; the prompt's tokens times its merge if None.

    Returns
    -------
    MemoryEstimate
    """
    decoder = decoder_of(model)
    text = decoder.config.get_text_config(decoder=True)
    item = next(decoder.parameters()).element_size()
    layers = len(set(attention_modules(decoder, "self").values())) or 1
    heads = n_heads(decoder)
    total = n_tokens + max_new_tokens
    cached = 2 * layers * _key_width(text, heads) * item * total
    row = layers * heads * total
    eager = eager_memory_bytes(model, n_tokens, kept=True)
    device = next(decoder.parameters()).device
    return MemoryEstimate(
        str(device),
        sum(part.numel() * part.element_size() for part in model.parameters()),
        cached,
        _HELD * max(_pass_bytes(text, n_tokens, item), _vision_bytes(model, n_tokens, n_patches, item)),
        # Beside the rows of a pass: their columns in order, and the keys of a layer in float32.
        3 * 4 * row if can_be_tapped(model) else eager_memory_bytes(model, n_tokens),
        2 * row * max_new_tokens,
        eager,
        free_bytes(device),
    )


def free_bytes(device: torch.device | str = "cpu") -> int | None:
    """Tell how many bytes a device has left for this process; None if it does not say."""
    device = torch.device(device)
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + unused)
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return free_host_bytes() if device.type == "cpu" else None


@contextmanager
def told(model: Any) -> Iterator[None]:
    """Turn memory that runs out within into words, and give back what the run held.

    Raises
    ------
    AttentionError
        Memory ran out; says what to lower. The model can be used again.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as fault:
        if not is_out_of_memory(fault):
            raise
        traceback.clear_frames(fault.__traceback__)  # they hold the tensors of the run
        gc.collect()
        _give_back(model.device.type)
        free = free_bytes(model.device)
        left = "" if free is None else f" ({_gb(free)} are free now)"
        raise AttentionError(
            f"memory ran out on {model.device}{left}.", where=type(model).__name__, todo=LOWER
        ) from None


def is_out_of_memory(fault: BaseException) -> bool:
    """Tell whether an error means that memory ran out, on any device."""
    if isinstance(fault, (MemoryError, torch.OutOfMemoryError)):
        return True
    said = str(fault).lower()
    return isinstance(fault, RuntimeError) and any(sign in said for sign in _SIGNS)


def _give_back(device: str) -> None:
    if device == "cuda":
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()


def _pass_bytes(config: Any, n_tokens: int, item: int) -> int:
    """Memory of a layer's inner values, at their height, which is within its MLP."""
    width = _of(config, "hidden_size", "d_model", "n_embd")
    inner = _of(config, "decoder_ffn_dim", "intermediate_size", "d_ff", "n_inner", default=4 * width)
    logits = _of(config, "vocab_size", default=0) * (item + 4)
    return int(n_tokens * (4 * width + 4 * inner) * item + logits)


def _vision_bytes(model: Any, n_tokens: int, n_patches: int | None, item: int) -> int:
    """Memory of a vision tower's inner values; all tiles of a picture go through it at once."""
    config = getattr(model.config, "vision_config", None)
    if config is None:
        return 0
    patches = n_tokens * _merged(model.config, config) if n_patches is None else n_patches
    width = _of(config, "hidden_size", "embed_dim", "d_model", default=0)
    if not isinstance(width, int):  # a tower of stages, each half as fine: its first is the largest
        width = int(width[0])
    inner = _of(config, "intermediate_size", "d_ff", default=4 * width)
    return int(patches * (5 * width + 2 * inner) * item)


def _merged(config: Any, vision: Any) -> int:
    """How many patches become one token."""
    side = getattr(vision, "spatial_merge_size", None) or getattr(config, "scale_factor", None)
    ratio = getattr(config, "downsample_ratio", None)
    if side is None and ratio:
        side = round(1 / ratio)
    return int(side or 1) ** 2


def _key_width(config: Any, heads: int) -> int:
    width = _of(config, "hidden_size", "d_model", "n_embd")
    of_head = getattr(config, "head_dim", None) or getattr(config, "d_kv", None) or width // heads
    return int((getattr(config, "num_key_value_heads", None) or heads) * of_head)


def _of(config: Any, *names: str, default: Any = None) -> Any:
    for name in names:
        value = getattr(config, name, None)
        if value is not None:
            return value
    if default is None:
        raise AttentionError(f"its configuration tells no {names[0]}.", where=type(config).__name__)
    return default


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2g} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.0f} MB"
