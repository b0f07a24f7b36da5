"""Qwen2-VL: patches of 14 px, merged to 28 px; its vision tower sees the whole picture in every layer."""

from __future__ import annotations

from gazelab.attention.grids.family import Family
from gazelab.attention.grids.qwen import merged_layout

FAMILY = Family(merged_layout)
