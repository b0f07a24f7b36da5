"""Florence-2: an encoder-decoder whose vision tower is convolutions first."""

import numpy as np
import pytest
import tiny_florence2
from corners import SIZES_PX, changes, check_corners, check_token_count, grey
from equality import QUESTION, check_equality
from PIL import Image
from transformers import Florence2Processor

from gazelab.attention.base import open_model
from gazelab.attention.decoder import decoder_of
from gazelab.attention.doctor import check_model
from gazelab.attention.grids.florence2 import layout, without_neighbours
from gazelab.core.errors import AttentionError

SIDE = tiny_florence2.SIDE_PX


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_florence2.florence2_folder(tmp_path_factory.mktemp("florence2"))


@pytest.fixture(scope="module")
def model(folder):
    return open_model(str(folder))


def test_the_taps_rows_are_the_librarys_cross_attention(model):
    asked = check_equality(model, grey(300, 200))
    assert type(decoder_of(model.checkpoint.model)).__name__ == "BartDecoder"
    assert asked.prompt_length == 1
    assert " ".join(asked.prompt_tokens) == "<image> <s> What is the value of April ? </s>"
    assert asked.picture_at == 1


@pytest.mark.parametrize("question", [QUESTION, "", "<OCR>"])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, question):
    parts, picture = model.checkpoint, grey(300, 200)
    theirs = Florence2Processor(parts.image_processor, parts.tokenizer)
    expected = theirs(images=[Image.fromarray(picture.rgb)], text=[question], return_tensors="pt")
    given = model.ask(picture, question).tensors
    assert set(given) == set(expected)
    for name, value in expected.items():
        assert given[name].equal(value), name


def test_a_task_mark_among_other_words_is_refused(model):
    with pytest.raises(AttentionError, match="<OCR> should be the only content"):
        model.ask(grey(60, 60), "What is <OCR> ?")


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_changes_the_token_of_its_cell(model, width, height):
    check_corners(model, width, height)
    where = check_token_count(model, width, height)
    assert (where.grid.x_edges_px[0], where.grid.x_edges_px[-1]) == (0, width)
    assert (where.grid.y_edges_px[0], where.grid.y_edges_px[-1]) == (0, height)


@pytest.mark.parametrize("px", [(0, 0), (1, 40), (16, 17), (31, 32), (33, 95), (100, 200), (224, 255)])
def test_V7_a_token_looks_31_px_to_each_side_of_every_32nd(model, px):
    """One pixel of a picture that needs no resize."""
    (change,) = changes(model, grey(SIDE, SIDE), [(px[0], px[1], px[0] + 1, px[1] + 1)])
    seen = [[n for n in range(8) if abs(32 * n - at) <= 31] for at in px]
    where = model.ask(grey(SIDE, SIDE), "?").layout
    expected = [where.token[row, col] for row in seen[1] for col in seen[0]]
    patches = where.token.ravel()
    assert sorted(expected) == [token for token in patches if change[token] > 0]


def test_V7_each_pixel_belongs_to_the_token_that_looks_from_nearest(model):
    grid = model.ask(grey(SIDE, SIDE), "?").layout.grid
    px = np.delete(np.arange(SIDE), np.arange(16, SIDE, 32))  # as near to the one before as to the one after
    nearest = np.abs(32 * np.arange(8)[:, None] - px).argmin(0)
    np.testing.assert_array_equal(grid.locate(px + 0.5, px + 0.5), [nearest, nearest])


def test_the_first_token_is_the_mean_of_all_and_in_no_cell(model):
    where = model.ask(grey(SIDE, SIDE), "?").layout
    assert where.n_tokens == 65
    np.testing.assert_array_equal(where.token.ravel(), np.arange(1, 65))
    moved = changes(model, grey(SIDE, SIDE), [(0, 0, 9, 9), (240, 240, 249, 249)])
    assert (moved[:, 0] > 0).all()
    trace = model.trace(grey(SIDE, SIDE), QUESTION, 2)
    assert "mean of all its patches" in trace.note
    np.testing.assert_allclose(trace.sink_share, trace.text_weights[..., 0], atol=1e-3)


def test_V6_the_weights_of_patches_text_and_mean_make_one(model):
    trace = model.trace(grey(90, 60), QUESTION, 3)
    assert trace.kind == "cross"
    assert trace.weights.shape == (len(trace.tokens), 2, 4, 8, 8)
    np.testing.assert_allclose(trace.picture_share + trace.text_share + trace.sink_share, 1, atol=2e-3)
    assert trace.text_weights.shape[-1] == len(trace.prompt_tokens)
    assert trace.made_with["instruction"] == ""
    assert trace.made_with["processor"] == "CLIPImageProcessorPil"


@pytest.mark.parametrize("text", ["<image>", "</s><s>", "<pad>"])
def test_V14_special_tokens_in_a_question_do_not_change_the_prompts_form(model, text):
    ids = model.ask(grey(60, 60), f"What is {text} ?").tensors["input_ids"][0].tolist()
    special = [token for token in ids if token in model.checkpoint.tokenizer.all_special_ids and token != 3]
    assert special == [4] * 65 + [0, 2]


@pytest.mark.parametrize(
    ("side", "vision", "cells"),
    [(768, {}, 24), (224, {}, 7), (384, {"patch_stride": [4, 2, 2, 1]}, 24), (32, {}, 1)],
)
def test_V19_the_grid_follows_the_towers_strides(side, vision, cells):
    config = tiny_florence2.florence2_config(**vision)
    where = layout({"pixel_values": np.zeros((1, 3, side, side))}, config, 853, 601)
    assert (where.grid.rows, where.grid.cols) == (cells, cells)
    assert where.input_px == f"{side} x {side}"


def test_V11_a_processor_that_crops_is_refused(tmp_path):
    cropping = {"do_center_crop": True, "crop_size": {"height": 224, "width": 224}}
    model = open_model(str(tiny_florence2.florence2_folder(tmp_path, **cropping)))
    with pytest.raises(AttentionError, match="crops the picture"):
        model.ask(grey(90, 60), "?")


def test_two_pictures_are_refused():
    with pytest.raises(AttentionError, match="not one picture"):
        layout({"pixel_values": np.zeros((2, 3, 64, 64))}, tiny_florence2.florence2_config(), 9, 9)


def test_the_proof_takes_its_hooks_off(model):
    def hooks():
        return sum(len(module._forward_hooks) for module in model.checkpoint.model.modules())

    before = hooks()
    with without_neighbours(model.checkpoint.model):
        assert hooks() == before + 16  # four a block, four blocks
    assert hooks() == before


def test_the_doctor_finds_nothing_wrong(folder):
    checks = check_model(str(folder))
    assert [check for check in checks if not check.ok] == []
    assert len(checks) == 18
