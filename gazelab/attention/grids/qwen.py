"""The Qwen-VL family: the whole picture, resized, its patches merged 2 x 2 into one token.

`image_grid_thw` counts patches before the merge. Tokens are row-major: where the vision tower works in
windows (Qwen2.5-VL) it undoes their order itself. The resize, to a multiple of patch times merge, keeps the
aspect ratio only roughly, so cells are laid by fraction of the picture, x and y apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gazelab.attention.grids.layout import Layout
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

_MISFIT = "The checkpoint's processor and its model do not belong together."


def merged_layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it.

    Parameters
    ----------
    inputs : mapping
        `image_grid_thw` (1, 3) and `pixel_values` (patch, …) as the family's processor makes them.
    config : transformers.PreTrainedConfig
        For the patch size and the merge.
    width_px, height_px : int
        Of the picture before the processor.

    Raises
    ------
    AttentionError
        The tensors are not those of one still picture, or processor and checkpoint do not fit.
    """
    merge = int(config.vision_config.spatial_merge_size)
    patch_px = int(config.vision_config.patch_size)
    thw = np.asarray(inputs["image_grid_thw"])
    if thw.shape != (1, 3) or thw[0, 0] != 1:
        raise AttentionError(f"image_grid_thw is {thw.tolist()}: not one still picture.")
    _, height, width = (int(n) for n in thw[0])
    n_patches = int(inputs["pixel_values"].shape[0])
    if height % merge or width % merge or n_patches != height * width:
        raise AttentionError(
            f"{n_patches} patches in a grid of {height} x {width}, merged by {merge}: they do not fit.",
            todo=_MISFIT,
        )
    values_of_patch = 3 * int(config.vision_config.temporal_patch_size) * patch_px**2
    if int(inputs["pixel_values"].shape[1]) != values_of_patch:
        raise AttentionError(
            f"patches of {int(inputs['pixel_values'].shape[1])} values where {patch_px} px ones have"
            f" {values_of_patch}.",
            todo=_MISFIT,
        )
    grid = PatchGrid.stretched(height // merge, width // merge, width_px, height_px)
    return Layout.whole(grid, f"{width * patch_px} x {height * patch_px}")
