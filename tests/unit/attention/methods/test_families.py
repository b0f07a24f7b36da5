"""What differs between families: prefixes that look both ways, no cache, views, queries for patches."""

import importlib

import numpy as np
import pytest
import torch

from gazelab.attention.base import open_model
from gazelab.attention.methods import make_map, offers
from gazelab.attention.methods.rerun import rerun_of
from gazelab.core.picture import Picture

QUESTION = "What is the value of April ?"
PICTURE = Picture.from_rgb(np.random.default_rng(3).integers(0, 255, (60, 90, 3), np.uint8))
FAMILIES = {
    "tiles and a global view": ("tiny_idefics3", "smolvlm_folder", {}),
    "sliding windows": ("tiny_gemma3", "gemma3_folder", {}),
    "a prefix that looks both ways": ("tiny_paligemma", "paligemma_folder", {}),
    "capped scores": ("tiny_paligemma", "paligemma_folder", {"generation": 2}),
    "queries in place of patches": ("tiny_blip2", "blip2_folder", {}),
    "an encoder of picture and text": ("tiny_florence2", "florence2_folder", {}),
    "an encoder of patches, no cache": ("tiny_pix2struct", "pix2struct_folder", {}),
}


@pytest.fixture(params=FAMILIES)
def model(request, tmp_path):
    module, folder, options = FAMILIES[request.param]
    torch.manual_seed(0)
    return open_model(str(getattr(importlib.import_module(module), folder)(tmp_path, **options)))


def test_what_is_recorded_and_expected_is_what_was_traced(model):
    trace = model.trace(PICTURE, QUESTION, 3)
    rerun = rerun_of(model)
    ids = rerun.answer(PICTURE, QUESTION, 3)
    expected = rerun.expect(PICTURE, QUESTION, ids, 3)
    np.testing.assert_allclose(np.exp(expected.log_probs), [top[0][1] for top in trace.top], rtol=1e-4)
    assert expected.unchanged
    found = rerun.record(PICTURE, QUESTION, ids)
    assert [name for name, _ in found.views] == [view.name for view in trace.views]
    for i, layer in enumerate(found.looking):
        for k in range(len(ids)):
            block, row = layer.block_of(found.rows[k])
            weights = np.zeros((model.n_heads, found.keys), np.float32)
            seen = slice(block.first_key, block.first_key + block.n_keys)
            weights[:, seen] = block.weights([row], range(model.n_heads))[:, 0]
            for laid, view in zip(found.lay(weights), trace.views, strict=True):
                np.testing.assert_allclose(laid, view.weights[k, i], atol=1e-3)


def test_every_method_that_is_offered_makes_a_map(model):
    trace = model.trace(PICTURE, QUESTION, 2)
    for offer in offers(model):
        if offer.reason or not offer.entry.needs_model:
            continue
        made = make_map(model, PICTURE, QUESTION, offer.entry.name, trace=trace)
        assert made.values.sum() == pytest.approx(1), offer.entry.name
        assert 0 < made.picture_share <= 1.001
    assert sum(not offer.reason for offer in offers(model)) == (8 if model.kind == "self" else 7)
