"""Which tokens are which part of the picture: one small file per model family.

A family's file holds one function, `layout(inputs, config, width_px, height_px) -> Layout`: from what the
family's picture processor made of one picture, and the checkpoint's configuration. To add a family, write
that file, name it in `FAMILIES`, and prove it as `tests/unit/attention/test_qwen2_5_vl.py` does: edit one
patch of a picture and watch which token changes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from gazelab.attention.grids.layout import Layout
from gazelab.core.errors import AttentionError

FAMILIES = {"qwen2_5_vl": "gazelab.attention.grids.qwen2_5_vl"}
"""Hugging Face `model_type` to the module of its grid."""

LayoutOf = Callable[[Mapping[str, Any], Any, int, int], Layout]


def layout_of(model_type: str, shapes: Mapping[str, tuple[int, ...]] | None = None) -> LayoutOf:
    """Find a family's layout function.

    Parameters
    ----------
    model_type : str
        As in the checkpoint's `config.json`.
    shapes : mapping, optional
        What the checkpoint's processor makes of a sample picture, for the error message.

    Raises
    ------
    AttentionError
        The family has no grid file. A guessed grid would give maps that are wrong without a sign of it.
    """
    if model_type not in FAMILIES:
        made = ", ".join(f"{name} {shape}" for name, shape in (shapes or {}).items())
        raise AttentionError(
            f'no grid is known for models of type "{model_type}"'
            + (f"; of a picture of 853 x 601 px its processor makes {made}." if made else "."),
            todo=f"Known: {', '.join(sorted(FAMILIES))}. A new one is one small file in"
            " gazelab/attention/grids; it must lay those tensors' tokens over the picture.",
        )
    layout: LayoutOf = importlib.import_module(FAMILIES[model_type]).layout
    return layout


__all__ = ["FAMILIES", "Layout", "LayoutOf", "layout_of"]
