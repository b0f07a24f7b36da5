"""Folders with tiny random InternVL checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_bytes import byte_tokenizer
from transformers import InternVLConfig, InternVLForConditionalGeneration
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.utils import logging

NAMED = {
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "context_image_token": "<IMG_CONTEXT>",
    "video_token": "<video>",
}
TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n'}}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for content in message['content'] %}{% if content['type'] == 'image' %}{{ '<IMG_CONTEXT>\n' }}"
    "{% elif content['type'] == 'video' %}{{ '<video>\n' }}"
    "{% elif content['type'] == 'text' %}{{ content['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{{'<|im_end|>\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\n' }}{% endif %}"
)


def tokenizer() -> Any:
    """The special tokens and the template of InternVL3-1B-hf."""
    return byte_tokenizer(
        ["<|im_start|>", "<|im_end|>", *NAMED.values()],
        TEMPLATE,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens=NAMED,
    )


def internvl_folder(folder: Path, **processor: Any) -> Path:
    """Write a checkpoint of two layers on each side, with tiles of 64 px and 4 x 4 tokens."""
    tokens = tokenizer()
    config = InternVLConfig(
        text_config={
            "model_type": "qwen2",
            "vocab_size": len(tokens),
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "initializer_range": 0.2,
            "pad_token_id": tokens.pad_token_id,
            "bos_token_id": None,
            "eos_token_id": tokens.eos_token_id,
        },
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": [64, 64],
            "patch_size": [8, 8],
            "initializer_range": 0.2,
        },
        image_token_id=tokens.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=16,
    )
    logging.disable_progress_bar()  # it leaves a thread running
    InternVLForConditionalGeneration(config).save_pretrained(folder)
    # As published: the folder's own settings cut nothing, its processor asks for it.
    sizes = {"size": {"height": 64, "width": 64}, "crop_to_patches": False}
    GotOcr2ImageProcessorPil(**{**sizes, **processor}).save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder
