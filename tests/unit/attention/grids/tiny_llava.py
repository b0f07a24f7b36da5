"""Folders with tiny random LLaVA, LLaVA-NeXT and LLaVA-OneVision checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    CLIPImageProcessorPil,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaImageProcessorPil,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextImageProcessorPil,
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    LlavaOnevisionImageProcessorPil,
    PreTrainedTokenizerFast,
    SiglipImageProcessorPil,
)
from transformers.utils import logging

WORDS = (
    "USER ASSISTANT user assistant INST What is the value of April ? Answer with a single word or number ."
)
SPECIAL = ["<s>", "</s>", "<pad>", "<image>", "<video>", "<|im_start|>", "<|im_end|>"]
_IMAGES = (
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\n' }}{% endfor %}"
)
_TEXTS = "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
VICUNA = (
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    + _IMAGES
    + _TEXTS
    + "{{ content['text'] + ' ' }}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
MISTRAL = (
    "{% for message in messages %}{{ '[INST] ' }}"
    + _IMAGES
    + _TEXTS
    + "{{ content['text'] }}{% endfor %}{{ ' [/INST]' }}{% endfor %}"
)
QWEN = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + ' ' }}"
    + _IMAGES
    + _TEXTS
    + "{{ '\n' + content['text'] }}{% endfor %}{{ '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The chat templates of the published checkpoints, without their parts for a system's and a model's turns."""

SIDE_PX = 112
NEXT_RECTANGLES = [[112, 224], [224, 112], [224, 224], [336, 112], [112, 336]]
"""Height and width, as published but a third."""
ONEVISION_SIDE_PX = 88
"""Six patches of 14 px and 4 px that no patch sees (published: 384 px, 27 patches and 6 px)."""


def tokenizer(template: str, begin: bool = True) -> Any:
    """Whole words of a closed vocabulary; a start mark before each text, as Llama's has."""
    table = {word: i for i, word in enumerate(dict.fromkeys(["[UNK]", *SPECIAL, *WORDS.split(), *":[]/"]))}
    made = Tokenizer(models.WordLevel(table, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if begin:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", table["<s>"])]
        )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="[UNK]",
        bos_token="<s>" if begin else None,
        eos_token="</s>",
        pad_token="<pad>",
    )
    fast.add_special_tokens({"additional_special_tokens": SPECIAL[3:]})
    fast.chat_template = template
    return fast


def text_config(model_type: str = "llama") -> dict[str, Any]:
    return {
        "model_type": model_type,
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.2,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
    }


def vision_config(model_type: str = "clip_vision_model", **changes: Any) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "image_size": SIDE_PX,
        "patch_size": 14,
        "initializer_range": 0.2,
        **({"vision_use_head": False} if model_type == "siglip_vision_model" else {}),
        **changes,
    }


def image_id() -> int:
    return int(tokenizer(VICUNA).convert_tokens_to_ids("<image>"))


def llava_config(vision: dict[str, Any] | None = None, **changes: Any) -> Any:
    return LlavaConfig(
        text_config=text_config(),
        vision_config=vision or vision_config(),
        image_token_index=image_id(),
        **changes,
    )


def next_config(**changes: Any) -> Any:
    known = {"vision_config": vision_config(), "image_grid_pinpoints": NEXT_RECTANGLES}
    return LlavaNextConfig(
        text_config=text_config("mistral"), image_token_index=image_id(), **{**known, **changes}
    )


def onevision_rectangles(most: int = 6, side_px: int = ONEVISION_SIDE_PX) -> list[list[int]]:
    sides = [side_px * (k + 1) for k in range(most)]
    return [[high, wide] for high in sides for wide in sides]


def onevision_config(**changes: Any) -> Any:
    tokens = tokenizer(QWEN, begin=False)
    known = {
        "vision_config": vision_config("siglip_vision_model", image_size=ONEVISION_SIDE_PX),
        "image_grid_pinpoints": onevision_rectangles(),
    }
    return LlavaOnevisionConfig(
        text_config=text_config("qwen2"),
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        video_token_index=tokens.convert_tokens_to_ids("<video>"),
        **{**known, **changes},
    )


def clip_processor(side_px: int = SIDE_PX) -> Any:
    return CLIPImageProcessorPil(
        size={"shortest_edge": side_px}, crop_size={"height": side_px, "width": side_px}
    )


def padding_processor(side_px: int = SIDE_PX) -> Any:
    return LlavaImageProcessorPil(
        do_pad=True,
        size={"shortest_edge": side_px},
        crop_size={"height": side_px, "width": side_px},
    )


def siglip_processor(side_px: int = SIDE_PX) -> Any:
    return SiglipImageProcessorPil(size={"height": side_px, "width": side_px})


def next_processor(**changes: Any) -> Any:
    return LlavaNextImageProcessorPil(
        size={"shortest_edge": SIDE_PX},
        crop_size={"height": SIDE_PX, "width": SIDE_PX},
        **{"image_grid_pinpoints": NEXT_RECTANGLES, **changes},
    )


def onevision_processor(**changes: Any) -> Any:
    side = {"height": ONEVISION_SIDE_PX, "width": ONEVISION_SIDE_PX}
    return LlavaOnevisionImageProcessorPil(
        **{"size": side, "image_grid_pinpoints": onevision_rectangles(), **changes}
    )


def llava_folder(folder: Path, processor: Any = None, config: Any = None) -> Path:
    return _written(
        folder,
        LlavaForConditionalGeneration(config or llava_config()),
        processor or clip_processor(),
        tokenizer(VICUNA),
    )


def next_folder(folder: Path) -> Path:
    return _written(
        folder, LlavaNextForConditionalGeneration(next_config()), next_processor(), tokenizer(MISTRAL)
    )


def onevision_folder(folder: Path, rectangles: list[list[int]] | None = None) -> Path:
    known = {"image_grid_pinpoints": rectangles or onevision_rectangles()}
    return _written(
        folder,
        LlavaOnevisionForConditionalGeneration(onevision_config(**known)),
        onevision_processor(**known),
        tokenizer(QWEN, begin=False),
    )


def _written(folder: Path, model: Any, processor: Any, tokens: Any) -> Path:
    logging.disable_progress_bar()  # it leaves a thread running
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def seeded() -> None:
    torch.manual_seed(0)
