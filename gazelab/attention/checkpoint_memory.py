"""Whether a checkpoint fits, told before it is opened: by its files alone, and without torch for the CPU."""

from __future__ import annotations

from pathlib import Path

from gazelab.attention.checkpoint_files import loaded_bytes
from gazelab.attention.hub import size_text
from gazelab.attention.memory_free import free_host_bytes
from gazelab.core.errors import AttentionError

QUANT_BYTES = {"8bit": 1.1, "4bit": 0.6}
"""Bytes a number: the number itself and its share of a block's scale, and what is left unquantised."""
ITEM_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "float64": 8.0}
WORKING_SHARE, WORKING_BYTES = 0.15, 300_000_000
"""Beside the weights a run needs activations, the cache of keys and values, and the library itself."""


def needed_bytes(folder: Path, dtype: str = "auto", quant: str | None = None) -> int:
    """Estimate what a checkpoint takes once opened and asked.

    Parameters
    ----------
    folder : Path
    dtype : str
        As for `open_model`; "auto" is taken as stored.
    quant : str, optional
    """
    weights = loaded_bytes(folder, QUANT_BYTES[quant] if quant else ITEM_BYTES.get(dtype))
    return int(weights * (1 + WORKING_SHARE)) + WORKING_BYTES


def check_memory(where: str | Path, needed: int, free: int | None, device: str) -> None:
    """Refuse what does not fit.

    Raises
    ------
    AttentionError
        With both figures and what to lower.
    """
    if free is not None and needed > free:
        raise AttentionError(
            f"it needs about {size_text(needed)} of memory, and {size_text(free)} are free on {device}.",
            where=where,
            todo="Close other programs, take a smaller checkpoint, or try --dtype bfloat16 or --quant 4bit.",
        )


def free_memory_bytes(device: str = "cpu") -> int | None:
    """Tell how much memory a device has free; None where it does not say."""
    if device == "cpu":
        return free_host_bytes()
    from gazelab.attention.memory import free_bytes

    return free_bytes(device)
