"""Tiny random models of known families; nothing is downloaded."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BloomConfig,
    BloomForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GptOssConfig,
    GptOssForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

SPIKY = 0.2
"""Spread of the random weights: attention far from uniform, scores below ten, so that float32 holds 1e-6."""


def llama(**changes: Any) -> Any:
    """A decoder with 3 layers, 4 heads and 2 key heads."""
    config = LlamaConfig(
        vocab_size=99,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=SPIKY,
        pad_token_id=0,
        eos_token_id=None,
        bos_token_id=None,
        **changes,
    )
    return LlamaForCausalLM(config).eval()


def gemma3() -> Any:
    """Three sliding-window layers (5 tokens) round a full one."""
    sliding, full = "sliding_attention", "full_attention"
    config = Gemma3TextConfig(
        vocab_size=99,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=5,
        layer_types=[sliding, sliding, full, sliding],
        initializer_range=SPIKY,
        pad_token_id=0,
        eos_token_id=None,
        bos_token_id=None,
    )
    return Gemma3ForCausalLM(config).eval()


SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "initializer_range": SPIKY,
    "pad_token_id": 0,
    "eos_token_id": None,
    "bos_token_id": None,
}


def bloom() -> Any:
    """A family of before the attention interface."""
    config = BloomConfig(
        vocab_size=99, hidden_size=32, n_layer=2, n_head=4, eos_token_id=None, initializer_range=SPIKY
    )
    return BloomForCausalLM(config).eval()


def gemma2() -> Any:
    """Scores capped by tanh, which the sdpa kernel cannot do."""
    return Gemma2ForCausalLM(Gemma2Config(**SMALL)).eval()


def gpt_oss() -> Any:
    """A learned sink in every head, which the sdpa kernel cannot do."""
    return GptOssForCausalLM(GptOssConfig(num_local_experts=2, num_experts_per_tok=1, **SMALL)).eval()


def bart() -> Any:
    """An encoder-decoder of 2 + 2 layers."""
    config = BartConfig(
        vocab_size=99,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        init_std=SPIKY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(config).eval()


def prompt(length: int = 17) -> torch.Tensor:
    """Token ids of a prompt, (1, length)."""
    return torch.randint(5, 99, (1, length), generator=torch.Generator().manual_seed(1))


def generate(model: Any, ids: torch.Tensor, n: int = 6, **options: Any) -> torch.Tensor:
    """The whole sequence after `n` greedy tokens."""
    out: torch.Tensor = model.generate(ids, max_new_tokens=n, do_sample=False, **options)
    return out


def read(model: Any, ids: torch.Tensor, cache: Any) -> Any:
    """One forward pass with a cache, under the name that this release of the library has for it."""
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    return model(ids, **{name: cache})


@torch.no_grad()
def eager_matrix(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """What the library itself gives: (layer, head, query, key) of one pass with eager kernels."""
    model.set_attn_implementation("eager")
    attentions = model(ids, output_attentions=True).attentions
    model.set_attn_implementation("sdpa")
    return torch.stack(attentions)[:, 0]
