"""Plain references: full matrices, one loop a rule, and the library's own eager attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def eager(model: Any, kind: str, **inputs: Any) -> tuple[Any, dict[str, list[Tensor]]]:
    """One pass with full attention matrices in the graph, (head, query, key) a layer."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    out = model(**inputs, output_attentions=True, use_cache=False)
    model.set_attn_implementation(before)
    if kind == "self":
        return out, {"decoder": list(out.attentions)}
    return out, {
        "decoder": list(out.decoder_attentions),
        "cross": list(out.cross_attentions),
        "encoder": list(out.encoder_attentions),
    }


def rollout(matrices: list[Tensor], heads: list[int], layers: list[int]) -> Tensor:
    """Abnar and Zuidema 2020: (mean over heads + I) / 2, multiplied up."""
    n = matrices[0].shape[-1]
    joint = torch.eye(n)
    for number, matrix in enumerate(matrices):
        if number in layers:
            augmented = 0.5 * matrix[0].detach()[heads].mean(0) + 0.5 * torch.eye(n)
            joint = augmented @ joint
    return joint


def cam(matrix: Tensor, gradient: Tensor | None) -> Tensor:
    """Chefer et al. 2021, eq. 5."""
    if gradient is None:
        return torch.zeros_like(matrix[0].mean(0)).detach()
    return (matrix[0] * gradient[0]).detach().clamp(min=0).mean(0)


def gradients(logit: Tensor, parts: dict[str, list[Tensor]]) -> dict[str, list[Tensor | None]]:
    flat = [matrix for part in parts.values() for matrix in part]
    found = list(torch.autograd.grad(logit, flat, retain_graph=True, allow_unused=True))
    return {name: [found.pop(0) for _ in part] for name, part in parts.items()}


def relevance_self(parts: dict[str, list[Tensor]], logit: Tensor) -> Tensor:
    """Chefer et al. 2021, eq. 6 for one modality: R ← R + Ā·R."""
    found = gradients(logit, parts)["decoder"]
    relevance = torch.eye(parts["decoder"][0].shape[-1])
    for matrix, gradient in zip(parts["decoder"], found, strict=True):
        relevance = relevance + cam(matrix, gradient) @ relevance
    return relevance


def scaled(relevance: Tensor) -> Tensor:
    """Chefer et al. 2021, eq. 8 and 9, row by row; a row of 0 stays 0."""
    eye = torch.eye(len(relevance))
    beyond = relevance - eye
    for row in beyond:
        if row.sum() > 0:
            row /= row.sum()
    return beyond + eye


def relevance_cross(parts: dict[str, list[Tensor]], logit: Tensor) -> Tensor:
    """Chefer et al. 2021, encoder-decoder: the encoder first, then each decoder layer's two rules."""
    found = gradients(logit, parts)
    in_encoder = torch.eye(parts["encoder"][0].shape[-1])
    for matrix, gradient in zip(parts["encoder"], found["encoder"], strict=True):
        in_encoder = in_encoder + cam(matrix, gradient) @ in_encoder
    n = parts["decoder"][0].shape[-1]
    own, to_encoder = torch.eye(n), torch.zeros(n, len(in_encoder))
    for i in range(len(parts["decoder"])):
        here = cam(parts["decoder"][i], found["decoder"][i])
        own, to_encoder = own + here @ own, to_encoder + here @ to_encoder
        there = cam(parts["cross"][i], found["cross"][i])
        to_encoder = to_encoder + scaled(own).T @ there @ scaled(in_encoder)
    return to_encoder
