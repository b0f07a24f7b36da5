"""The two anyres families with their published squares and rectangles, against the library's own code.

No picture and no model is needed: in place of features, the library packs the middle of each patch.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import tiny_llava
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.image_processing_utils import get_patch_output_size
from transformers.image_utils import ChannelDimension
from transformers.models.llava_next.modeling_llava_next import LlavaNextModel, get_anyres_image_grid_shape
from transformers.models.llava_next.processing_llava_next import LlavaNextProcessor
from transformers.models.llava_onevision.modeling_llava_onevision import LlavaOnevisionModel
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor

from gazelab.attention.grids import llava_next, llava_onevision
from gazelab.core.errors import AttentionError

NEXT = tiny_llava.next_config(
    vision_config=tiny_llava.vision_config(image_size=336), image_grid_pinpoints=None
)
ONEVISION = tiny_llava.onevision_config(
    vision_config=tiny_llava.vision_config("siglip_vision_model", image_size=384), image_grid_pinpoints=None
)
GRANITE = tiny_llava.next_config(
    vision_config=tiny_llava.vision_config("siglip_vision_model", image_size=384),
    vision_feature_select_strategy="full",
    image_grid_pinpoints=[[384 * high, 384 * wide] for high in range(1, 11) for wide in range(1, 11 // high)],
)
"""LLaVA-NeXT with a tower of 27 patches and long rows of squares, as charts' own checkpoints have it."""
SIZES = [
    (853, 601), (850, 600), (300, 300), (1000, 300), (300, 1000), (56, 56), (57, 83), (224, 224), (640, 480),
    (481, 641), (99, 101), (28, 280), (333, 77), (512, 384), (800, 45), (45, 800), (127, 512), (700, 699),
    (64, 900), (200, 200), (1280, 720), (1999, 1500),
]  # fmt: skip
CASES = {
    "llava_next": (NEXT, llava_next.FAMILY),
    "llava_next, 27 patches": (GRANITE, llava_next.FAMILY),
    "llava_onevision": (ONEVISION, llava_onevision.FAMILY),
}


def processed(config, width, height):
    """Tensors of the shapes that the processor makes; nobody looks into them."""
    side = config.vision_config.image_size
    rows, cols = get_anyres_image_grid_shape((height, width), config.image_grid_pinpoints, side)
    return {
        "pixel_values": torch.zeros(1).expand(1, 1 + rows * cols, 3, side, side),
        "image_sizes": torch.tensor([[height, width]]),
    }


def packed_middles_px(config, width, height):
    """The middle of what each token sees, (token, 2) as x, y in picture px; NaN for a newline token."""
    side, patch = config.vision_config.image_size, config.vision_config.patch_size
    rows, cols = get_anyres_image_grid_shape((height, width), config.image_grid_pinpoints, side)
    n = side // patch
    y, x = (np.indices((n, n)).reshape(2, -1) + 0.5) * patch
    inside = np.stack([x, y], -1)
    squares = [inside + np.array([col, row]) * side for row in range(rows) for col in range(cols)]
    features = torch.tensor(np.stack([inside, *squares]), dtype=torch.float64)
    packing = LlavaOnevisionModel if config is ONEVISION else LlavaNextModel
    options = {} if config is ONEVISION else {"vision_feature_select_strategy": "full"}
    (packed,), _ = packing.pack_image_features(
        SimpleNamespace(config=config),
        [features],
        torch.tensor([[height, width]]),
        image_newline=torch.tensor([torch.nan] * 2, dtype=torch.float64),
        **options,
    )
    base, tiles = packed[: n * n].numpy(), packed[n * n :].numpy()
    nothing = np.broadcast_to(np.uint8(0), (3, height, width))
    high, wide = get_patch_output_size(nothing, (rows * side, cols * side), ChannelDimension.FIRST)
    before = np.array([(cols * side - wide) // 2, (rows * side - high) // 2])
    on_picture = (tiles - before) * [width / wide, height / high]
    return np.concatenate([base * [width / side, height / side], on_picture])


def check(name, width, height):
    """Every patch token's middle lies in its cell, near the cell's own middle; every token is one of them."""
    config, family = CASES[name]
    layout = family.layout(processed(config, width, height), config, width, height)
    middles = packed_middles_px(config, width, height)
    assert len(middles) == layout.n_tokens
    newline = np.isnan(middles[:, 0])
    patches = np.concatenate([view.token.ravel() for view in layout.views])
    np.testing.assert_array_equal(np.sort(patches), np.flatnonzero(~newline))
    for view in layout.views:
        x, y = middles[view.token].transpose(2, 0, 1)
        for seen, edges, axis in ((x, view.grid.x_edges_px, 1), (y, view.grid.y_edges_px, 0)):
            middle, size = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
            off = np.abs(np.moveaxis(seen, axis, -1) - middle) / size
            assert off.max() < 0.2, f"{view.name}: {off.max():.2f} of a cell beside its middle"
        rows, cols = view.grid.locate(x, y)
        np.testing.assert_array_equal(np.stack([rows, cols]), np.indices(x.shape))


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_V10_V6_each_token_looks_from_its_cell_and_newline_tokens_are_no_patch(name, width, height):
    check(name, width, height)


LENGTHS_PX = st.one_of(st.integers(1, 40), st.integers(1, 4000))


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(CASES)), width=LENGTHS_PX, height=LENGTHS_PX)
def test_V10_so_it_is_for_pictures_of_any_shape(name, width, height):
    check(name, width, height)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_V10_there_are_as_many_tokens_as_the_librarys_processor_counts(name, width, height):
    config, family = CASES[name]
    side, patch = config.vision_config.image_size, config.vision_config.patch_size
    kind = LlavaOnevisionProcessor if config is ONEVISION else LlavaNextProcessor
    theirs = kind.__new__(kind)  # its constructor asks for torchvision
    theirs.image_processor = SimpleNamespace(image_grid_pinpoints=config.image_grid_pinpoints)
    theirs.patch_size, theirs.num_additional_image_tokens = patch, 0
    theirs.num_image_tokens, theirs.vision_aspect_ratio = (side // patch) ** 2, "anyres_max_9"
    layout = family.layout(processed(config, width, height), config, width, height)
    assert layout.n_tokens == theirs._get_number_of_features(height, width, side, side)


def test_a_chart_has_the_published_number_of_tokens():
    """672 x 672 px are chosen: 48 columns, and 48 - 2 * ((48 - 33) // 2) = 34 rows with a newline each."""
    layout = llava_next.FAMILY.layout(processed(NEXT, 853, 601), NEXT, 853, 601)
    assert [(v.name, v.grid.rows, v.grid.cols) for v in layout.views] == [("tiles", 34, 48), ("base", 24, 24)]
    assert layout.n_tokens == 24 * 24 + 34 * (48 + 1)
    assert layout.note == ""


def test_V11_the_tiles_padding_lies_outside_the_picture():
    layout = llava_next.FAMILY.layout(processed(NEXT, 853, 601), NEXT, 853, 601)
    y = layout.grid.y_edges_px
    # 474 of 672 px are the picture, 99 px down; the rows kept start at 7 * 14 px.
    assert y[0] == pytest.approx((98 - 99) * 601 / 474)
    assert y[-1] == pytest.approx((98 + 34 * 14 - 99) * 601 / 474)
    assert layout.grid.inside()[:, 0].tolist() == pytest.approx([13 / 14, *[1] * 32, 13 / 14])


def test_px_between_squares_belong_to_the_nearer_patch():
    """384 px hold 27 patches of 14 px and 6 px more."""
    layout = llava_next.FAMILY.layout(processed(GRANITE, 768, 384), GRANITE, 768, 384)
    assert layout.grid.x_edges_px[[26, 27, 28, 54]].tolist() == pytest.approx([364, 381, 398, 762])
    assert "Left out of the tiles: 2.3 % of the picture, at the right and bottom." in layout.note


def test_V10_many_tiles_are_blended_into_fewer_cells_and_the_note_says_so():
    layout = llava_onevision.FAMILY.layout(processed(ONEVISION, 1999, 1500), ONEVISION, 1999, 1500)
    assert (layout.grid.rows, layout.grid.cols) == (70, 93)
    assert "The tiles' 108 x 144 patches are blended into 70 x 93 cells." in layout.note


@pytest.mark.parametrize(("width", "height", "newlines"), [(1000, 8, 0), (8, 1000, 72)])
def test_so_thin_a_picture_that_no_tile_is_left_has_the_base_view_only(width, height, newlines):
    """Of a low one no row is left; of a narrow one rows without patches, each with its newline token."""
    check("llava_next", width, height)
    layout = llava_next.FAMILY.layout(processed(NEXT, width, height), NEXT, width, height)
    assert [view.name for view in layout.views] == ["base"]
    assert layout.n_tokens == 24 * 24 + newlines
    assert "leaves no tiles" in layout.note


def test_V19_another_number_of_squares_than_the_model_will_count_is_refused():
    made = processed(NEXT, 853, 601)
    made["pixel_values"] = made["pixel_values"][:, :4]
    with pytest.raises(AttentionError, match=r"\(1, 4, 3, 336, 336\) where .* needs \(1, 5, 3, 336, 336\)"):
        llava_next.FAMILY.layout(made, NEXT, 853, 601)


def test_the_size_of_another_picture_is_refused():
    with pytest.raises(AttentionError, match="image_sizes is"):
        llava_next.FAMILY.layout(processed(NEXT, 853, 601), NEXT, 854, 601)


def test_a_class_token_among_the_patches_is_refused():
    config = tiny_llava.next_config(vision_feature_select_strategy="full")
    with pytest.raises(AttentionError, match="class token is kept"):
        llava_next.FAMILY.layout(processed(config, 200, 200), config, 200, 200)


def test_an_unknown_way_of_blending_is_refused():
    config = tiny_llava.onevision_config(vision_aspect_ratio="anyres")
    with pytest.raises(AttentionError, match='only "anyres_max_N"'):
        llava_onevision.FAMILY.layout(processed(config, 200, 200), config, 200, 200)
