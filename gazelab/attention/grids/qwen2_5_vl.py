"""Qwen2.5-VL: patches of 14 px, merged to 28 px; its vision tower works in windows and undoes their order."""

from __future__ import annotations

from gazelab.attention.grids.family import Family
from gazelab.attention.grids.qwen import merged_layout

FAMILY = Family(merged_layout)
