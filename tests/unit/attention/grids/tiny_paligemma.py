"""Folders with tiny random PaliGemma checkpoints, of the first and of the second generation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_bytes import byte_tokenizer
from transformers import PaliGemmaConfig, PaliGemmaForConditionalGeneration
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.utils import logging

PLACES = [f"<loc{i:0>4}>" for i in range(1024)] + [f"<seg{i:0>3}>" for i in range(128)]


def tokenizer() -> Any:
    """The special tokens of PaliGemma; there is no chat template."""
    made = byte_tokenizer(
        ["<image>"],
        begins=True,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
    )
    made.add_tokens(PLACES)
    return made


def paligemma_folder(folder: Path, generation: int = 1, **processor: Any) -> Path:
    """Write a checkpoint of two layers on each side, with 8 x 8 tokens.

    The second generation has Gemma 2 as its language model: capped scores, and a window in every other layer.
    """
    tokens = tokenizer()
    of_gemma = {
        "model_type": "gemma2" if generation == 2 else "gemma",
        "vocab_size": len(tokens),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "initializer_range": 0.2,
        "pad_token_id": tokens.pad_token_id,
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": tokens.eos_token_id,
    }
    if generation == 2:
        of_gemma |= {"sliding_window": 40, "query_pre_attn_scalar": 8}
    config = PaliGemmaConfig(
        text_config=of_gemma,
        vision_config={
            "model_type": "siglip_vision_model",
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
            "vision_use_head": False,
        },
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        projection_dim=32,
        hidden_size=32,
        vocab_size=len(tokens),
    )
    logging.disable_progress_bar()  # it leaves a thread running
    PaliGemmaForConditionalGeneration(config).save_pretrained(folder)
    made = SiglipImageProcessorPil(**{"size": {"height": 64, "width": 64}, **processor})
    made.image_seq_length = 64
    made.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder
