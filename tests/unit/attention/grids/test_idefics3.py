"""The grids of Idefics3 and SmolVLM, proven on tiny random checkpoints and the families' own processors."""

import numpy as np
import pytest
import tiny_idefics3
from corners import SIZES_PX, check_corners, check_every_patch, check_token_count, grey
from equality import QUESTION, check_equality, check_input
from PIL import Image
from transformers import Idefics3Processor, SmolVLMProcessor

from gazelab.attention.base import open_model
from gazelab.attention.grids import family_of
from gazelab.core.errors import AttentionError

KINDS = {"idefics3": tiny_idefics3.idefics3_folder, "smolvlm": tiny_idefics3.smolvlm_folder}


@pytest.fixture(scope="module", params=sorted(KINDS))
def folder(request, tmp_path_factory):
    return KINDS[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def model(folder):
    return open_model(str(folder))


@pytest.fixture(scope="module")
def untiled(tmp_path_factory):
    folder = tiny_idefics3.idefics3_folder(tmp_path_factory.mktemp("untiled"), do_image_splitting=False)
    return open_model(str(folder))


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """As SmolVLM-Instruct, whose patches of 14 px leave 6 of a tile's 384 px over."""
    folder = tiny_idefics3.smolvlm_folder(
        tmp_path_factory.mktemp("uneven"), tile_px=90, patch_px=14, scale_factor=3
    )
    return open_model(str(folder))


def their_processor(model, image_seq_len):
    """SmolVLM's constructor asks for a video processor; what it does with a picture and text needs none."""
    parts = model.checkpoint
    if parts.config.model_type == "idefics3":
        return Idefics3Processor(parts.image_processor, parts.tokenizer, image_seq_len=image_seq_len)
    theirs = SmolVLMProcessor.__new__(SmolVLMProcessor)
    theirs.image_processor, theirs.tokenizer, theirs.video_processor = (
        parts.image_processor,
        parts.tokenizer,
        None,
    )
    theirs.image_token, theirs.fake_image_token = tiny_idefics3.IMAGE, tiny_idefics3.FAKE
    theirs.global_image_token, theirs.video_token = tiny_idefics3.GLOBAL, "<video>"
    theirs.image_token_id, theirs.image_seq_len = parts.config.image_token_id, image_seq_len
    return theirs


@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900)])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    check_input(model, their_processor(model, 16), grey(width, height))


def test_the_input_of_a_picture_that_is_not_cut_is_the_librarys_own(untiled):
    check_input(untiled, their_processor(untiled, 16), grey(300, 200))


def test_V5_the_look_is_eager_attention_in_every_view(model):
    asked = check_equality(model, grey(260, 120))
    assert [view.name for view in asked.layout.views] == ["tiles", "global"]
    assert [columns.shape for columns in asked.columns] == [(8, 16), (4, 4)]


def test_V5_the_look_at_a_picture_that_is_not_cut_is_eager_attention(untiled):
    assert len(check_equality(untiled, grey(260, 120)).columns) == 1


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_each_corner_lands_in_its_cell_of_both_views(model, width, height):
    check_corners(model, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_lands_in_its_cell_where_the_picture_is_not_cut(untiled, width, height):
    check_corners(untiled, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V19_a_marker_lands_in_its_cell_where_tiles_have_a_rest(uneven, width, height):
    check_corners(uneven, width, height)


def test_V9_editing_one_patch_changes_one_token_of_each_view(model):
    check_every_patch(model, 256, 128)  # tiles of 64 px: cut as it is, and made smaller 4 : 1 for the whole


@pytest.mark.parametrize(
    ("width", "height", "rows", "cols"),
    [(853, 601, 3, 4), (1000, 300, 2, 4), (300, 1000, 4, 2), (200, 200, 4, 4), (64, 900, 4, 1)],
)
def test_V9_V6_tiles_times_tokens_and_the_whole_are_the_models_tokens(model, width, height, rows, cols):
    layout = check_token_count(model, width, height)
    assert layout.n_tokens == rows * cols * 16 + 16
    assert (layout.grid.rows, layout.grid.cols) == (rows * 4, cols * 4)
    assert layout.input_px == f"{cols * 64} x {rows * 64} in {cols} x {rows} tiles, and 64 x 64"
    assert layout.note == ""


def test_V9_one_token_of_a_tile_paints_its_part_of_the_chart(model):
    layout = check_token_count(model, 800, 600)
    tiles = layout.views[0]
    one_hot = (tiles.token == 4 * 16 * 1 + 16 * 2 + 5).astype(float)  # 2nd row, 3rd tile: its 2nd row and col
    y, x = np.nonzero(tiles.grid.paint(one_hot, 600, 800))
    assert (x.min(), x.max() + 1, y.min(), y.max() + 1) == (450, 500, 250, 300)


def test_V9_the_tags_stand_before_their_tiles(model):
    asked = model.ask(grey(853, 601), QUESTION)
    ids, tokenizer = asked.tensors["input_ids"][0], model.checkpoint.tokenizer
    for row in range(3):
        for col in range(4):
            first = asked.columns[0][row * 4, col * 4]
            assert tokenizer.decode(ids[first - 1]) == f"<row_{row + 1}_col_{col + 1}>"
    assert tokenizer.decode(ids[asked.columns[1][0, 0] - 1]) == "<global-img>"
    assert "".join(asked.prompt_tokens).startswith("<|im_start|>User:<fake_token_around_image><row_1_col_1>")
    assert asked.picture_at == len("User:") + 3


def test_V9_a_picture_that_is_not_cut_has_one_view(untiled):
    layout = check_token_count(untiled, 853, 601)
    assert [(view.name, view.grid.rows, view.grid.cols) for view in layout.views] == [("picture", 4, 4)]
    assert layout.input_px == "64 x 64"


def test_V19_what_patches_leave_of_a_tile_is_said_and_goes_to_no_other_token(uneven):
    layout = check_token_count(uneven, 360, 90)
    assert "last 6 of 90 px" in layout.note
    np.testing.assert_allclose(layout.grid.x_edges_px[:4], [0, 42, 90, 132])
    assert layout.n_tokens == 4 * 4 + 4


def test_V19_V10_tensors_that_are_no_tiles_of_the_model_are_refused(model):
    family, config = model.checkpoint.family, model.checkpoint.config
    made = dict(family.inputs(model.checkpoint, Image.fromarray(grey(853, 601).rgb), ""))
    with pytest.raises(AttentionError, match="are not 3 x 4 square tiles"):
        family.layout({**made, "pixel_values": made["pixel_values"][:, :-1]}, config, 853, 601)
    with pytest.raises(AttentionError, match="tiles of 56 px with patches of 8 px, merged by 2"):
        family.layout({**made, "pixel_values": made["pixel_values"][..., :56, :56]}, config, 853, 601)


def test_smolvlm_is_laid_as_idefics3():
    assert family_of("smolvlm") is family_of("idefics3")
