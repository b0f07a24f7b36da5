"""How a model marks the place of a token, as a picture: position (down) by channel (across)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from gazelab.attention.decoder import decoder_of
from gazelab.attention.study.records import PositionPicture
from gazelab.core.errors import AttentionError

SHOWN = 256
"""Positions that are drawn; the pattern goes on."""


def position_picture(model: Any) -> PositionPicture:
    """Find a Hugging Face decoder's position encoding.

    Parameters
    ----------
    model : transformers.PreTrainedModel

    Raises
    ------
    AttentionError
        It marks places in a way that is none of the known ones.
    """
    decoder = decoder_of(model)
    for find in (_rotary, _learned, _relative):
        found = find(decoder)
        if found is not None:
            return found
    raise AttentionError(
        "its position encoding is none that can be drawn (rotary, learned or relative).",
        where=type(decoder).__name__,
    )


def _rotary(decoder: nn.Module) -> PositionPicture | None:
    """Look for a rotary embedding (Su et al. 2021): each pair of channels turns at its own speed."""
    for module in decoder.modules():
        speed = getattr(module, "inv_freq", None)
        if isinstance(speed, torch.Tensor) and speed.dim() == 1:
            angle = torch.arange(SHOWN, dtype=torch.float32)[:, None] * speed.float().cpu()[None]
            sections = getattr(getattr(module, "config", None), "rope_parameters", None) or {}
            split = sections.get("mrope_section") if isinstance(sections, dict) else None
            more = (
                f" Of a patch, the channels are shared out among time, row and column ({split})."
                if split
                else ""
            )
            return PositionPicture(
                "rotary",
                angle.cos().numpy(),
                "Query and key are turned by their position, each pair of channels at its own speed; drawn is"
                f" the cosine. The score of two tokens then depends on how far apart they are.{more}",
            )
    return None


def _learned(decoder: nn.Module) -> PositionPicture | None:
    """Look for a learned vector for each position (Gehring et al. 2017), added to the token's."""
    for name, module in decoder.named_modules():
        weight = getattr(module, "weight", None)
        if isinstance(module, nn.Embedding) and "position" in name and weight is not None:
            return PositionPicture(
                "learned",
                weight.detach()[:SHOWN].float().cpu().numpy(),
                "Each position has a learned vector, which is added to the token's vector.",
            )
    return None


def _relative(decoder: nn.Module) -> PositionPicture | None:
    """Look for a learned bias of each distance and head (Raffel et al. 2020), added to the score."""
    for name, module in decoder.named_modules():
        if name.endswith("relative_attention_bias") and isinstance(module, nn.Embedding):
            return PositionPicture(
                "relative",
                module.weight.detach().float().cpu().numpy(),
                "Each head adds a learned number to the score of two tokens, by how far apart they are: down"
                " are the distances, in steps that grow, across are the heads.",
            )
    return None
