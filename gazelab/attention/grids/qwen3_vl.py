"""Qwen3-VL, dense and with experts: patches of 16 px, merged to 32 px.

Its first language layers also get the picture from earlier layers of the vision tower, each token its own
patches', so a token's place is the same there.
"""

from __future__ import annotations

from gazelab.attention.grids.family import Family
from gazelab.attention.grids.qwen import merged_layout

FAMILY = Family(merged_layout)
