"""A tiny random checkpoint of every known family: `model_type` to what writes its folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "grids"))  # for the families' own files

import tiny_blip2
import tiny_florence2
import tiny_gemma3
import tiny_idefics3
import tiny_internvl
import tiny_llava
import tiny_paligemma
import tiny_pix2struct
import tiny_qwen

FOLDERS: dict[str, Callable[[Path], Path]] = {
    "blip-2": tiny_blip2.blip2_folder,
    "florence2": tiny_florence2.florence2_folder,
    "gemma3": tiny_gemma3.gemma3_folder,
    "idefics3": tiny_idefics3.idefics3_folder,
    "internvl": tiny_internvl.internvl_folder,
    "llava": tiny_llava.llava_folder,
    "llava_next": tiny_llava.next_folder,
    "llava_onevision": tiny_llava.onevision_folder,
    "paligemma": tiny_paligemma.paligemma_folder,
    "pix2struct": tiny_pix2struct.pix2struct_folder,
    "qwen2_vl": lambda folder: tiny_qwen.qwen_folder(folder, "qwen2_vl"),
    "qwen2_5_vl": lambda folder: tiny_qwen.qwen_folder(folder, "qwen2_5_vl"),
    "qwen3_vl": lambda folder: tiny_qwen.qwen_folder(folder, "qwen3_vl"),
    "qwen3_vl_moe": lambda folder: tiny_qwen.qwen_folder(folder, "qwen3_vl_moe"),
    "smolvlm": tiny_idefics3.smolvlm_folder,
}
