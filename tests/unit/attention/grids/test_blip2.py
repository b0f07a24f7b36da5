"""BLIP-2: queries between the patches and the language model, which is OPT or T5."""

import numpy as np
import pytest
import tiny_blip2
import torch
from corners import SIZES_PX, changes, check_corners, grey
from equality import QUESTION, check_equality
from PIL import Image
from transformers import Blip2Processor

from gazelab.attention.base import open_model
from gazelab.attention.decoder import decoder_of
from gazelab.attention.doctor import check_model
from gazelab.attention.grids.blip2 import layout, patch_tokens, qformer_looks
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError

TEXT = {"opt": tiny_blip2.OPT, "t5": tiny_blip2.T5}
WORDED = {"opt": "Question: {} Answer:", "t5": "Question: {} Short answer:"}
KIND = {"opt": "self", "t5": "cross"}


@pytest.fixture(scope="module", params=["opt", "t5"])
def language(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory, language):
    return tiny_blip2.blip2_folder(tmp_path_factory.mktemp(language), TEXT[language])


@pytest.fixture(scope="module")
def model(folder):
    return open_model(str(folder))


def test_the_taps_rows_are_the_librarys_attention_to_the_queries(model, language):
    asked = check_equality(model, grey(300, 200))
    assert model.kind == KIND[language]
    assert [c.tolist() for c in asked.columns] == [[0, 1, 2, 3, 4]]
    assert asked.picture_at == 0
    assert asked.prompt_length == (17 if language == "opt" else 1)
    assert {"opt": "OPTDecoder", "t5": "T5Stack"}[language] == type(
        decoder_of(model.checkpoint.model)
    ).__name__


def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, language):
    parts, picture = model.checkpoint, grey(300, 200)
    theirs = Blip2Processor(parts.image_processor, parts.tokenizer, num_query_tokens=tiny_blip2.N_QUERIES)
    expected = theirs(
        images=Image.fromarray(picture.rgb), text=WORDED[language].format(QUESTION), return_tensors="pt"
    )
    given = dict(model.ask(picture, QUESTION).tensors)
    for name, value in expected.items():
        assert given.pop(name).equal(value), name
    assert {name: value.tolist() for name, value in given.items()} == (
        {} if language == "opt" else {"decoder_input_ids": [[1]]}  # what `generate` begins with by itself
    )


@torch.no_grad()
def reference_looks(hf, pixel_values):
    """softmax(q kᵀ / √width) of each cross-attention, from what went into it: (layer, head, query, key)."""
    seen = []
    modules = [layer.crossattention.attention for layer in hf.qformer.encoder.layer[::2]]
    hooks = [
        module.register_forward_pre_hook(
            lambda module, args, given: seen.append((module, given)), with_kwargs=True
        )
        for module in modules
    ]
    hf.get_image_features(pixel_values=pixel_values)
    for hook in hooks:
        hook.remove()
    out = []
    for module, given in seen:
        query = module.query(given["hidden_states"])[0].unflatten(-1, (2, 16)).transpose(0, 1)
        key = module.key(given["encoder_hidden_states"])[0].unflatten(-1, (2, 16)).transpose(0, 1)
        out.append((query @ key.transpose(1, 2) / 4).softmax(-1))
    return torch.stack(out).numpy()


def test_the_queries_looks_are_the_qformers_cross_attention(model):
    asked, hf = model.ask(grey(300, 200), QUESTION), model.checkpoint.model
    expected = reference_looks(hf, asked.tensors["pixel_values"])
    looks = qformer_looks(hf, asked.tensors["pixel_values"])
    assert looks.layers == (0, 2)
    assert looks.weights.shape == (2, 2, 5, 37)
    np.testing.assert_allclose(looks.weights, expected, atol=1e-6)
    patches = expected.mean((0, 1))[:, 1:]
    mixing = (patches / patches.sum(-1, keepdims=True)).reshape(5, 6, 6)
    np.testing.assert_allclose(asked.mixing, mixing, atol=1e-6)
    left_out = expected[..., 0].mean()
    assert "layers 0, 2 and all 2 heads" in asked.layout.note
    assert f"The {left_out:.0%} of it that fell on the class token is left out" in asked.layout.note


@pytest.mark.parametrize("cell", [(0, 0), (0, 5), (2, 3), (5, 0), (5, 5)])
def test_V6_a_queries_look_at_a_patch_lies_in_the_patchs_cell(model, cell):
    """With one patch changed, the first layer's look at all the others shrinks or grows by one factor."""
    asked, hf = model.ask(grey(300, 200), QUESTION), model.checkpoint.model
    token = asked.layout.token[cell]

    def change(module, args, output):
        output.last_hidden_state[0, 1 + token] *= -1
        return output

    before = qformer_looks(hf, asked.tensors["pixel_values"]).weights[0]
    hook = hf.vision_model.register_forward_hook(change)
    after = qformer_looks(hf, asked.tensors["pixel_values"]).weights[0]
    hook.remove()
    factor = after / before
    apart = np.abs(factor / np.median(factor, -1, keepdims=True) - 1).max((0, 1))
    assert np.flatnonzero(apart > 1e-3).tolist() == [1 + token]


def test_a_tokens_look_is_its_look_at_the_queries_spread_by_theirs(model):
    picture = grey(300, 200)
    asked, hf = model.ask(picture, QUESTION), model.checkpoint.model
    with AttentionTap(
        hf, rows=slice(asked.prompt_length - 1, None), picture=asked.columns[0], kind=model.kind
    ) as tap:
        hf.generate(**asked.tensors, max_new_tokens=3, do_sample=False)
    trace = model.trace(picture, QUESTION, 3)
    assert trace.kind == model.kind
    for weights, row in zip(trace.weights, tap.captured, strict=True):
        spread = sum(
            row.weights[..., query, None, None] * asked.mixing[query] for query in range(tiny_blip2.N_QUERIES)
        )
        np.testing.assert_allclose(weights, spread, atol=5e-4)
    np.testing.assert_allclose(trace.picture_share + trace.text_share + trace.sink_share, 1, atol=2e-3)
    assert len(trace.prompt_tokens) <= trace.text_weights.shape[-1]


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_changes_the_patch_of_its_cell(model, width, height):
    check_corners(model, width, height)
    asked = model.ask(grey(width, height), "?")
    assert len(patch_tokens(model.checkpoint.model, asked.tensors)) == asked.layout.n_tokens == 36
    assert asked.layout.grid.x_edges_px[-1] == pytest.approx(width)
    assert asked.layout.grid.y_edges_px[-1] == pytest.approx(height)


def test_each_patch_changes_its_token_alone(model):
    where = model.ask(grey(84, 84), "?").layout  # the tower's own size: no resize
    boxes = [(14 * col + 4, 14 * row + 4, 14 * col + 9, 14 * row + 9) for row, col in np.ndindex(6, 6)]
    moved = changes(model, grey(84, 84), boxes)
    assert [np.flatnonzero(change).tolist() for change in moved] == where.token.reshape(-1, 1).tolist()


def test_V11_what_is_left_over_at_the_edge_is_reported_as_unseen(tmp_path):
    model = open_model(str(tiny_blip2.blip2_folder(tmp_path, vision={"image_size": 90}, side_px=90)))
    where = model.ask(grey(900, 450), "?").layout
    assert (where.grid.x_edges_px[-1], where.grid.y_edges_px[-1]) == pytest.approx((840, 420))
    assert "does not see the picture's right and lower edge" in where.note
    check_corners(model, 900, 450)


def test_V19_a_processor_of_another_size_is_refused(tmp_path):
    model = open_model(str(tiny_blip2.blip2_folder(tmp_path, side_px=70)))
    with pytest.raises(
        AttentionError, match=r"\(1, 3, 70, 70\), where the vision tower takes \(1, 3, 84, 84\)"
    ):
        model.ask(grey(90, 60), "?")


@pytest.mark.parametrize(("side", "patch", "cells"), [(224, 14, 16), (364, 14, 26), (336, 16, 21)])
def test_V19_the_grid_follows_the_checkpoint(side, patch, cells):
    config = tiny_blip2.blip2_config(image_size=side, patch_size=patch)
    where = layout({"pixel_values": np.zeros((1, 3, side, side))}, config, 853, 601)
    assert (where.grid.rows, where.grid.cols) == (cells, cells)


@pytest.mark.parametrize("text", ["<image>", "</s><s>", "<pad>"])
def test_V14_special_tokens_in_a_question_do_not_change_the_prompts_form(model, language, text):
    ids = model.ask(grey(60, 60), f"What is {text} ?").tensors["input_ids"][0].tolist()
    special = [token for token in ids if token in (0, 1, 2, 4)]
    assert special == [4] * 5 + ([0] if language == "opt" else [2])


def test_asking_leaves_the_model_as_it_was(model):
    hf = model.checkpoint.model

    def state():
        return attention_implementations(hf), sum(len(module._forward_hooks) for module in hf.modules())

    model.ask(grey(61, 60), "?")  # the library's own first run may leave a hook of its own
    before = state()
    model.ask(grey(60, 61), "?")
    assert state() == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_doctor_finds_nothing_wrong(folder, dtype):
    checks = check_model(str(folder), dtype=dtype)
    assert [check for check in checks if not check.ok] == []
    assert len(checks) == 18
