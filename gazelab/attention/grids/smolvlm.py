"""SmolVLM 2: tiles, tags and merge as in Idefics3, from which it was made (SmolVLM 1 *is* an Idefics3).

Its processors differ in their defaults only: tiles of 512 px with 8 x 8 tokens, or of 384 px with 9 x 9.
"""

from __future__ import annotations

from gazelab.attention.grids.idefics3 import FAMILY, layout

__all__ = ["FAMILY", "layout"]
