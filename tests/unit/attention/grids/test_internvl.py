"""The grid of InternVL, proven on a tiny random checkpoint and the family's own picture processor."""

from types import SimpleNamespace

import numpy as np
import pytest
import tiny_internvl
from corners import SIZES_PX, check_corners, check_every_patch, check_token_count, grey
from equality import check_equality, check_input
from PIL import Image
from transformers import InternVLProcessor

from gazelab.attention.base import open_model
from gazelab.attention.grids.internvl import FAMILY
from gazelab.core.errors import AttentionError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_internvl.internvl_folder(tmp_path_factory.mktemp("internvl"))


@pytest.fixture(scope="module")
def model(folder):
    return open_model(str(folder))


@pytest.fixture(scope="module")
def untiled(tmp_path_factory):
    return open_model(str(tiny_internvl.internvl_folder(tmp_path_factory.mktemp("untiled"), max_patches=1)))


def their_processor(model):
    """Its constructor asks for a video processor; what it does with a picture and text needs none."""
    parts = model.checkpoint
    theirs = InternVLProcessor.__new__(InternVLProcessor)
    theirs.image_processor, theirs.tokenizer, theirs.video_processor = (
        parts.image_processor,
        parts.tokenizer,
        None,
    )
    theirs.image_seq_length, theirs.image_token_id = 16, parts.config.image_token_id
    theirs.image_token, theirs.video_token = "<IMG_CONTEXT>", "<video>"
    theirs.start_image_token, theirs.end_image_token = "<img>", "</img>"
    theirs.start_image_token_id, theirs.end_image_token_id = parts.tokenizer.convert_tokens_to_ids(
        ["<img>", "</img>"]
    )
    theirs.multimodal_pattern = "(?P<image><IMG_CONTEXT>)|(?P<video><video>)"
    return theirs


@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900), (64, 64)])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    check_input(model, their_processor(model), grey(width, height))


def test_V5_the_look_is_eager_attention_in_every_view(model):
    asked = check_equality(model, grey(260, 120))
    assert [view.name for view in asked.layout.views] == ["tiles", "thumbnail"]


def test_V5_the_look_at_a_single_tile_is_eager_attention(untiled):
    assert len(check_equality(untiled, grey(260, 120)).columns) == 1


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_each_corner_lands_in_its_cell_of_both_views(model, width, height):
    check_corners(model, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_lands_in_its_cell_of_a_single_tile(untiled, width, height):
    check_corners(untiled, width, height)


def test_V9_V6_editing_one_patch_changes_one_token_of_each_view(model):
    check_every_patch(model, 256, 128)


@pytest.mark.parametrize(
    ("width", "height", "rows", "cols"),
    [
        (853, 601, 2, 3),
        (601, 853, 3, 2),
        (1000, 300, 2, 6),
        (300, 1000, 6, 2),
        (200, 200, 3, 3),
        (64, 900, 12, 1),
    ],
)
def test_V9_V10_tiles_times_tokens_and_the_thumbnail_are_the_models_tokens(model, width, height, rows, cols):
    layout = check_token_count(model, width, height)
    assert layout.n_tokens == rows * cols * 16 + 16
    assert (layout.grid.rows, layout.grid.cols) == (rows * 4, cols * 4)
    assert layout.views[1].token.min() == rows * cols * 16  # the thumbnail is last


def test_V9_a_picture_of_one_tile_has_no_thumbnail(model):
    layout = check_token_count(model, 64, 64)
    assert [(view.name, view.grid.rows, view.grid.cols) for view in layout.views] == [("picture", 4, 4)]


def test_V9_one_token_of_a_tile_paints_its_part_of_the_chart(model):
    tiles = check_token_count(model, 900, 600).views[0]
    assert tiles.token.shape == (8, 12)
    one_hot = (tiles.token == 16 * 4 + 4 * 1 + 2).astype(float)  # 2nd row, 2nd tile: its 2nd row, 3rd column
    y, x = np.nonzero(tiles.grid.paint(one_hot, 600, 900))
    assert (x.min(), x.max() + 1, y.min(), y.max() + 1) == (450, 525, 375, 450)


def test_V19_tensors_that_are_no_tiles_of_the_model_are_refused(model):
    config = model.checkpoint.config
    made = FAMILY.inputs(model.checkpoint, Image.fromarray(grey(853, 601).rgb), "")
    with pytest.raises(AttentionError, match="are not 2 x 3 square tiles, 7 in all"):
        FAMILY.layout({**made, "pixel_values": made["pixel_values"][:-1]}, config, 853, 601)
    with pytest.raises(AttentionError, match="tiles of 56 px with patches of 8 px, merged by 2"):
        FAMILY.layout({**made, "pixel_values": made["pixel_values"][..., :56, :56]}, config, 853, 601)


def test_V19_another_familys_picture_processor_is_refused():
    parts = SimpleNamespace(image_processor=object(), name="mine")
    with pytest.raises(AttentionError, match="picture processor object is not InternVL's"):
        FAMILY.inputs(parts, Image.new("RGB", (30, 20)), "")
