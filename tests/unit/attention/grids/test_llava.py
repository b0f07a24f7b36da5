"""LLaVA-1.5 on tiny random checkpoints: its picture processor crops, pads or squashes; each is undone."""

from types import SimpleNamespace

import corners
import equality
import numpy as np
import pytest
import tiny_llava
import torch
from PIL import Image
from transformers import CLIPImageProcessorPil, LlavaProcessor, SiglipImageProcessorPil

from gazelab.attention.base import open_model
from gazelab.attention.grids.llava import FAMILY, layout, sides
from gazelab.attention.grids.llava_seen import seen_share, unseen
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

QUESTION = equality.QUESTION
WAYS = {
    "crop": (tiny_llava.clip_processor, tiny_llava.llava_config),
    "pad": (tiny_llava.padding_processor, tiny_llava.llava_config),
    "squash": (
        tiny_llava.siglip_processor,
        lambda: tiny_llava.llava_config(
            tiny_llava.vision_config("siglip_vision_model"), vision_feature_select_strategy="full"
        ),
    ),
    "class token kept": (
        tiny_llava.clip_processor,
        lambda: tiny_llava.llava_config(vision_feature_select_strategy="full"),
    ),
}


@pytest.fixture(scope="module", params=list(WAYS))
def model(request, tmp_path_factory):
    torch.manual_seed(0)
    processor, config = WAYS[request.param]
    return open_model(str(tiny_llava.llava_folder(tmp_path_factory.mktemp("llava"), processor(), config())))


def laid(processor, config, width, height):
    """The layout of a picture that is run through a processor only."""
    parts = SimpleNamespace(image_processor=processor)
    made = FAMILY.inputs(parts, Image.new("RGB", (width, height)), "?")
    return layout(made, config, width, height)


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_lands_in_its_cell_or_is_reported_as_unseen(model, width, height):
    corners.check_corners(model, width, height)


def test_V11_an_edit_within_a_patch_changes_its_token_and_no_other(model):
    corners.check_every_patch(model, tiny_llava.SIDE_PX, tiny_llava.SIDE_PX)


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V6_V10_the_model_makes_as_many_tokens_as_the_prompt_holds(model, width, height):
    corners.check_token_count(model, width, height)


def test_V5_the_streamed_look_is_eager_attention_and_leaves_nothing_behind(model):
    equality.check_equality(model, corners.grey(260, 120))


@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900)])
def test_V10_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    parts = model.checkpoint
    theirs = LlavaProcessor(
        parts.image_processor,
        parts.tokenizer,
        patch_size=14,
        vision_feature_select_strategy=parts.config.vision_feature_select_strategy,
        num_additional_image_tokens=int(parts.config.vision_config.model_type == "clip_vision_model"),
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


def test_V14_a_place_holder_in_the_question_is_no_second_picture(model):
    plain, hostile = (model.ask(corners.grey(99, 99), text) for text in (QUESTION, f"<image> {QUESTION}"))
    np.testing.assert_array_equal(plain.columns[0], hostile.columns[0])


def test_V11_a_wide_chart_is_cropped_and_the_head_says_how_much_of_it_is_lost(tmp_path):
    model = open_model(str(tiny_llava.llava_folder(tmp_path)))
    head = model.head(corners.grey(1000, 300), QUESTION)
    assert head.note == (
        "The model does not see the whole picture:"
        " its processor cuts off 70 % of the picture, at the left and right."
    )
    # 112 px of the 373 that are left of the width: from px 130 on, at 300/112 picture px each.
    assert head.grid.x_edges_px[0] == pytest.approx(130 * 1000 / 373)
    assert head.grid.x_edges_px[-1] == pytest.approx((130 + 112) * 1000 / 373)
    assert head.grid.locate([10, 500, 990], [150, 150, 150])[1].tolist() == [-1, 4, -1]
    assert model.trace(corners.grey(1000, 300), QUESTION, 1).note == head.note


def test_V11_padding_to_a_square_lies_outside_the_picture():
    where = laid(tiny_llava.padding_processor(336), tiny_llava.llava_config(), 1000, 300)
    assert where.note == ""
    assert where.grid.y_edges_px[[0, -1]].tolist() == pytest.approx([-350, 650])
    inside = where.grid.inside()
    # Rows of 1000/24 px: the eight of the middle and a fifth of one on each side are the chart.
    np.testing.assert_allclose(inside[:, 0], [0] * 8 + [0.6] + [1] * 6 + [0.6] + [0] * 8, atol=1e-9)


@pytest.mark.parametrize("name", ["crop", "pad", "squash"])
@pytest.mark.parametrize(("width", "height"), [*corners.SIZES_PX, (57, 83), (101, 99)])
def test_V7_a_line_in_the_picture_lies_where_the_grid_says_within_a_pixel(name, width, height):
    processor = WAYS[name][0](336)
    for axis, side in enumerate(sides(processor, width, height)):
        length = (width, height)[axis]
        first, last = side.picture_px(np.array([0.0, 336.0])).clip(0, length)
        line_px = int(first + 0.4 * (last - first))
        pixels = np.zeros((height, width, 3), np.uint8)
        np.moveaxis(pixels, 1 - axis, 0)[line_px:] = 200
        made = processor(images=[Image.fromarray(pixels)], return_tensors="pt")["pixel_values"][0, 0]
        steps = np.abs(np.diff(made.numpy().mean(axis)))
        expected = (line_px + side.pad_px) * side.scale - side.crop_px
        near = slice(max(round(expected) - 6, 0), round(expected) + 6)  # the padding's own edges are farther
        found = np.average(1 + np.arange(335)[near], weights=steps[near])
        assert abs(float(side.picture_px(found)) - line_px) < 1


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 20), (31, 639), (1093, 6), (3000, 40)])
def test_V8_tiny_and_long_pictures_are_read(model, width, height):
    assert model.trace(corners.grey(width, height), QUESTION, 1).tokens


def test_V8_a_picture_that_the_resize_would_blow_up_is_one_message(tmp_path):
    model = open_model(str(tiny_llava.llava_folder(tmp_path)))
    with pytest.raises(AttentionError, match="4000 x 3 px would be enlarged to 149333 px of length"):
        model.trace(corners.grey(4000, 3), QUESTION, 1)


@pytest.mark.parametrize(("side", "patch", "n"), [(336, 14, 24), (384, 14, 27), (384, 16, 24), (224, 14, 16)])
def test_V19_patches_are_counted_from_the_checkpoints_settings(side, patch, n):
    vision = tiny_llava.vision_config(image_size=side, patch_size=patch)
    where = laid(tiny_llava.clip_processor(side), tiny_llava.llava_config(vision), 500, 500)
    assert (where.grid.rows, where.grid.cols, where.n_tokens) == (n, n, n * n)
    assert where.grid.x_edges_px[-1] == pytest.approx(500 * n * patch / side)


def test_an_input_that_is_no_square_has_rows_and_columns_of_its_own():
    processor = SiglipImageProcessorPil(size={"height": 56, "width": 84})
    where = laid(processor, tiny_llava.llava_config(), 500, 500)
    assert (where.grid.rows, where.grid.cols, where.input_px) == (4, 6, "84 x 56")


def test_V19_px_that_no_patch_holds_are_told():
    vision = tiny_llava.vision_config(image_size=384, patch_size=14)
    where = laid(tiny_llava.siglip_processor(384), tiny_llava.llava_config(vision), 500, 500)
    assert "3.1 % of the picture, at the right and bottom" in where.note


def test_the_class_token_comes_before_the_patches_where_it_is_kept():
    config = tiny_llava.llava_config(vision_feature_select_strategy="full")
    where = laid(tiny_llava.clip_processor(), config, 200, 200)
    assert where.n_tokens == 65
    assert where.token[0, 0] == 1


def test_V19_tensors_of_another_size_than_the_settings_give_are_refused():
    made = {"pixel_values": torch.zeros(1, 3, 224, 224), "sides": sides(tiny_llava.clip_processor(), 50, 50)}
    with pytest.raises(AttentionError, match="where the settings give 112 x 112 px"):
        layout(made, tiny_llava.llava_config(), 50, 50)


def test_an_unknown_vision_tower_is_refused():
    config = tiny_llava.llava_config(
        {"model_type": "pixtral", "image_size": 112, "patch_size": 14, "hidden_size": 32}
    )
    with pytest.raises(AttentionError, match='"pixtral"'):
        laid(tiny_llava.clip_processor(), config, 50, 50)


def test_a_tower_without_a_class_token_whose_first_patch_is_dropped_is_refused():
    config = tiny_llava.llava_config(tiny_llava.vision_config("siglip_vision_model"))
    with pytest.raises(AttentionError, match="has no class token"):
        laid(tiny_llava.siglip_processor(), config, 50, 50)


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"do_pad": True}, "pads in a way"), ({"size": {"max_height": 9, "max_width": 9}}, "resizes in a way")],
)
def test_a_processor_that_works_in_an_unknown_way_is_refused(changes, told):
    processor = CLIPImageProcessorPil(**{"size": {"shortest_edge": 112}, **changes})
    with pytest.raises(AttentionError, match=told):
        sides(processor, 50, 50)


def test_a_processor_that_changes_no_size_is_followed():
    processor = CLIPImageProcessorPil(do_resize=False, crop_size={"height": 50, "width": 60})
    across, down = sides(processor, 100, 40)
    assert (across.picture_px(np.array(0.0)), across.input_px) == (20, 60)
    assert (down.picture_px(np.array(0.0)), down.input_px) == (
        -5,
        50,
    )  # zeros round a low picture


def test_what_a_grid_leaves_out_is_named_by_share_and_side():
    grid = PatchGrid(np.array([10.0, 60.0, 110.0]), np.array([0.0, 40.0]), 100, 50)
    assert seen_share(grid) == pytest.approx(0.9 * 0.8)
    assert unseen(grid) == "28 % of the picture, at the left and bottom"
    assert unseen(PatchGrid.stretched(2, 2, 100, 50)) == ""
