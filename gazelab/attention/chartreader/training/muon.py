"""Muon for the matrices (Jordan et al. 2024), AdamW for everything else."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrices: Tensor, steps: int = 5, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Move the singular values of (n, rows, columns) towards 1 by a quintic Newton-Schulz iteration.

    Coefficients of Jordan et al. 2024: values end within about 0.7..1.2, which is enough here.
    """
    a, b, c = _COEFFICIENTS
    x = (matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)).to(dtype)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.transpose(-2, -1)
    for _ in range(steps):
        gram = x @ x.transpose(-2, -1)
        x = a * x + (b * gram + c * gram @ gram) @ x
    out: Tensor = (x.transpose(-2, -1) if tall else x).to(matrices.dtype)
    return out


class Muon(Optimizer):
    """Momentum whose update is orthogonalised, scaled so that AdamW's learning rate suits it too.

    The scale 0.2 sqrt(max(rows, columns)) gives the update an RMS of about 0.2 (Liu et al. 2025).
    Kernels of convolutions are taken as (out, in * height * width).
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.01
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for param in group["params"]:
                if param.grad is None:
                    continue
                update = self._momentum(param, group["momentum"])
                by_shape[(update.shape[0], update.shape[1])].append((param, update))
            for shape, pairs in by_shape.items():
                # Matrices of one shape are iterated together: far fewer small products.
                updates = orthogonalise(torch.stack([update for _, update in pairs]))
                scale = 0.2 * math.sqrt(max(shape))
                for (param, _), update in zip(pairs, updates, strict=True):
                    param.mul_(1 - group["lr"] * group["weight_decay"])
                    param.add_(update.view_as(param), alpha=-group["lr"] * scale)

    def _momentum(self, param: Tensor, momentum: float) -> Tensor:
        state: dict[str, Any] = self.state[param]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(param)
        assert param.grad is not None
        buffer: Tensor = state["momentum"]
        buffer.lerp_(param.grad, 1 - momentum)
        return param.grad.lerp(buffer, momentum).flatten(1)


def make_optimisers(modules: Iterable[nn.Module], lr: float) -> tuple[Muon, AdamW]:
    """Matrices of the encoder's and decoder's layers to Muon, the rest to AdamW."""
    matrices: list[Tensor] = []
    rest: list[Tensor] = []
    for module in modules:
        for name, param in module.named_parameters():
            inside = name.startswith(("encoder.layers", "decoder.layers", "encoder.stem"))
            is_matrix = param.ndim >= 2 and inside and not name.endswith("shift.weight")
            (matrices if is_matrix else rest).append(param)
    return Muon(matrices, lr), AdamW(rest, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
