"""Which of the picture's tokens each patch of a vision tower becomes, by family.

A tower may see finer patches than the language model has tokens (they are merged, shuffled or averaged in
squares), in several pictures (tiles), in another order (windows), beside a class token. The tests edit one
patch of a picture and watch which position of the tower and which token change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers.image_processing_utils import select_best_resolution

from gazelab.attention.grids import Layout
from gazelab.core.errors import AttentionError

Tokens = NDArray[np.int64]
PatchTokens = Callable[[Any, Mapping[str, Any], Layout, int, int], Tokens]
"""(configuration, the picture's tensors, its layout, pictures in the tower's batch, positions in each) → for
each position, picture after picture, the index of its token among the picture's; -1 for none."""


def squares(config: Any, inputs: Mapping[str, Any], layout: Layout, pictures: int, length: int) -> Tokens:
    """Each picture of the batch is a square of patches; k x k neighbours become one token, row-major."""
    tokens, rest = divmod(layout.n_tokens, pictures)
    if tokens == length and not rest:
        return np.arange(pictures * length)
    side = math.isqrt(tokens)
    merge = math.isqrt(length) // side if side else 0
    before = length - (side * merge) ** 2
    if rest or side**2 != tokens or before not in (0, 1):  # one position more is the class token's
        raise _misfit(layout, pictures, length)
    of_picture = np.arange(tokens).reshape(side, side).repeat(merge, 0).repeat(merge, 1).ravel()
    return np.concatenate([_after_class(of_picture + i * tokens, before) for i in range(pictures)])


def anyres(config: Any, inputs: Mapping[str, Any], layout: Layout, pictures: int, length: int) -> Tokens:
    """Lay a squashed square, then the squares of a rectangle of which the padding's patches were dropped."""
    side = math.isqrt(length)
    before = length - side**2
    base = np.arange(side**2)
    found = np.full((pictures, side**2), -1, np.int64)
    found[0] = base
    tiles = next((view.token for view in layout.views if view.name == "tiles"), None)
    if before not in (0, 1) or side**2 > layout.n_tokens:
        raise _misfit(layout, pictures, length)
    if tiles is not None:
        size = tuple(int(n) for n in np.asarray(inputs["image_sizes"].cpu()).ravel()[:2])
        high, wide = select_best_resolution(size, config.image_grid_pinpoints)
        square_px = int(config.vision_config.image_size)
        rows, cols = high // square_px, wide // square_px
        dropped = np.array([rows * side - tiles.shape[0], cols * side - tiles.shape[1]])
        if rows * cols != pictures - 1 or (dropped < 0).any() or dropped.all() or (dropped % 2).any():
            raise AttentionError("its tiles' patches are blended into cells, so no patch is a cell's own.")
        whole = np.full((rows * side, cols * side), -1, np.int64)
        top, left = dropped // 2
        whole[top : top + tiles.shape[0], left : left + tiles.shape[1]] = tiles
        found[1:] = whole.reshape(rows, side, cols, side).transpose(0, 2, 1, 3).reshape(pictures - 1, -1)
    return np.concatenate([_after_class(of_picture, before) for of_picture in found])


def merged(config: Any, inputs: Mapping[str, Any], layout: Layout, pictures: int, length: int) -> Tokens:
    """Count through the patches: those that become one token follow each other."""
    return np.arange(layout.n_tokens).repeat(int(config.vision_config.spatial_merge_size) ** 2)


def windowed(config: Any, inputs: Mapping[str, Any], layout: Layout, pictures: int, length: int) -> Tokens:
    """As `merged`, the tokens sorted by windows of the picture, row-major in each."""
    vision = config.vision_config
    merge = int(vision.spatial_merge_size)
    side = int(vision.window_size) // merge // int(vision.patch_size)
    rows, cols = layout.token.shape
    windows = [
        layout.token[top : top + side, left : left + side].ravel()
        for top in range(0, rows, side)
        for left in range(0, cols, side)
    ]
    return np.concatenate(windows).repeat(merge**2)


def rows_of_patches(
    config: Any, inputs: Mapping[str, Any], layout: Layout, pictures: int, length: int
) -> Tokens:
    """Every patch is a token; those after the picture's are padding."""
    if pictures != 1 or layout.n_tokens > length:
        raise _misfit(layout, pictures, length)
    at = np.arange(length)
    return np.where(at < layout.n_tokens, at, -1)


KNOWN: dict[str, PatchTokens] = {
    "gemma3": squares,
    "idefics3": squares,
    "internvl": squares,
    "llava": squares,
    "llava_next": anyres,
    "llava_onevision": anyres,
    "paligemma": squares,
    "pix2struct": rows_of_patches,
    "qwen2_vl": merged,
    "qwen2_5_vl": windowed,
    "qwen3_vl": merged,
    "qwen3_vl_moe": merged,
    "smolvlm": squares,
}
"""Hugging Face `model_type` to how its vision tower's patches become tokens."""


def patch_tokens_of(model_type: str) -> PatchTokens:
    """Find a family's rule.

    Raises
    ------
    AttentionError
        It has none: a guess would give maps that are wrong without a sign of it.
    """
    if model_type not in KNOWN:
        raise AttentionError(
            f'what a patch looks at is not known for models of type "{model_type}".',
            todo=f"Known: {', '.join(sorted(KNOWN))}.",
        )
    return KNOWN[model_type]


def _after_class(of_patches: Tokens, before: int) -> Tokens:
    return np.concatenate([np.full(before, -1, np.int64), of_patches])


def _misfit(layout: Layout, pictures: int, length: int) -> AttentionError:
    return AttentionError(
        f"{layout.n_tokens} picture tokens from {pictures} x {length} positions of the vision tower: they do"
        " not fit.",
        todo="The checkpoint's processor and its model do not belong together.",
    )
