"""Where a model runs and in which numbers: device, number type, quantisation; each checked before loading."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

from gazelab.attention.checkpoint_memory import QUANT_BYTES
from gazelab.core.errors import AttentionError

DTYPES = ("auto", "bfloat16", "float16", "float32")


def check_dtype(dtype: str) -> None:
    """Refuse what is no number type for weights.

    Raises
    ------
    AttentionError
    """
    if dtype not in DTYPES:
        raise AttentionError(
            f'"{dtype}" is no number type for a model.', where="--dtype", todo=f"Use {', '.join(DTYPES)}."
        )


def check_device(device: str) -> None:
    """Refuse a device that this machine or this build of torch does not have.

    Raises
    ------
    AttentionError
        With what there is.
    """
    kind, _, number = device.partition(":")
    there = devices()
    if kind in ("cpu", "cuda", "mps") and (number.isdigit() or not number) and device in there:
        return
    why = {
        "cuda": "torch finds no NVIDIA card that it can use"
        + ("" if torch.version.cuda else "; this build of torch is for the CPU alone"),
        "mps": "torch finds no Apple GPU that it can use",
    }.get(kind, "there is no such kind of device")
    if kind == "cuda" and torch.cuda.is_available():
        why = f"there are {torch.cuda.device_count()} cards, counted from 0"
    raise AttentionError(f"{why}.", where=f"device {device}", todo=f"Use one of: {', '.join(there)}.")


def devices() -> list[str]:
    """Name the devices that a model can run on here."""
    there = ["cpu"]
    if torch.cuda.is_available():
        there += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        there.append("mps")
    return there


def quantisation(quant: str | None, device: str) -> Any:
    """Make the configuration for the first library that is installed and can quantise on a device.

    bitsandbytes (LLM.int8, Dettmers et al. 2022; NF4, Dettmers et al. 2023) where it is installed, else
    torchao's weight-only schemes.

    Returns
    -------
    QuantizationConfigMixin or None
        None without `quant`.

    Raises
    ------
    AttentionError
        There is no such scheme, or no library for it.
    """
    if quant is None:
        return None
    if quant not in QUANT_BYTES:
        raise AttentionError(f'"{quant}" is no quantisation.', where="--quant", todo="Use 4bit or 8bit.")
    if find_spec("accelerate") is None:
        raise _missing("accelerate is not installed, which transformers needs to quantise")
    if find_spec("bitsandbytes") is not None:
        from transformers import BitsAndBytesConfig

        if quant == "8bit":
            return BitsAndBytesConfig(load_in_8bit=True)
        return BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
    if find_spec("torchao") is not None:
        return _torchao(quant, device)
    raise _missing("neither bitsandbytes nor torchao is installed")


def _torchao(quant: str, device: str) -> Any:
    from torchao.quantization import (  # type: ignore[import-not-found]  # optional
        Int4WeightOnlyConfig,
        Int8WeightOnlyConfig,
    )
    from transformers import TorchAoConfig

    if quant == "4bit" and not device.startswith("cuda"):
        raise _missing("torchao quantises to 4 bits on NVIDIA cards only")
    return TorchAoConfig(Int8WeightOnlyConfig() if quant == "8bit" else Int4WeightOnlyConfig())


def _missing(why: str) -> AttentionError:
    return AttentionError(
        f"{why}.",
        where="--quant",
        todo="Install it: pip install bitsandbytes accelerate; or leave --quant out.",
    )
