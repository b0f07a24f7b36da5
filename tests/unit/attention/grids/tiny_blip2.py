"""Folders with tiny random BLIP-2 checkpoints, of either kind of language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
from transformers import Blip2Config, Blip2ForConditionalGeneration, PreTrainedTokenizerFast
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil
from transformers.utils import logging

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<image>"]
WORDS = "Question : What is the value of April ? Answer Short answer . < | pad >"
N_QUERIES = 5
OPT = {
    "model_type": "opt",
    "vocab_size": 64,
    "hidden_size": 32,
    "word_embed_proj_dim": 32,
    "ffn_dim": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "init_std": 0.2,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
}
T5 = {
    "model_type": "t5",
    "vocab_size": 64,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "initializer_factor": 1.3,
    "decoder_start_token_id": 1,
    "pad_token_id": 1,
    "eos_token_id": 2,
}


def tokenizer(begins: bool) -> Any:
    """With a start mark, as OPT's, or an end mark, as T5's."""
    table = {word: i for i, word in enumerate([*SPECIAL, *WORDS.split()])}
    made = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A" if begins else "$A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    fast.add_tokens([AddedToken("<image>", normalized=False, special=True)], special_tokens=True)
    return fast


def blip2_config(text: dict[str, Any] = OPT, **vision: Any) -> Any:
    """Two layers each; of the Q-Former's four, two look at the picture."""
    return Blip2Config(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 84,
            "patch_size": 14,
            "initializer_range": 0.2,
            **vision,
        },
        qformer_config={
            "vocab_size": 64,
            "hidden_size": 32,
            "num_hidden_layers": 4,
            "num_attention_heads": 2,
            "intermediate_size": 48,
            "cross_attention_frequency": 2,
            "encoder_hidden_size": 32,
            "max_position_embeddings": 64,
            "initializer_range": 0.3,
        },
        text_config=text,
        num_query_tokens=N_QUERIES,
        image_token_index=SPECIAL.index("<image>"),
    )


def blip2_folder(
    folder: Path, text: dict[str, Any] = OPT, vision: dict[str, Any] | None = None, side_px: int = 84
) -> Path:
    """Write a checkpoint that sees squares of 84 px as 6 x 6 patches through 5 queries."""
    torch.manual_seed(0)
    logging.disable_progress_bar()  # it leaves a thread running
    model = Blip2ForConditionalGeneration(blip2_config(text, **(vision or {})))
    torch.nn.init.normal_(model.query_tokens)  # else all queries look alike
    model.save_pretrained(folder)
    BlipImageProcessorPil(size={"height": side_px, "width": side_px}).save_pretrained(folder)
    tokenizer(begins=text is OPT).save_pretrained(folder)
    return folder
