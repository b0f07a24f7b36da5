"""LLaVA-NeXT (1.6): the squashed picture, then tiles with a newline token a row; see `llava_anyres`."""

from __future__ import annotations

from gazelab.attention.grids.family import Family
from gazelab.attention.grids.llava_anyres import anyres_layout

FAMILY = Family(anyres_layout)
