"""The grid of Qwen2.5-VL, proven on a tiny random checkpoint and the family's own picture processor."""

import numpy as np
import pytest
import tiny_checkpoints
import torch
from transformers import Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from gazelab.attention.grids import Layout, PatchView, family_of
from gazelab.attention.grids.proof import patches_apart, picture_tokens, token_changes
from gazelab.attention.grids.qwen2_5_vl import FAMILY, layout
from gazelab.attention.implementations import attention_implementations
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

SIZES = [
    (853, 601), (850, 600), (300, 300), (1000, 300), (300, 1000), (56, 56), (57, 83), (224, 224), (640, 480),
    (481, 641), (99, 101), (28, 280), (333, 77), (512, 384), (800, 45), (45, 800), (127, 512), (700, 699),
    (390, 844), (1280, 720),
]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Qwen2_5_VLForConditionalGeneration(tiny_checkpoints.qwen_config()).eval()


def processed(pixels, **options):
    return dict(Qwen2VLImageProcessorPil(**options)(images=[pixels], return_tensors="pt"))


def laid(pixels, config, **options):
    made = processed(pixels, **options)
    return made, layout(made, config, pixels.shape[1], pixels.shape[0])


def grey(width, height):
    return np.random.default_rng(5).integers(90, 160, (height, width, 3), np.uint8)


def with_edit(pixels, x_px, y_px, radius_px=6):
    """A patch of 12 px made white."""
    edited = pixels.copy()
    edited[max(y_px - radius_px, 0) : y_px + radius_px, max(x_px - radius_px, 0) : x_px + radius_px] = 255
    return edited


def test_editing_one_patch_changes_one_token_and_it_is_the_grids(model):
    pixels = grey(28 * 9, 28 * 5)  # a size that the processor leaves alone: an edit cannot spread
    made, where = laid(pixels, model.config)
    assert (where.grid.rows, where.grid.cols) == (5, 9)
    cells = list(np.ndindex(5, 9))
    edited = [processed(with_edit(pixels, col * 28 + 14, row * 28 + 14)) for row, col in cells]
    changes = token_changes(FAMILY, model, made, edited)
    assert changes.shape == (45, 45)
    for cell, change in zip(cells, changes, strict=True):
        assert np.flatnonzero(change > 0).tolist() == [where.token[cell]]


def test_without_the_proofs_trick_an_edit_reaches_every_token(model):
    pixels = grey(28 * 9, 28 * 5)
    one, two = (picture_tokens(FAMILY, model, processed(p)) for p in (pixels, with_edit(pixels, 14, 14)))
    assert ((one - two).abs().amax(-1) > 0).all()


def test_the_proof_puts_the_vision_towers_kernel_back(model):
    before = attention_implementations(model)
    with patches_apart(model):
        assert attention_implementations(model)["vision_config"] == "gazelab_apart"
        assert attention_implementations(model)["text_config"] == "sdpa"
        picture_tokens(FAMILY, model, processed(grey(56, 56)))
    assert attention_implementations(model) == before


@pytest.mark.parametrize(("width", "height"), [(1000, 300), (300, 1000), (853, 601), (57, 83)])
def test_V11_V7_an_edit_at_a_corner_of_a_resized_picture_lights_the_corners_token(model, width, height):
    pixels = grey(width, height)
    made, where = laid(pixels, model.config)
    spots = [(x_px, y_px) for x_px in (5, width - 6) for y_px in (5, height - 6)]
    changes = token_changes(FAMILY, model, made, [processed(with_edit(pixels, *spot)) for spot in spots])
    rows, cols = where.grid.locate(*zip(*spots, strict=True))
    np.testing.assert_array_equal(changes.argmax(1), where.token[rows, cols])


def seen_px(made, patch_px=14, merge=2):
    """Put the processor's patches together again: the picture as the model sees it, (height, width)."""
    _, rows, cols = made["image_grid_thw"][0].tolist()
    values = made["pixel_values"].reshape(
        rows // merge, cols // merge, merge, merge, 3, 2, patch_px, patch_px
    )
    first = values[:, :, :, :, 0, 0]
    return first.permute(0, 2, 4, 1, 3, 5).reshape(rows * patch_px, cols * patch_px).numpy()


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_V7_a_line_in_the_picture_lies_where_the_grid_says_within_a_pixel(model, width, height):
    pixels = np.zeros((height, width, 3), np.uint8)
    x_px, y_px = round(width * 0.37), round(height * 0.62)
    pixels[:, x_px:] += 100
    pixels[y_px:] += 100
    made, where = laid(pixels, model.config)
    seen = seen_px(made)
    # The share of a row or column that is dark tells where the step lies, to a fraction of a pixel.
    left, top = (1 - np.mean((line - line[0]) / (line[-1] - line[0])) for line in (seen[0], seen[:, 0]))
    assert left * where.grid.x_edges_px[-1] == pytest.approx(x_px, abs=1)
    assert top * where.grid.y_edges_px[-1] == pytest.approx(y_px, abs=1)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_V6_the_models_tokens_are_as_many_as_the_grids(model, width, height):
    made, where = laid(grey(width, height), model.config, size={"shortest_edge": 3136, "longest_edge": 50176})
    _, high, wide = made["image_grid_thw"][0].tolist()
    assert where.n_tokens == high * wide // 4 == where.token.size == where.grid.rows * where.grid.cols
    assert len(picture_tokens(FAMILY, model, made)) == where.n_tokens
    assert where.input_px == f"{wide * 14} x {high * 14}"


def test_V6_columns_follow_the_place_holders_in_the_prompt():
    where = Layout.whole(PatchGrid.stretched(2, 3, 60, 40), "56 x 84")
    is_picture = np.array([0, 0, 1, 1, 1, 1, 1, 1, 0], bool)
    (columns,) = where.columns(is_picture)
    np.testing.assert_array_equal(columns, [[2, 3, 4], [5, 6, 7]])


@pytest.mark.parametrize("n", [0, 5, 7, 576])
def test_V6_V19_another_number_of_tokens_than_the_grids_is_refused(n):
    where = Layout.whole(PatchGrid.stretched(2, 3, 60, 40), "56 x 84")
    with pytest.raises(AttentionError, match=f"holds {n} picture tokens.* 2 x 3 patches needs 6"):
        where.columns(np.ones(n, bool))


def test_V19_a_processor_of_another_patch_size_or_merge_is_refused():
    config = tiny_checkpoints.qwen_config()
    pixels = grey(320, 320)
    with pytest.raises(AttentionError, match="values where 14 px ones have 1176"):
        laid(pixels, config, patch_size=16)
    with pytest.raises(AttentionError, match="they do not fit"):
        laid(grey(28 * 3, 28 * 3), tiny_checkpoints.qwen_config(spatial_merge_size=4))


def test_V19_patch_and_merge_come_from_the_checkpoint():
    config = tiny_checkpoints.qwen_config(patch_size=16)
    _, where = laid(grey(320, 480), config, patch_size=16)
    assert (where.grid.rows, where.grid.cols, where.input_px) == (15, 10, "320 x 480")


def test_a_film_or_two_pictures_are_refused():
    config = tiny_checkpoints.qwen_config()
    made = dict(Qwen2VLImageProcessorPil()(images=[grey(56, 56), grey(84, 56)], return_tensors="pt"))
    with pytest.raises(AttentionError, match="not one still picture"):
        layout(made, config, 56, 56)


def test_an_unknown_family_is_refused_with_the_shapes_it_would_need():
    with pytest.raises(AttentionError, match=r'"newvl".*853 x 601.*pixel_values \(5, 3, 384, 384\)'):
        family_of("newvl", {"pixel_values": (5, 3, 384, 384)})


def test_a_token_cannot_be_two_patches():
    grid = PatchGrid.stretched(2, 3, 60, 40)
    views = (
        PatchView("tiles", grid, np.arange(6).reshape(2, 3)),
        PatchView("whole", grid, np.arange(5, 11).reshape(2, 3)),
    )
    with pytest.raises(ValueError, match="each once"):
        Layout(views, 11, "56 x 84")


OWN = """
from gazelab.attention.grids import Family, Layout
from gazelab.core.geometry import PatchGrid

def layout(inputs, config, width_px, height_px):
    return Layout.whole(PatchGrid.stretched(2, 2, width_px, height_px), "own")

FAMILY = Family(layout)
"""


def test_a_family_of_the_users_own_comes_from_a_named_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    assert family_of("newvl", file=file).layout({}, None, 10, 10).input_px == "own"


@pytest.mark.parametrize(
    ("text", "told"),
    [("FAMILY = 3", "no FAMILY"), ("import nothing_such", "cannot be run"), ("def (", "cannot be run")],
)
def test_a_users_file_that_gives_no_family_is_told(tmp_path, text, told):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(AttentionError, match=rf"mine\.py.*{told}|{told}.*mine\.py"):
        family_of("newvl", file=file)


def test_a_users_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(AttentionError, match=r"absent\.py"):
        family_of("newvl", file=tmp_path / "absent.py")
