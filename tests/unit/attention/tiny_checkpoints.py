"""Folders with tiny random vision-language checkpoints and a vocabulary of whole words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.utils import logging

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
WORDS = (
    "user assistant What is the value of April May ? Answer with a single word or number . < | image_pad >"
)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> Any:
    """Whole words of a closed vocabulary, and the special tokens of Qwen2.5-VL."""
    words = ["[UNK]", *SPECIAL, *WORDS.split()]
    table = {word: i for i, word in enumerate(dict.fromkeys(words))}
    made = Tokenizer(models.WordLevel(table, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    fast.add_special_tokens({"additional_special_tokens": SPECIAL[1:]})
    fast.chat_template = TEMPLATE
    return fast


def qwen_config(**vision: Any) -> Any:
    """Two layers on each side; of the vision tower's, one sees windows and one the whole picture."""
    tokens = tokenizer()
    ids = {name: tokens.convert_tokens_to_ids(f"<|{name}|>") for name in ("image_pad", "video_pad")}
    return Qwen2_5_VLConfig(
        text_config={
            "vocab_size": 64,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "initializer_range": 0.4,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]},
            "bos_token_id": None,
            "eos_token_id": None,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
            "window_size": 112,
            "initializer_range": 0.2,
            **vision,
        },
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=tokens.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokens.convert_tokens_to_ids("<|vision_end|>"),
        bos_token_id=None,
        eos_token_id=None,
    )


def qwen_folder(folder: Path, **processor: Any) -> Path:
    """Write a Qwen2.5-VL checkpoint of 0.1 M random parameters."""
    torch.manual_seed(0)
    logging.disable_progress_bar()  # it leaves a thread running
    Qwen2_5_VLForConditionalGeneration(qwen_config()).save_pretrained(folder)
    Qwen2VLImageProcessorPil(**processor).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
