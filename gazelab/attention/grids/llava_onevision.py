"""LLaVA-OneVision: as LLaVA-NeXT, but many tiles' patches are blended into fewer cells.

`vision_aspect_ratio` "anyres_max_9" means: where the tiles have more patches than 1.1 x 1.1 times nine
squares', they are interpolated down to nine squares' number; a cell then draws on the patches round its
middle, a quarter of a patch or more of the neighbours' included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gazelab.attention.grids.family import Family
from gazelab.attention.grids.layout import Layout
from gazelab.attention.grids.llava_anyres import anyres_layout
from gazelab.core.errors import AttentionError


def layout(inputs: Mapping[str, Any], config: Any, width_px: int, height_px: int) -> Layout:
    """Lay one picture's tokens over it; see `gazelab.attention.grids.llava_anyres.anyres_layout`.

    Raises
    ------
    AttentionError
        `vision_aspect_ratio` is no "anyres_max_N", or as in `anyres_layout`.
    """
    most = re.fullmatch(r"anyres_max_(\d+)", config.vision_aspect_ratio)
    if most is None:
        raise AttentionError(
            f'vision_aspect_ratio is "{config.vision_aspect_ratio}": only "anyres_max_N" is known.'
        )
    return anyres_layout(inputs, config, width_px, height_px, int(most[1]))


FAMILY = Family(layout)
