"""The shapes of published checkpoints, without their weights: what the catalogue's figures are counted from.

    python benchmarks/published_models.py

prints parameters, tokens of a chart of 850 x 600 px, and the arithmetic of one question. The numbers are
those of each checkpoint's own config.json and preprocessor_config.json; what is not named here is the
library's default for its family.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForImageTextToText

from gazelab.attention.grids import family_of

SIGLIP_BASE_512 = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "image_size": 512,
    "patch_size": 16,
}
SIGLIP_SO400M = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "patch_size": 14,
}
SIGLIP_TOWER = {"model_type": "siglip_vision_model", **SIGLIP_SO400M, "vision_use_head": False}
QWEN_25_VISION = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "num_heads": 16,
    "out_hidden_size": 2048,
    "fullatt_block_indexes": [7, 15, 23, 31],
}


def text(kind: str, width: int, inner: int, layers: int, heads: int, kv: int, words: int, **more: Any) -> Any:
    return {
        "model_type": kind,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "vocab_size": words,
        **more,
    }


def smol(scale: int, vision: Any, language: Any) -> Any:
    return ("idefics3", {"scale_factor": scale, "vision_config": vision, "text_config": language})


MROPE = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
MROPE_3 = {
    "rope_type": "default",
    "rope_theta": 5e6,
    "mrope_section": [24, 20, 20],
    "mrope_interleaved": True,
}
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "HuggingFaceTB/SmolVLM-256M-Instruct": smol(
        4, SIGLIP_BASE_512, text("llama", 576, 1536, 30, 9, 3, 49280, pad_token_id=2)
    ),
    "HuggingFaceTB/SmolVLM-500M-Instruct": smol(
        4, SIGLIP_BASE_512, text("llama", 960, 2560, 32, 15, 5, 49280, pad_token_id=2)
    ),
    "HuggingFaceTB/SmolVLM-Instruct": smol(
        3, {**SIGLIP_SO400M, "image_size": 384}, text("llama", 2048, 8192, 24, 32, 32, 49155, pad_token_id=2)
    ),
    "Qwen/Qwen2-VL-2B-Instruct": (
        "qwen2_vl",
        {
            "text_config": text(
                "qwen2_vl_text",
                1536,
                8960,
                28,
                12,
                2,
                151936,
                rope_parameters=MROPE,
                tie_word_embeddings=True,
            ),
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "num_heads": 16},
            "tie_word_embeddings": True,
        },
    ),
    "Qwen/Qwen2.5-VL-3B-Instruct": (
        "qwen2_5_vl",
        {
            "text_config": text(
                "qwen2_5_vl_text",
                2048,
                11008,
                36,
                16,
                2,
                151936,
                rope_parameters=MROPE,
                tie_word_embeddings=True,
            ),
            "vision_config": QWEN_25_VISION,
            "tie_word_embeddings": True,
        },
    ),
    "Qwen/Qwen3-VL-2B-Instruct": (
        "qwen3_vl",
        {
            "text_config": text(
                "qwen3_vl_text", 2048, 6144, 28, 16, 8, 151936, rope_parameters=MROPE_3, head_dim=128
            ),
            "vision_config": {
                "depth": 24,
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_heads": 16,
                "out_hidden_size": 2048,
                "deepstack_visual_indexes": [5, 11, 17],
            },
            "tie_word_embeddings": True,
        },
    ),
    "Qwen/Qwen3-VL-4B-Instruct": (
        "qwen3_vl",
        {
            "text_config": text(
                "qwen3_vl_text", 2560, 9728, 36, 32, 8, 151936, rope_parameters=MROPE_3, head_dim=128
            ),
            "vision_config": {
                "depth": 24,
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_heads": 16,
                "out_hidden_size": 2560,
                "deepstack_visual_indexes": [5, 11, 17],
            },
            "tie_word_embeddings": True,
        },
    ),
    "OpenGVLab/InternVL3-1B-hf": (
        "internvl",
        {"text_config": text("qwen2", 896, 4864, 24, 14, 2, 151674), "tie_word_embeddings": False},
    ),
    "OpenGVLab/InternVL3-2B-hf": (
        "internvl",
        {"text_config": text("qwen2", 1536, 8960, 28, 12, 2, 151674), "tie_word_embeddings": False},
    ),
    "llava-hf/llava-onevision-qwen2-0.5b-ov-hf": (
        "llava_onevision",
        {
            "text_config": text("qwen2", 896, 4864, 24, 14, 2, 152000, tie_word_embeddings=True),
            "vision_config": {**SIGLIP_TOWER, "num_hidden_layers": 26, "image_size": 384},
            "tie_word_embeddings": True,
        },
    ),
    "google/paligemma2-3b-mix-448": (
        "paligemma",
        {
            "projection_dim": 2304,
            "text_config": text(
                "gemma2",
                2304,
                9216,
                26,
                8,
                4,
                257216,
                head_dim=256,
                sliding_window=4096,
                num_image_tokens=1024,
            ),
            "vision_config": {**SIGLIP_TOWER, "image_size": 448},
        },
    ),
    "google/gemma-3-4b-it": (
        "gemma3",
        {
            "text_config": text("gemma3_text", 2560, 10240, 34, 8, 4, 262208, head_dim=256),
            "vision_config": {**SIGLIP_TOWER, "image_size": 896},
        },
    ),
    "florence-community/Florence-2-base": (
        "florence2",
        {
            "text_config": {
                "model_type": "bart",
                "d_model": 768,
                "encoder_layers": 6,
                "decoder_layers": 6,
                "encoder_attention_heads": 12,
                "decoder_attention_heads": 12,
                "encoder_ffn_dim": 3072,
                "decoder_ffn_dim": 3072,
                "vocab_size": 51328,
            },
            "vision_config": {"model_type": "florence_vision", "projection_dim": 768},
        },
    ),
    "google/matcha-chartqa": ("pix2struct", {}),
    "Salesforce/blip2-opt-2.7b": (
        "blip-2",
        {
            "text_config": {
                "model_type": "opt",
                "hidden_size": 2560,
                "ffn_dim": 10240,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "vocab_size": 50304,
                "word_embed_proj_dim": 2560,
            },
            "image_token_index": 50265,
        },
    ),
    "llava-hf/llava-1.5-7b-hf": ("llava", {}),
    "llava-hf/llava-v1.6-mistral-7b-hf": (
        "llava_next",
        {
            "text_config": text("mistral", 4096, 14336, 32, 32, 8, 32064),
            "vision_config": {
                "model_type": "clip_vision_model",
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "image_size": 336,
                "patch_size": 14,
                "projection_dim": 768,
                "vocab_size": 32000,
            },
        },
    ),
}


def config(name: str) -> Any:
    """Make a checkpoint's configuration."""
    kind, settings = CONFIGS[name]
    return AutoConfig.for_model(kind, **settings)


def parameters(name: str) -> int:
    """Count a checkpoint's parameters, shared ones once."""
    return int(shape(name).num_parameters())


@lru_cache(maxsize=1)
def shape(name: str) -> Any:
    """Make a checkpoint's model without its weights: no memory is taken for them."""
    with torch.device("meta"):
        return AutoModelForImageTextToText.from_config(config(name))


def _pil(module: str, kind: str, **settings: Any) -> Callable[[], Any]:
    def make() -> Any:
        import importlib

        at = f"transformers.models.{module}.image_processing_pil_{module}"
        return getattr(importlib.import_module(at), kind)(**settings)

    return make


def _tiles(px: int) -> Callable[[], Any]:
    sizes = {"size": {"longest_edge": 4 * px}, "max_image_size": {"longest_edge": px}}
    return _pil("idefics3", "Idefics3ImageProcessorPil", **sizes)


def _square(px: int) -> dict[str, int]:
    return {"height": px, "width": px}


QWEN_28 = _pil("qwen2_vl", "Qwen2VLImageProcessorPil", min_pixels=3136, max_pixels=12845056)
QWEN_32 = _pil("qwen2_vl", "Qwen2VLImageProcessorPil", patch_size=16, min_pixels=65536, max_pixels=16777216)
PROCESSORS: dict[str, Callable[[], Any]] = {
    "HuggingFaceTB/SmolVLM-256M-Instruct": _tiles(512),
    "HuggingFaceTB/SmolVLM-500M-Instruct": _tiles(512),
    "HuggingFaceTB/SmolVLM-Instruct": _tiles(384),
    "Qwen/Qwen2-VL-2B-Instruct": QWEN_28,
    "Qwen/Qwen2.5-VL-3B-Instruct": QWEN_28,
    "Qwen/Qwen3-VL-2B-Instruct": QWEN_32,
    "Qwen/Qwen3-VL-4B-Instruct": QWEN_32,
    "OpenGVLab/InternVL3-1B-hf": _pil(
        "got_ocr2", "GotOcr2ImageProcessorPil", size=_square(448), crop_to_patches=True
    ),
    "OpenGVLab/InternVL3-2B-hf": _pil(
        "got_ocr2", "GotOcr2ImageProcessorPil", size=_square(448), crop_to_patches=True
    ),
    "llava-hf/llava-onevision-qwen2-0.5b-ov-hf": _pil("llava_onevision", "LlavaOnevisionImageProcessorPil"),
    "google/paligemma2-3b-mix-448": _pil("siglip", "SiglipImageProcessorPil", size=_square(448)),
    "google/gemma-3-4b-it": _pil("gemma3", "Gemma3ImageProcessorPil", size=_square(896)),
    "florence-community/Florence-2-base": _pil(
        "clip", "CLIPImageProcessorPil", size=_square(768), do_center_crop=False
    ),
    "google/matcha-chartqa": _pil("pix2struct", "Pix2StructImageProcessorPil"),
    "Salesforce/blip2-opt-2.7b": _pil("blip", "BlipImageProcessorPil", size=_square(224)),
    "llava-hf/llava-1.5-7b-hf": _pil(
        "clip", "CLIPImageProcessorPil", size={"shortest_edge": 336}, crop_size=_square(336)
    ),
    "llava-hf/llava-v1.6-mistral-7b-hf": _pil(
        "llava_next", "LlavaNextImageProcessorPil", size={"shortest_edge": 336}, crop_size=_square(336)
    ),
}


class Parts:
    """As much of a checkpoint as a family's picture path needs."""

    def __init__(self, name: str) -> None:
        self.name, self.config, self.image_processor = name, config(name), PROCESSORS[name]()


def picture_tokens(name: str, width_px: int = 850, height_px: int = 600) -> int:
    """Count a chart's tokens in the prompt, by the checkpoint's own processor and its family's grid."""
    from PIL import Image

    parts = Parts(name)
    family = family_of(parts.config.model_type).of(parts.config)
    image = Image.new("RGB", (width_px, height_px), "white")
    made = family.inputs(parts, image, "How many?")
    return int(family.layout(made, parts.config, width_px, height_px).n_tokens)


def operations(name: str, answer_tokens: int = 8) -> float:
    """Estimate the floating-point operations of one question on a chart of 850 x 600 px.

    Two for each weight and each position that passes it (Kaplan et al. 2020), and four for each query, key
    and channel in attention, of which a causal one needs half. A tower of stages (Florence-2's) is counted by
    torch itself.
    """
    from PIL import Image

    parts = Parts(name)
    family = family_of(parts.config.model_type).of(parts.config)
    made = family.inputs(parts, Image.new("RGB", (850, 600), "white"), "How many?")
    model = shape(name)
    weights = {part: 0 for part in ("vision", "text")}
    for path, weight in model.named_parameters():
        inner = any(
            f".{kind}." in path for kind in ("layer", "layers", "blocks", "block", "merger", "qformer")
        )
        seen = any(word in path for word in ("vision", "visual", "encoder.encoder"))
        if inner and weight.dim() > 1:
            weights["vision" if seen else "text"] += weight.numel()
    n_text = picture_tokens(name) + 40
    if parts.config.model_type == "florence2":
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counted:
            model.model.vision_tower(torch.empty(1, 3, 768, 768, device="meta"))
        return float(counted.get_total_flops() + 2 * weights["text"] * n_text)
    tiles, patches = _patches(made, parts.config)
    vision = getattr(parts.config, "vision_config", parts.config)
    width = int(getattr(vision, "embed_dim", 0) or vision.hidden_size)
    layers = int(getattr(vision, "depth", 0) or vision.num_hidden_layers)
    tower = 2 * weights["vision"] * tiles * patches + 4 * layers * width * tiles * patches**2
    if parts.config.model_type == "pix2struct":
        return float(tower + 2 * weights["text"] * answer_tokens)
    text = parts.config.get_text_config()
    if parts.config.model_type == "blip-2":
        n_text = parts.config.num_query_tokens + 40
    causal = 2 * text.num_hidden_layers * text.hidden_size * n_text**2
    return float(tower + 2 * weights["text"] * (n_text + answer_tokens) + causal)


def _patches(made: Any, settings: Any) -> tuple[int, int]:
    """How many tiles go through the tower, and how many patches each has."""
    if "flattened_patches" in made:
        return 1, int(made["flattened_patches"].shape[1])
    pixels = made["pixel_values"]
    if pixels.dim() == 2:  # Qwen: a row a patch; most of its layers see windows, which is not counted
        return 1, int(pixels.shape[0])
    patch_px = settings.vision_config.patch_size
    side, patch = int(pixels.shape[-1]), int(patch_px if isinstance(patch_px, int) else patch_px[0])
    return int(pixels.numel() // (3 * side**2)), (side // patch) ** 2


if __name__ == "__main__":
    for name in CONFIGS:
        print(
            f"{name:45} {parameters(name) / 1e9:7.3f} B  {picture_tokens(name):5} tokens"
            f"  {operations(name) / 1e12:6.2f} T operations"
        )
