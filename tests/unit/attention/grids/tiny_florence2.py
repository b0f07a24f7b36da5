"""A folder with a tiny random Florence-2 and a vocabulary of whole words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import Florence2Config, Florence2ForConditionalGeneration, PreTrainedTokenizerFast
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.utils import logging

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<image>"]
WORDS = "What is the value of April ? text in image . < | pad >"
SIDE_PX = 256


def tokenizer() -> Any:
    table = {word: i for i, word in enumerate([*SPECIAL, *WORDS.split()])}
    made = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
    )


def florence2_config(**vision: Any) -> Any:
    """One block a stage, and two layers in each half of the language model."""
    return Florence2Config(
        vision_config={
            "depths": [1, 1, 1, 1],
            "embed_dim": [8, 8, 16, 16],
            "num_heads": [2, 2, 2, 2],
            "num_groups": [2, 2, 2, 2],
            "window_size": 3,
            "projection_dim": 32,
            "drop_path_rate": 0.0,
            "initializer_range": 0.2,
            **vision,
        },
        text_config={
            "model_type": "bart",
            "vocab_size": 64,
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "max_position_embeddings": 256,
            "init_std": 0.2,
            "bos_token_id": 0,
            "pad_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 2,
            "forced_eos_token_id": None,
        },
        image_token_id=SPECIAL.index("<image>"),
    )


def florence2(**vision: Any) -> Any:
    """A model whose strided convolutions fade towards their rim, as learnt ones do and random ones do not."""
    torch.manual_seed(0)
    model = Florence2ForConditionalGeneration(florence2_config(**vision)).eval()
    with torch.no_grad():
        for stage in model.model.vision_tower.convs:
            size = stage.conv.weight.shape[-1]
            fading = torch.hann_window(size + 2, periodic=False)[1:-1] ** 2
            stage.conv.weight.mul_(torch.outer(fading, fading))
    return model


def florence2_folder(folder: Path, **processor: Any) -> Path:
    """Write a checkpoint that sees 256 px squares: 8 x 8 patches."""
    logging.disable_progress_bar()  # it leaves a thread running
    model = florence2()
    # What Florence-2's own generation_config.json asks for.
    model.generation_config.update(
        num_beams=3, no_repeat_ngram_size=3, early_stopping=True, forced_bos_token_id=0
    )
    model.save_pretrained(folder)
    square = {"height": SIDE_PX, "width": SIDE_PX}
    CLIPImageProcessorPil(
        **{"size": square, "do_center_crop": False, "image_seq_length": 65, **processor}
    ).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
