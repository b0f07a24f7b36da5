"""Folders with tiny random Idefics3 and SmolVLM checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_bytes import byte_tokenizer
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
from transformers.utils import logging

FAKE, IMAGE, GLOBAL, END = "<fake_token_around_image>", "<image>", "<global-img>", "<end_of_utterance>"
TAGS = [f"<row_{row}_col_{col}>" for row in range(1, 7) for col in range(1, 7)]
TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


def tokenizer() -> Any:
    """The special tokens and the template of SmolVLM-256M-Instruct."""
    return byte_tokenizer(
        [FAKE, IMAGE, GLOBAL, *TAGS, END],
        TEMPLATE,
        bos_token="<|im_start|>",
        eos_token=END,
        pad_token="<|im_end|>",
    )


def config(kind: type[Any], *, tile_px: int = 64, patch_px: int = 8, scale_factor: int = 2) -> Any:
    """Two layers on each side, tiles of 4 x 4 tokens unless told otherwise."""
    tokens = tokenizer()
    return kind(
        text_config={
            "model_type": "llama",
            "vocab_size": len(tokens),
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "initializer_range": 0.2,
            "pad_token_id": tokens.pad_token_id,
            "bos_token_id": tokens.bos_token_id,
            "eos_token_id": tokens.eos_token_id,
        },
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": tile_px,
            "patch_size": patch_px,
            "initializer_range": 0.2,
        },
        scale_factor=scale_factor,
        image_token_id=tokens.convert_tokens_to_ids(IMAGE),
        pad_token_id=tokens.pad_token_id,
    )


def idefics3_folder(folder: Path, **changes: Any) -> Path:
    """Write an Idefics3 checkpoint, of which SmolVLM 1 is one."""
    made = config(Idefics3Config, **_of_config(changes))
    return _written(folder, Idefics3ForConditionalGeneration(made), Idefics3ImageProcessorPil, made, changes)


def smolvlm_folder(folder: Path, **changes: Any) -> Path:
    """Write a SmolVLM 2 checkpoint; what is no option of `config` is one of the picture processor."""
    made = config(SmolVLMConfig, **_of_config(changes))
    return _written(folder, SmolVLMForConditionalGeneration(made), SmolVLMImageProcessorPil, made, changes)


def _of_config(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: changes.pop(name) for name in ("tile_px", "patch_px", "scale_factor") if name in changes}


def _written(folder: Path, model: Any, processor: type[Any], made: Any, options: dict[str, Any]) -> Path:
    """As the published ones: the long side becomes four tiles, all but the sizes is the default."""
    tile_px = made.vision_config.image_size
    sizes = {"size": {"longest_edge": 4 * tile_px}, "max_image_size": {"longest_edge": tile_px}}
    logging.disable_progress_bar()  # it leaves a thread running
    model.save_pretrained(folder)
    processor(**{**sizes, **options}).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
