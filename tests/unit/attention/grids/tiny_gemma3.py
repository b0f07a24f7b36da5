"""Folders with tiny random Gemma 3 checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_bytes import byte_tokenizer
from transformers import Gemma3Config, Gemma3ForConditionalGeneration
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.utils import logging

NAMED = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
TEMPLATE = (
    "{{ bos_token }}{%- for message in messages -%}"
    "{%- if (message['role'] == 'assistant') -%}{%- set role = 'model' -%}"
    "{%- else -%}{%- set role = message['role'] -%}{%- endif -%}"
    "{{ '<start_of_turn>' + role + '\n' }}"
    "{%- if message['content'] is string -%}{{ message['content'] | trim }}{%- else -%}"
    "{%- for item in message['content'] -%}{%- if item['type'] == 'image' -%}{{ '<start_of_image>' }}"
    "{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}{%- endif -%}"
    "{{ '<end_of_turn>\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{'<start_of_turn>model\n'}}{%- endif -%}"
)


def tokenizer() -> Any:
    """The special tokens and the template of gemma-3-4b-it."""
    return byte_tokenizer(
        ["<start_of_turn>", "<end_of_turn>", *NAMED.values()],
        TEMPLATE,
        begins=True,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        extra_special_tokens=NAMED,
    )


def gemma3_folder(folder: Path, sliding_window: int = 24, **processor: Any) -> Path:
    """Write a checkpoint of 8 x 8 patches, averaged to 4 x 4 tokens; three layers look over a window."""
    tokens = tokenizer()
    ids = {name: tokens.convert_tokens_to_ids(text) for name, text in NAMED.items()}
    config = Gemma3Config(
        text_config={
            "vocab_size": len(tokens),
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "query_pre_attn_scalar": 8,
            "sliding_window": sliding_window,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
            "initializer_range": 0.2,
            "pad_token_id": tokens.pad_token_id,
            "bos_token_id": tokens.bos_token_id,
            "eos_token_id": tokens.eos_token_id,
        },
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
        mm_tokens_per_image=16,
        boi_token_index=ids["boi_token"],
        eoi_token_index=ids["eoi_token"],
        image_token_index=ids["image_token"],
    )
    logging.disable_progress_bar()  # it leaves a thread running
    model = Gemma3ForConditionalGeneration(config)
    model.model.multi_modal_projector.mm_input_projection_weight.data.normal_(std=0.2)  # else it is zero
    model.save_pretrained(folder)
    sizes = {"size": {"height": 64, "width": 64}}
    Gemma3ImageProcessorPil(**{**sizes, **processor}).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder
