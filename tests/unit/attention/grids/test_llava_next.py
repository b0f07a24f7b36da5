"""LLaVA-NeXT on a tiny random checkpoint: squares of 8 x 8 patches in rectangles of up to three."""

import corners
import equality
import numpy as np
import pytest
import tiny_llava
import torch
from PIL import Image
from transformers import LlavaNextProcessor

from gazelab.attention.base import open_model

QUESTION = equality.QUESTION


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    return open_model(str(tiny_llava.next_folder(tmp_path_factory.mktemp("llava_next"))))


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_lands_in_its_cell_of_each_view(model, width, height):
    corners.check_corners(model, width, height)


def test_V10_an_edit_within_a_patch_changes_one_token_of_each_view_and_no_newline_token(model):
    side = tiny_llava.SIDE_PX
    corners.check_every_patch(model, 2 * side, side)
    picture = corners.grey(2 * side, side)  # two squares, and the base at half the width
    box = (0, 0, 2 * side, side)
    (moved,) = corners.changes(model, picture, [box])
    (tiles, base) = corners.layout_of(model, picture).views
    assert (tiles.grid.rows, tiles.grid.cols, base.grid.rows, base.grid.cols) == (8, 16, 8, 8)
    newline = np.setdiff1d(np.arange(64 + 8 * 17), np.append(tiles.token, base.token))
    assert newline.tolist() == [64 + 17 * row + 16 for row in range(8)]
    assert np.flatnonzero(moved == 0).tolist() == newline.tolist()


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V6_V10_the_model_makes_as_many_tokens_as_the_prompt_holds(model, width, height):
    layout = corners.check_token_count(model, width, height)
    assert [view.name for view in layout.views] == ["tiles", "base"]


@pytest.mark.parametrize(("width", "height"), [(260, 120), (120, 260)])
def test_V5_the_streamed_look_is_eager_attention_and_leaves_nothing_behind(model, width, height):
    equality.check_equality(model, corners.grey(width, height))


@pytest.mark.parametrize(("width", "height"), [*corners.SIZES_PX, (1000, 5), (5, 1000)])
def test_V10_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    parts = model.checkpoint
    theirs = LlavaNextProcessor(
        parts.image_processor,
        parts.tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=parts.tokenizer.chat_template,
    )
    content = [{"type": "image"}, {"type": "text", "text": f"{QUESTION}\n{model.instruction}"}]
    text = theirs.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    picture = corners.grey(width, height)
    expected = theirs(text=[text], images=[Image.fromarray(picture.rgb)], return_tensors="pt")
    given = model.ask(picture, QUESTION).tensors
    assert set(given) == set(expected)
    for name, value in expected.items():
        assert torch.equal(given[name], value), name


def test_newline_tokens_count_as_text(model):
    picture = corners.grey(260, 120)
    head, (step,) = model.head(picture, QUESTION), model.stream(picture, QUESTION, 1)
    assert head.view == "tiles"
    assert [name for name, _ in head.other_grids] == ["base"]
    assert head.prompt_tokens.count("<image>") == head.grid.rows
    shares = step.weights.sum((-2, -1), dtype=np.float32) + step.other_weights[0].sum((-2, -1), np.float32)
    np.testing.assert_allclose(shares + step.text_share + step.sink_share, 1, atol=2e-3)
    assert step.text_weights.shape[-1] == len(head.prompt_tokens)
    newline = [i for i, text in enumerate(head.prompt_tokens) if text == "<image>"]
    assert step.text_weights[..., newline].sum() > 0


def test_so_thin_a_picture_that_no_tile_is_left_is_answered_from_the_base_view(model):
    trace = model.trace(corners.grey(1000, 5), QUESTION, 2)
    assert trace.view == "base"
    assert trace.weights.shape == (2, 2, 4, 8, 8)
    assert "leaves no tiles" in trace.note
