"""Folders with tiny random Qwen2-VL, Qwen2.5-VL and Qwen3-VL checkpoints, dense and with experts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tiny_checkpoints
import torch
from transformers import (
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessorPil,
    Qwen2VLProcessor,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLMoeConfig,
    Qwen3VLMoeForConditionalGeneration,
    Qwen3VLProcessor,
)
from transformers.utils import logging

TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]},
    "bos_token_id": None,
    "eos_token_id": None,
}
VISION = {"depth": 2, "num_heads": 2, "initializer_range": 0.2}
EXPERTS = {"moe_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2}


def _marks() -> dict[str, int]:
    tokens = tiny_checkpoints.tokenizer()
    names = {"image_token_id": "image_pad", "video_token_id": "video_pad"}
    names |= {f"vision_{end}_token_id": f"vision_{end}" for end in ("start", "end")}
    return {key: tokens.convert_tokens_to_ids(f"<|{name}|>") for key, name in names.items()}


def qwen2_config() -> Any:
    vision = {**VISION, "embed_dim": 32, "hidden_size": 32, "mlp_ratio": 2}
    return Qwen2VLConfig(text_config=TEXT, vision_config=vision, **_marks())


def _qwen3_vision() -> dict[str, Any]:
    size = {"hidden_size": 32, "intermediate_size": 48, "out_hidden_size": 32}
    return {**VISION, **size, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]}


def qwen3_config() -> Any:
    text = {**TEXT, "head_dim": 8}
    return Qwen3VLConfig(text_config=text, vision_config=_qwen3_vision(), **_marks())


def qwen3_moe_config() -> Any:
    text = {**TEXT, **EXPERTS, "head_dim": 8}
    return Qwen3VLMoeConfig(text_config=text, vision_config=_qwen3_vision(), **_marks())


def _qwen25_model() -> Any:
    config = tiny_checkpoints.qwen_config()
    config.text_config.initializer_range = TEXT["initializer_range"]
    return Qwen2_5_VLForConditionalGeneration(config)


MODELS: dict[str, Callable[[], Any]] = {
    "qwen2_vl": lambda: Qwen2VLForConditionalGeneration(qwen2_config()),
    "qwen2_5_vl": _qwen25_model,
    "qwen3_vl": lambda: Qwen3VLForConditionalGeneration(qwen3_config()),
    "qwen3_vl_moe": lambda: Qwen3VLMoeForConditionalGeneration(qwen3_moe_config()),
}
PROCESSORS = {
    "qwen2_vl": Qwen2VLProcessor,
    "qwen2_5_vl": Qwen2_5_VLProcessor,
    "qwen3_vl": Qwen3VLProcessor,
    "qwen3_vl_moe": Qwen3VLProcessor,
}
PATCH_PX = {"qwen2_vl": 14, "qwen2_5_vl": 14, "qwen3_vl": 16, "qwen3_vl_moe": 16}


def qwen_folder(folder: Path, model_type: str) -> Path:
    """Write a checkpoint; its processor may use up to 320 tokens, as a limit of the user's does."""
    torch.manual_seed(0)
    logging.disable_progress_bar()  # it leaves a thread running
    MODELS[model_type]().save_pretrained(folder)
    patch_px = PATCH_PX[model_type]
    size = {"shortest_edge": 4 * (2 * patch_px) ** 2, "longest_edge": 320 * (2 * patch_px) ** 2}
    Qwen2VLImageProcessorPil(patch_size=patch_px, size=size).save_pretrained(folder)
    tiny_checkpoints.tokenizer().save_pretrained(folder)
    return folder
