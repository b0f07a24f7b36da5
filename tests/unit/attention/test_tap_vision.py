"""The tap on the language models inside several vision-language families: tiny random configurations."""

import numpy as np
import pytest
import torch
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    LlavaConfig,
    LlavaForConditionalGeneration,
    PaliGemmaConfig,
    PaliGemmaForConditionalGeneration,
)

from gazelab.attention.implementations import attention_implementations
from gazelab.attention.tap import AttentionTap

PICTURE = 5
TEXT = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.2,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
}


def llava():
    config = LlavaConfig(
        text_config={"model_type": "llama", **TEXT},
        vision_config={"model_type": "clip_vision_model", **VISION},
        image_token_id=PICTURE,
        vision_feature_layer=-1,
    )
    return LlavaForConditionalGeneration(config), 16, {}


def paligemma():
    """Its prefix, picture and question, is read in both directions."""
    config = PaliGemmaConfig(
        text_config={"model_type": "gemma", "head_dim": 8, **TEXT},
        vision_config={"model_type": "siglip_vision_model", **VISION},
        image_token_id=PICTURE,
        projection_dim=32,
        hidden_size=32,
    )
    return PaliGemmaForConditionalGeneration(config), 16, {"token_type_ids": torch.zeros_like}


def gemma3():
    """A sliding-window layer and a full one; the picture's tokens see each other in both directions."""
    layers = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"], "head_dim": 8}
    config = Gemma3Config(
        text_config={"model_type": "gemma3_text", **layers, **TEXT},
        vision_config={"model_type": "siglip_vision_model", **VISION},
        image_token_id=PICTURE,
        mm_tokens_per_image=4,
    )
    return Gemma3ForConditionalGeneration(config), 4, {"token_type_ids": lambda ids: (ids == PICTURE).long()}


def idefics3():
    config = Idefics3Config(
        text_config={"model_type": "llama", **TEXT},
        vision_config=VISION,
        image_token_id=PICTURE,
        scale_factor=2,
    )
    return Idefics3ForConditionalGeneration(config), 4, {}


def ready(family):
    """A model and what goes into it: one token, the picture, four more tokens."""
    model, n_picture, more = family()
    ids = torch.tensor([[7, *[PICTURE] * n_picture, 11, 12, 13, 14]])
    pixels = torch.randn((1, 1, 3, 56, 56) if family is idefics3 else (1, 3, 56, 56))
    more = {name: make(ids) for name, make in more.items()}
    return model.eval(), {"input_ids": ids, "pixel_values": pixels, **more}


@pytest.mark.parametrize("family", [llava, paligemma, gemma3, idefics3])
def test_every_row_equals_eager_and_the_vision_tower_is_left_alone(family):
    model, inputs = ready(family)
    before = attention_implementations(model)
    with torch.no_grad():
        logits = model(**inputs).logits
        with AttentionTap(model, rows="all") as tap:
            within = attention_implementations(model)
            assert torch.equal(model(**inputs).logits, logits)
        assert (within["text_config"], within["vision_config"]) == ("gazelab_tap", "sdpa")
        assert attention_implementations(model) == before
        model.set_attn_implementation("eager")
        full = torch.stack(model(**inputs, output_attentions=True).attentions)[:, 0].numpy()
    np.testing.assert_allclose(tap.weights.transpose(1, 2, 0, 3), full, atol=1e-6)


@pytest.mark.parametrize("family", [llava, paligemma, gemma3, idefics3])
def test_generation_gives_the_rows_of_one_pass_over_the_whole(family):
    model, inputs = ready(family)
    with AttentionTap(model) as tap:
        whole = model.generate(**inputs, max_new_tokens=4, do_sample=False)
    assert torch.equal(whole, model.generate(**inputs, max_new_tokens=4, do_sample=False))
    model.set_attn_implementation("eager")
    steps = model.generate(
        **inputs, max_new_tokens=4, do_sample=False, output_attentions=True, return_dict_in_generate=True
    ).attentions
    for k, step in enumerate(steps):
        n_keys = inputs["input_ids"].shape[1] + k
        for layer, weights in enumerate(step):
            row = weights[0, :, -1].numpy()  # as wide as the layer's window
            expected = np.pad(row, ((0, 0), (n_keys - row.shape[-1], 0)))
            np.testing.assert_allclose(tap.weights[k, layer, :, :n_keys], expected, atol=1e-6)
