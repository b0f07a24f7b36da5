"""Pix2Struct, MatCha and DePlot: the question is drawn above the picture, and patches are as many as fit."""

from types import SimpleNamespace

import numpy as np
import pytest
import tiny_pix2struct
import torch
from corners import SIZES_PX, check_corners, check_token_count, grey
from equality import QUESTION, check_equality
from PIL import Image
from transformers import Pix2StructProcessor
from transformers.models.pix2struct import image_processing_pil_pix2struct as librarys

from gazelab.attention.base import open_model
from gazelab.attention.decoder import decoder_of
from gazelab.attention.doctor import check_model
from gazelab.attention.grids.pix2struct import FAMILY, drawn_inputs, layout
from gazelab.attention.grids.pix2struct_header import FONT
from gazelab.attention.grids.proof import token_changes
from gazelab.core.errors import AttentionError

SIDE = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_pix2struct.pix2struct_folder(tmp_path_factory.mktemp("pix2struct"))


@pytest.fixture(scope="module")
def model(folder):
    return open_model(str(folder))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A checkpoint for captions: no header, the text is where the answer begins."""
    return open_model(str(tiny_pix2struct.pix2struct_folder(tmp_path_factory.mktemp("plain"), is_vqa=False)))


def test_the_taps_rows_are_the_librarys_cross_attention(model):
    asked = check_equality(model, grey(300, 200))
    assert asked.prompt_length == 1
    assert type(decoder_of(model.checkpoint.model)).__name__ == "Pix2StructTextModel"


def test_the_taps_rows_are_the_librarys_cross_attention_after_a_beginning_of_text(plain):
    asked = check_equality(plain, grey(300, 200), "A picture of")
    assert asked.prompt_length == 4
    assert asked.prompt_tokens == ("padding",) * (tiny_pix2struct.MAX_PATCHES - asked.layout.n_tokens)


def processors_own(model, picture, question, monkeypatch):
    """The library's processor, handed our font when it asks the hub for one."""
    font = SimpleNamespace(hf_hub_download=lambda *a: str(FONT))
    monkeypatch.setattr(librarys, "hf_api", lambda: font)
    theirs = Pix2StructProcessor(model.checkpoint.image_processor, model.checkpoint.tokenizer)
    return theirs(
        images=[Image.fromarray(picture.rgb)],
        text=question,
        return_tensors="pt",
        max_patches=tiny_pix2struct.MAX_PATCHES,
    )


@pytest.mark.parametrize("question", [QUESTION, QUESTION * 5, "?"])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, question, monkeypatch):
    expected = processors_own(model, grey(300, 200), question, monkeypatch)
    given = model.ask(grey(300, 200), question).tensors
    for name, value in expected.items():
        assert given.pop(name).equal(value), name
    assert given["decoder_input_ids"].tolist() == [[0]]  # what `generate` begins with by itself


def test_the_input_without_a_header_is_the_processors_too(plain, monkeypatch):
    expected = processors_own(plain, grey(300, 200), ["A picture of"], monkeypatch)
    given = plain.ask(grey(300, 200), "A picture of").tensors
    assert given["flattened_patches"].equal(expected["flattened_patches"])
    assert given["attention_mask"].equal(expected["attention_mask"])
    assert given["decoder_input_ids"][:, 1:].equal(expected["decoder_input_ids"])
    assert given["decoder_input_ids"][0, 0] == 0


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_changes_the_token_of_its_cell(model, plain, width, height):
    for opened in (model, plain):
        check_corners(opened, width, height)
        check_token_count(opened, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_the_header_is_subtracted(model, width, height):
    asked = model.ask(grey(width, height), QUESTION)
    where = asked.layout
    assert where.token[-1, -1] == where.n_tokens - 1
    assert where.grid.y_edges_px[0] <= 0 < where.grid.y_edges_px[1]
    assert where.grid.y_edges_px[-1] == pytest.approx(height)
    assert (where.grid.x_edges_px[0], where.grid.x_edges_px[-1]) == (0, width)
    assert asked.picture_at == where.token[0, 0]
    assert len(asked.prompt_tokens) == tiny_pix2struct.MAX_PATCHES - where.token.size
    assert "drawn above the picture" in where.note


def test_each_question_has_a_grid_of_its_own_on_the_same_picture(model):
    """Few letters are blown up to the picture's width; a full line of 80 takes the least of it."""
    questions = ("What?", "What is the value of April in the second of these charts?", "What is this? " * 30)
    asked = [model.ask(grey(853, 601), question).layout for question in questions]
    few, line, many = (layout.token[0, 0] // layout.grid.cols for layout in asked)
    assert few > line < many
    assert [layout.grid.y_edges_px[-1] for layout in asked] == pytest.approx([601] * 3)


def seen(pixels, processor):
    """What the model sees, (height, width), and the layout."""
    made = drawn_inputs(SimpleNamespace(image_processor=processor), Image.fromarray(pixels), QUESTION)
    where = layout(made, tiny_pix2struct.pix2struct_config(), pixels.shape[1], pixels.shape[0])
    rows, cols = (int(n) for n in made["flattened_patches"][0, :, :2].max(0).values)
    patches = made["flattened_patches"][0, : rows * cols, 2:].reshape(rows, cols, SIDE, SIDE, 3)
    return patches.permute(0, 2, 1, 3, 4).reshape(rows * SIDE, cols * SIDE, 3)[..., 0].numpy(), where


def step_at(line):
    """Where a line of pixels crosses from dark to light, in px of the line, to a fraction."""
    middle = (line[0] + line[-1]) / 2
    after = int(np.argmax(line > middle))
    return after - 0.5 + (middle - line[after - 1]) / (line[after] - line[after - 1])


@pytest.mark.parametrize("is_vqa", [True, False])
@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V7_a_line_in_the_picture_lies_where_the_grid_says_within_a_pixel(width, height, is_vqa):
    pixels = np.zeros((height, width, 3), np.uint8)
    x_px, y_px = round(width * 0.37), round(height * 0.62)
    pixels[:, x_px:] += 100
    pixels[y_px:] += 100
    shown, where = seen(pixels, librarys.Pix2StructImageProcessorPil(is_vqa=is_vqa))
    grid = where.grid
    above = len(shown) - SIDE * grid.rows  # the header's own rows of patches
    tops = np.interp(np.arange(len(shown) - above), SIDE * np.arange(grid.rows + 1), grid.y_edges_px)
    below = above + int(np.argmax(tops >= 0)) + 2
    y_edge = below - above + step_at(shown[below:, 2])
    x_edge = step_at(shown[-1])
    found_y = np.interp(y_edge, SIDE * np.arange(grid.rows + 1), grid.y_edges_px)
    found_x = np.interp(x_edge, SIDE * np.arange(grid.cols + 1), grid.x_edges_px)
    assert (found_x, found_y) == pytest.approx((x_px, y_px), abs=1)


def test_shuffling_a_patchs_pixels_changes_its_token_alone(plain):
    """Mean and deviation of the picture stay, so that the standardisation hides nothing."""
    parts, picture = plain.checkpoint, grey(10 * SIDE, 15 * SIDE)  # 150 patches: no resize

    def made(rgb):
        return drawn_inputs(parts, Image.fromarray(rgb), "?")

    where = layout(made(picture.rgb), parts.config, 10 * SIDE, 15 * SIDE)
    assert (where.grid.rows, where.grid.cols) == (15, 10)
    edited = []
    for row, col in np.ndindex(15, 10):
        rgb = picture.rgb.copy()
        place = np.s_[row * SIDE : (row + 1) * SIDE, col * SIDE : (col + 1) * SIDE]
        rgb[place] = rgb[place][::-1]
        edited.append(made(rgb))
    moved = token_changes(FAMILY, parts.model, made(picture.rgb), edited)
    assert [np.flatnonzero(change > 1e-3).tolist() for change in moved] == where.token.reshape(-1, 1).tolist()


def test_what_falls_on_header_and_padding_is_no_picture(model):
    trace = model.trace(grey(300, 200), QUESTION, 3)
    assert trace.kind == "cross"
    np.testing.assert_allclose(trace.picture_share + trace.text_share + trace.sink_share, 1, atol=2e-3)
    header = trace.text_weights[..., : trace.picture_at].sum(-1, dtype=np.float32)
    np.testing.assert_allclose(trace.text_share + trace.sink_share, header, atol=2e-3)
    assert trace.prompt_tokens[trace.picture_at :] == ("padding",) * (
        len(trace.prompt_tokens) - trace.picture_at
    )
    assert not trace.text_weights[..., trace.picture_at :].any()
    assert (trace.grid.inside() > 0).all()


def test_each_token_reads_one_position_though_the_configuration_wants_no_cache(model):
    assert model.checkpoint.model.generation_config.use_cache is False
    read = []
    hook = decoder_of(model.checkpoint.model).register_forward_pre_hook(
        lambda module, args, kwargs: read.append(kwargs["input_ids"].shape[1]), with_kwargs=True
    )
    steps = list(model.stream(grey(60, 60), QUESTION, 4))
    hook.remove()
    assert read == [1] * len(steps)


def test_V14_special_tokens_in_a_question_are_drawn_and_nothing_else(model):
    asked = model.ask(grey(90, 60), "What is <pad></s> ?")
    assert asked.tensors["decoder_input_ids"].tolist() == [[0]]
    assert asked.layout.n_tokens <= tiny_pix2struct.MAX_PATCHES


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 20), (1093, 5), (31, 639), (3000, 40)])
def test_V8_tiny_and_long_pictures_are_read(model, width, height):
    trace = model.trace(grey(width, height), QUESTION, 1)
    assert trace.grid.x_edges_px[-1] == pytest.approx(width)
    assert trace.grid.y_edges_px[-1] == pytest.approx(height)


def test_V19_a_processor_of_another_patch_size_is_refused(tmp_path):
    size = {"height": 14, "width": 14}
    other = open_model(str(tiny_pix2struct.pix2struct_folder(tmp_path, patch_size=size)))
    with pytest.raises(AttentionError, match=r"\(1, 150, 590\), where one picture has \(1, patches, 770\)"):
        other.ask(grey(90, 60), "?")


@pytest.mark.parametrize("spoil", ["order", "hole", "empty"])
def test_V6_patches_that_do_not_fill_a_grid_row_by_row_are_refused(spoil):
    patches = torch.zeros(1, 8, 770)
    at = [(row, col) for row in (1, 2) for col in (1, 2, 3)]
    patches[0, :6, :2] = torch.tensor(
        {"order": at[::-1], "hole": [*at[:5], at[0]], "empty": [(0, 0)] * 6}[spoil]
    )
    with pytest.raises(AttentionError, match="row by row"):
        layout({"flattened_patches": patches}, tiny_pix2struct.pix2struct_config(), 9, 9)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_doctor_finds_nothing_wrong(folder, dtype):
    checks = check_model(str(folder), dtype=dtype)
    assert [check for check in checks if not check.ok] == []
    assert len(checks) == 18


def test_the_font_is_the_one_that_its_notice_names():
    import hashlib

    notice = (FONT.parent / "NOTICE.txt").read_text()
    assert hashlib.sha256(FONT.read_bytes()).hexdigest() in notice
    assert (FONT.parent / "LICENSE-OFL.txt").is_file()
