"""A folder with a tiny random Pix2Struct (MatCha and DePlot are the same) and a vocabulary of whole words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import Pix2StructConfig, Pix2StructForConditionalGeneration, PreTrainedTokenizerFast
from transformers.models.pix2struct.image_processing_pil_pix2struct import Pix2StructImageProcessorPil
from transformers.utils import logging

SPECIAL = ["<pad>", "</s>", "<unk>"]
WORDS = "What is the value of April ? A picture of . < | pad >"
MAX_PATCHES = 150


def tokenizer() -> Any:
    table = {word: i for i, word in enumerate(dict.fromkeys([*SPECIAL, *WORDS.split()]))}
    made = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", eos_token="</s>", pad_token="<pad>"
    )


def pix2struct_config() -> Any:
    """Two layers in each half."""
    return Pix2StructConfig(
        text_config={
            "vocab_size": 32,
            "hidden_size": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "decoder_start_token_id": 0,
            "pad_token_id": 0,
            "eos_token_id": 1,
        },
        vision_config={
            "hidden_size": 32,
            "patch_embed_hidden_size": 768,
            "d_ff": 48,
            "d_kv": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "seq_len": 256,
            "initializer_range": 0.05,
        },
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
        is_vqa=True,
    )


def pix2struct_folder(folder: Path, **processor: Any) -> Path:
    """Write a checkpoint that takes at most `MAX_PATCHES` patches of 16 px."""
    torch.manual_seed(0)
    logging.disable_progress_bar()  # it leaves a thread running
    Pix2StructForConditionalGeneration(pix2struct_config()).save_pretrained(folder)
    Pix2StructImageProcessorPil(**{"is_vqa": True, "max_patches": MAX_PATCHES, **processor}).save_pretrained(
        folder
    )
    tokenizer().save_pretrained(folder)
    return folder
