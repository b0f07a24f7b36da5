"""A training run on disk: one safetensors file of every tensor, with how far it has come in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.optim import Optimizer

from gazelab.core.errors import AttentionError

CHECKPOINT = "checkpoint.safetensors"


def write_checkpoint(folder: Path, tensors: Mapping[str, Tensor], progress: dict[str, Any]) -> None:
    """Write tensors and JSON-ready progress, replacing the last checkpoint in one step."""
    new = folder / (CHECKPOINT + ".new")
    contiguous = {name: value.contiguous() for name, value in tensors.items()}
    new.write_bytes(save(contiguous, {"progress": json.dumps(progress)}))
    new.replace(folder / CHECKPOINT)


def read_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_checkpoint` wrote.

    Raises
    ------
    AttentionError
        Missing or broken.
    """
    path = folder / CHECKPOINT
    try:
        with safe_open(path, "pt") as file:
            progress = json.loads(file.metadata()["progress"])
            return {name: file.get_tensor(name) for name in file.keys()}, progress  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as fault:
        raise AttentionError(
            f"the checkpoint cannot be read ({fault}).",
            where=path,
            todo="Start anew in another folder, or with --restart.",
        ) from fault


def part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Give the tensors whose names begin with `prefix`, without it."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def optimiser_tensors(optimisers: Sequence[Optimizer]) -> dict[str, Tensor]:
    """Name each state tensor `optimiser.<which>.<parameter>.<name>`."""
    return {
        f"optimiser.{i}.{index}.{name}": value
        for i, optimiser in enumerate(optimisers)
        for index, values in optimiser.state_dict()["state"].items()
        for name, value in values.items()
    }


def load_optimisers(optimisers: Sequence[Optimizer], tensors: Mapping[str, Tensor]) -> None:
    """Inverse of `optimiser_tensors`."""
    for i, optimiser in enumerate(optimisers):
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in part(tensors, f"optimiser.{i}.").items():
            index, _, name = key.partition(".")
            state.setdefault(int(index), {})[name] = value
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
