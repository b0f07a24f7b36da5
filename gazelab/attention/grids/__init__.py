"""Which tokens are which part of the picture: one small file per model family.

A family's file exports `FAMILY`, a `gazelab.attention.grids.family.Family`; its heart is `layout(inputs,
config, width_px, height_px) -> Layout`: from what the family's picture processor made of one picture, and the
checkpoint's configuration. To add a family, write that file, name it in `FAMILIES`, and prove it as
`tests/unit/attention/grids/test_qwen.py` does: edit one patch of a picture and watch which token changes.

A family of your own needs no change here: install a package with an entry point of the group
`gazelab.grids`, named as the checkpoint's `model_type`, that gives such a `Family`; or keep it in one file
and name it (`--grid FILE.py`).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

from gazelab.attention.foreign import BROKEN
from gazelab.attention.grids.family import Family
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.core.errors import AttentionError

_HERE = "gazelab.attention.grids"
FAMILIES = {
    "blip-2": f"{_HERE}.blip2",
    "florence2": f"{_HERE}.florence2",
    "gemma3": f"{_HERE}.gemma3",
    "idefics3": f"{_HERE}.idefics3",
    "internvl": f"{_HERE}.internvl",
    "llava": f"{_HERE}.llava",
    "llava_next": f"{_HERE}.llava_next",
    "llava_onevision": f"{_HERE}.llava_onevision",
    "paligemma": f"{_HERE}.paligemma",
    "pix2struct": f"{_HERE}.pix2struct",
    "qwen2_5_vl": f"{_HERE}.qwen2_5_vl",
    "qwen2_vl": f"{_HERE}.qwen2_vl",
    "qwen3_vl": f"{_HERE}.qwen3_vl",
    "qwen3_vl_moe": f"{_HERE}.qwen3_vl",
    "smolvlm": f"{_HERE}.smolvlm",
}
"""Hugging Face `model_type` to the module of its family."""
GROUP = "gazelab.grids"
"""Entry points that users' own packages may offer, by `model_type`."""


def family_of(
    model_type: str, shapes: Mapping[str, tuple[int, ...]] | None = None, file: Path | None = None
) -> Family:
    """Find a model family.

    Parameters
    ----------
    model_type : str
        As in the checkpoint's `config.json`.
    shapes : mapping, optional
        What the checkpoint's processor makes of a sample picture, for the error message.
    file : Path, optional
        A Python file of the user's own that defines `FAMILY`; it is run, so it is taken only when named.

    Raises
    ------
    AttentionError
        The family is unknown, or the user's own one gives no `Family`. A guessed grid would give maps that
        are wrong without a sign of it.
    """
    if file is not None:
        return _own(_loaded(file), file)
    if model_type in FAMILIES:
        return _own(importlib.import_module(FAMILIES[model_type]), FAMILIES[model_type])
    for point in entry_points(group=GROUP, name=model_type):
        with _run(point.value):
            found = point.load()
        return _own(found, point.value)
    made = ", ".join(f"{name} {shape}" for name, shape in (shapes or {}).items())
    raise AttentionError(
        f'no grid is known for models of type "{model_type}"'
        + (f"; of a picture of 853 x 601 px its processor makes {made}." if made else "."),
        todo=f"Known: {', '.join(sorted(FAMILIES))}. Lay those tensors' tokens over the picture in a small"
        " Python file of your own, and name it with --grid.",
    )


def _loaded(file: Path) -> object:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise AttentionError(
            "no Python file that can be read.", where=file, todo="Name a file that ends in .py."
        )
    module = importlib.util.module_from_spec(spec)
    with _run(file):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _run(where: Path | str) -> Iterator[None]:
    try:
        yield
    except BROKEN as fault:
        raise AttentionError(f"it cannot be run ({type(fault).__name__}: {fault}).", where=where) from fault


def _own(found: object, where: object) -> Family:
    family = getattr(found, "FAMILY", found)
    if not isinstance(family, Family):
        raise AttentionError(
            "it defines no FAMILY of gazelab.attention.grids.Family.",
            where=str(where),
            todo="See docs/attention.md.",
        )
    return family


__all__ = ["FAMILIES", "GROUP", "Family", "Layout", "PatchView", "family_of"]
