"""The grid of Gemma 3, proven on tiny random checkpoints and the family's own picture processor."""

import numpy as np
import pytest
import tiny_gemma3
import torch
from corners import SIZES_PX, check_corners, check_every_patch, check_token_count, grey
from equality import QUESTION, check_equality, check_input
from transformers import Gemma3Processor

from gazelab.attention.base import open_model
from gazelab.attention.grids.gemma3 import FAMILY
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError

SCAN = {
    "do_pan_and_scan": True,
    "pan_and_scan_min_crop_size": 32,
    "pan_and_scan_max_num_crops": 4,
    "pan_and_scan_min_ratio_to_activate": 1.2,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return open_model(str(tiny_gemma3.gemma3_folder(tmp_path_factory.mktemp("gemma3"))))


@pytest.fixture(scope="module")
def scanning(tmp_path_factory):
    return open_model(str(tiny_gemma3.gemma3_folder(tmp_path_factory.mktemp("scanning"), **SCAN)))


def their_processor(model):
    return Gemma3Processor(model.checkpoint.image_processor, model.checkpoint.tokenizer, image_seq_length=16)


@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900)])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    check_input(model, their_processor(model), grey(width, height))


@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900), (100, 100)])
def test_the_input_with_strips_is_the_librarys_own(scanning, width, height):
    check_input(scanning, their_processor(scanning), grey(width, height), **SCAN)


def test_the_prompt_begins_once(model):
    asked = model.ask(grey(853, 601), QUESTION)
    text = "".join(asked.prompt_tokens)
    assert text.startswith("<bos><start_of_turn>user\n\n\n<start_of_image><end_of_image>\n\nWhat is")
    assert text.count("<bos>") == 1


def test_V5_the_look_is_eager_attention_in_full_and_in_window_layers(model):
    """The window is 24 positions of 100: the picture is out of its sight."""
    asked = check_equality(model, grey(260, 120))
    shares = model.trace(grey(260, 120), QUESTION, 2).picture_share
    assert asked.prompt_length - asked.columns[0].max() > 24
    assert (shares[:, [0, 1, 3]] == 0).all()
    assert (shares[:, 2] > 0).all()


def test_V5_the_look_at_strips_is_eager_attention(scanning):
    asked = check_equality(scanning, grey(260, 120))
    assert [view.name for view in asked.layout.views] == ["strips", "whole"]


def test_the_pictures_tokens_see_each_other_both_ways(model):
    asked = model.ask(grey(260, 120), QUESTION)
    columns = asked.columns[0].ravel()
    with AttentionTap(model.checkpoint.model, rows=[int(columns[0])]) as tap, torch.no_grad():
        model.checkpoint.model(**asked.tensors)
    assert (tap.weights[0][:, :, columns] > 0).all()
    assert (tap.weights[0][:, :, columns[-1] + 1 :] == 0).all()


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_each_corner_lands_in_its_cell(model, width, height):
    check_corners(model, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_lands_in_its_cell_of_strips_and_whole(scanning, width, height):
    check_corners(scanning, width, height)


def test_V6_editing_one_patch_changes_one_token(model, scanning):
    check_every_patch(model, 64, 64)
    check_every_patch(scanning, 128, 64)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V6_V19_every_picture_has_the_models_tokens(model, width, height):
    layout = check_token_count(model, width, height)
    assert (layout.grid.rows, layout.grid.cols, layout.n_tokens, layout.input_px) == (4, 4, 16, "64 x 64")


@pytest.mark.parametrize(
    ("width", "height", "rows", "cols"),
    [(853, 601, 4, 8), (1000, 300, 4, 12), (300, 1000, 12, 4), (64, 900, 16, 4)],
)
def test_V9_strips_lie_side_by_side_along_the_long_side(scanning, width, height, rows, cols):
    layout = check_token_count(scanning, width, height)
    assert (layout.grid.rows, layout.grid.cols) == (rows, cols)
    assert layout.n_tokens == rows * cols + 16
    assert layout.views[1].token.max() == 15  # the whole picture comes first


def test_V7_the_last_strip_is_shorter_where_the_length_does_not_divide(scanning):
    grid = check_token_count(scanning, 1000, 300).grid
    np.testing.assert_allclose(grid.x_edges_px[[0, 4, 8, 12]], [0, 334, 668, 1000])
    np.testing.assert_allclose(np.diff(grid.x_edges_px), [83.5] * 8 + [83] * 4)


def test_a_picture_that_is_nearly_square_has_no_strips(scanning):
    assert [view.name for view in check_token_count(scanning, 200, 200).views] == ["picture"]


def test_V19_a_processor_of_another_size_is_refused(model):
    made = {"pixel_values": torch.zeros(1, 3, 80, 80), "strips": 0}
    with pytest.raises(
        AttentionError, match="where the model reads 1 of 64 px, in patches of 8 px that become 4 x 4"
    ):
        FAMILY.layout(made, model.checkpoint.config, 853, 601)
