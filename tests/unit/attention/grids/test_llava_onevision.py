"""LLaVA-OneVision on a tiny random checkpoint: squares of 88 px, of which patches of 14 px see 84."""

import corners
import equality
import numpy as np
import pytest
import tiny_llava
import torch
from PIL import Image
from transformers import LlavaOnevisionProcessor

from gazelab.attention.base import open_model

QUESTION = equality.QUESTION
SIDE = tiny_llava.ONEVISION_SIDE_PX


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    return open_model(str(tiny_llava.onevision_folder(tmp_path_factory.mktemp("llava_onevision"))))


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_lands_in_its_cell_or_is_reported_as_unseen(model, width, height):
    corners.check_corners(model, width, height)


def test_V10_an_edit_within_a_patch_changes_one_token_of_each_view(model):
    corners.check_every_patch(model, 2 * SIDE, SIDE)


def test_px_between_squares_and_at_their_end_are_seen_by_no_tile(model):
    """Two squares at the picture's own size: px 84 to 88 and 172 to 176 fall between the patches."""
    boxes = [(84, 0, 88, 84), (172, 0, 176, 88), (0, 84, 176, 88), (80, 0, 84, 84)]
    picture = corners.grey(2 * SIDE, SIDE)
    (tiles, _), moved = corners.layout_of(model, picture).views, corners.changes(model, picture, boxes)
    gap, right, below, seen = moved[:, tiles.token.ravel()].max(1)
    assert (gap, right, below) == (0, 0, 0)
    assert seen > 0
    rows, cols = tiles.grid.locate([174, 10], [10, 86])
    assert (cols[0], rows[1]) == (-1, -1)


def test_V11_what_a_view_leaves_out_is_not_seen_by_it(model):
    """The model drops whole rows of patches: 11 px of this picture go with them."""
    picture = corners.grey(1000, 300)
    layout = corners.layout_of(model, picture)
    (tiles, base), (moved,) = layout.views, corners.changes(model, picture, [(0, 0, 60, 5)])
    # In the rectangle of 528 x 176 px the picture has 159 px of the height, from px 8 on; row 1 starts at 14.
    assert tiles.grid.y_edges_px[0] == pytest.approx((14 - 8) * 300 / 159)
    assert moved[tiles.token].max() == 0
    assert moved[base.token].max() > 0
    assert "Left out of the tiles: 10 % of the picture, at the right, top and bottom." in layout.note


def test_V10_blended_cells_are_where_a_marker_shows(model):
    """30 squares are more than 9: 26 x 36 patches become 15 x 21 cells."""
    picture = corners.grey(853, 601)
    tiles = corners.layout_of(model, picture).views[0]
    assert (tiles.grid.rows, tiles.grid.cols) == (15, 21)
    cells = [(0, 0), (0, 20), (7, 3), (14, 10), (11, 17), (4, 12)]
    x, y = tiles.grid.x_edges_px, tiles.grid.y_edges_px
    middles = [((x[col] + x[col + 1]) / 2, (y[row] + y[row + 1]) / 2) for row, col in cells]
    boxes = [(int(cx) - 5, max(int(cy) - 5, 0), int(cx) + 5, int(cy) + 5) for cx, cy in middles]
    moved = corners.changes(model, picture, boxes)
    found = moved[:, tiles.token.ravel()].argmax(1)
    assert [divmod(int(i), 21) for i in found] == cells


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V6_V10_the_model_makes_as_many_tokens_as_the_prompt_holds(model, width, height):
    layout = corners.check_token_count(model, width, height)
    assert [view.name for view in layout.views] == ["tiles", "base"]


def test_V5_the_streamed_look_is_eager_attention_and_leaves_nothing_behind(model):
    equality.check_equality(model, corners.grey(260, 120))


@pytest.mark.parametrize(("width", "height"), [*corners.SIZES_PX, (1000, 5), (5, 1000)])
def test_V10_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    """Its constructor asks for torchvision; what it does with picture and text needs none."""
    parts = model.checkpoint
    theirs = LlavaOnevisionProcessor.__new__(LlavaOnevisionProcessor)
    theirs.image_processor, theirs.tokenizer, theirs.video_processor = (
        parts.image_processor,
        parts.tokenizer,
        None,
    )
    theirs.num_image_tokens, theirs.vision_feature_select_strategy = 36, "full"
    theirs.vision_aspect_ratio = "anyres_max_9"
    theirs.image_token, theirs.video_token = "<image>", "<video>"
    theirs.image_token_id = parts.config.image_token_index
    theirs.video_token_id = parts.config.video_token_index
    content = [{"type": "image"}, {"type": "text", "text": f"{QUESTION}\n{model.instruction}"}]
    text = parts.tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    picture = corners.grey(width, height)
    expected = theirs(text=[text], images=[Image.fromarray(picture.rgb)], return_tensors="pt")
    given = model.ask(picture, QUESTION).tensors
    assert set(given) == set(expected)
    for name, value in expected.items():
        assert torch.equal(given[name], value), name


def test_newline_tokens_count_as_text(model):
    picture = corners.grey(260, 120)
    head, (step,) = model.head(picture, QUESTION), model.stream(picture, QUESTION, 1)
    assert head.prompt_tokens.count("<image>") == head.grid.rows
    shares = step.weights.sum((-2, -1), dtype=np.float32) + step.other_weights[0].sum((-2, -1), np.float32)
    np.testing.assert_allclose(shares + step.text_share + step.sink_share, 1, atol=2e-3)
