"""The grids of the Qwen-VL models, proven on tiny random checkpoints and their own picture processor."""

import corners
import equality
import numpy as np
import pytest
import tiny_checkpoints
import tiny_qwen
import torch
from PIL import Image
from transformers import Qwen2VLImageProcessorPil
from transformers.vision_utils import get_vision_window_index

from gazelab.attention.base import open_model
from gazelab.attention.decoder import decoder_of
from gazelab.attention.grids.proof import patches_apart, picture_tokens
from gazelab.attention.grids.qwen import merged_layout
from gazelab.attention.implementations import attention_implementations
from gazelab.core.errors import AttentionError

QUESTION = equality.QUESTION
SIZES = [
    (853, 601), (850, 600), (300, 300), (1000, 300), (300, 1000), (56, 56), (57, 83), (224, 224), (640, 480),
    (481, 641), (99, 101), (28, 280), (333, 77), (512, 384), (800, 45), (45, 800), (127, 512), (700, 699),
    (390, 844), (1280, 720),
]  # fmt: skip


def opened(model_type, folder):
    return open_model(str(tiny_qwen.qwen_folder(folder, model_type)))


@pytest.fixture(scope="module", params=list(tiny_qwen.MODELS))
def model(request, tmp_path_factory):
    return opened(request.param, tmp_path_factory.mktemp("qwen"))


@pytest.fixture(scope="module")
def qwen25(tmp_path_factory):
    return opened("qwen2_5_vl", tmp_path_factory.mktemp("qwen"))


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory):
    return opened("qwen3_vl", tmp_path_factory.mktemp("qwen"))


def cell_px(model):
    return 2 * tiny_qwen.PATCH_PX[model.checkpoint.config.model_type]


def processed(pixels, **options):
    return dict(Qwen2VLImageProcessorPil(**options)(images=[Image.fromarray(pixels)], return_tensors="pt"))


def laid(pixels, config, **options):
    made = processed(pixels, **options)
    return made, merged_layout(made, config, pixels.shape[1], pixels.shape[0])


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V11_V7_a_marker_in_a_corner_lands_in_its_cell(model, width, height):
    corners.check_corners(model, width, height)


def test_V6_an_edit_within_a_patch_changes_its_token_and_no_other(model):
    """Of a size that the processor leaves alone: an edit cannot spread."""
    side = cell_px(model)
    corners.check_every_patch(model, side * 6, side * 5)


@pytest.mark.parametrize(("width", "height"), corners.SIZES_PX)
def test_V6_the_model_makes_as_many_tokens_as_the_prompt_holds(model, width, height):
    corners.check_token_count(model, width, height)


def test_V5_the_streamed_look_is_eager_attention_and_leaves_nothing_behind(model):
    equality.check_equality(model, corners.grey(260, 120))


@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900)])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    """Its constructor asks for torchvision; what it does with picture and text needs none."""
    parts = model.checkpoint
    kind = tiny_qwen.PROCESSORS[parts.config.model_type]
    theirs = kind.__new__(kind)
    theirs.image_processor, theirs.tokenizer, theirs.video_processor = (
        parts.image_processor,
        parts.tokenizer,
        None,
    )
    theirs.image_token, theirs.video_token = "<|image_pad|>", "<|video_pad|>"
    theirs.image_token_id = parts.config.image_token_id
    theirs.video_token_id = parts.config.video_token_id
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


def test_the_pictures_tokens_get_row_and_column_positions(model):
    """Without the token kinds the library falls back to text positions without a word."""
    asked = model.ask(corners.grey(200, 130), QUESTION)
    seen = []
    hook = decoder_of(model.checkpoint.model).register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(kwargs["position_ids"]), with_kwargs=True
    )
    with torch.no_grad():
        model.checkpoint.model(**asked.tensors)
    hook.remove()
    _, down, across = seen[0][-3:, 0].numpy()  # time, height, width
    columns = asked.columns[0]
    rows, cols = np.indices(columns.shape)
    np.testing.assert_array_equal(down[columns] - down[columns[0, 0]], rows)
    np.testing.assert_array_equal(across[columns] - across[columns[0, 0]], cols)


def test_the_window_order_that_is_undone_is_another_one(qwen25):
    """Else the test of every patch would show nothing of windows."""
    config = qwen25.checkpoint.config.vision_config
    order, _ = get_vision_window_index(
        torch.tensor([[1, 10, 12]]),
        spatial_merge_size=config.spatial_merge_size,
        window_size=config.window_size,
        patch_size=config.patch_size,
    )
    assert order.tolist() != list(range(30))
    assert sorted(order.tolist()) == list(range(30))


def test_what_qwen3s_first_layers_get_of_the_picture_has_the_same_places(qwen3):
    picture = corners.grey(32 * 3, 32 * 2)
    pixels = picture.rgb.copy()
    pixels[40:56, 72:88] = 255  # within the last of 2 x 3 cells
    parts = qwen3.checkpoint
    inputs = [parts.family.inputs(parts, Image.fromarray(p), "?") for p in (picture.rgb, pixels)]
    with patches_apart(parts.model), torch.inference_mode():
        before, after = (parts.model.get_image_features(**made).deepstack_features for made in inputs)
    assert len(before) == 2
    for (one,), (two,) in zip(before, after, strict=True):
        assert np.flatnonzero((one - two).abs().amax(-1).numpy()).tolist() == [5]


def test_without_the_proofs_trick_an_edit_reaches_every_token(qwen25):
    picture = corners.grey(28 * 9, 28 * 5)
    pixels = picture.rgb.copy()
    pixels[8:20, 8:20] = 255
    family, hf = qwen25.checkpoint.family, qwen25.checkpoint.model
    one, two = (picture_tokens(family, hf, processed(p)) for p in (picture.rgb, pixels))
    assert ((one - two).abs().amax(-1) > 0).all()


def test_the_proof_puts_the_vision_towers_kernel_back(qwen25):
    family, hf = qwen25.checkpoint.family, qwen25.checkpoint.model
    before = attention_implementations(hf)
    with patches_apart(hf):
        assert attention_implementations(hf)["vision_config"] == "gazelab_apart"
        assert attention_implementations(hf)["text_config"] == "sdpa"
        picture_tokens(family, hf, processed(corners.grey(56, 56).rgb))
    assert attention_implementations(hf) == before


def seen_px(made, patch_px=14, merge=2):
    """Put the processor's patches together again: the picture as the model sees it, (height, width)."""
    _, rows, cols = made["image_grid_thw"][0].tolist()
    values = made["pixel_values"].reshape(
        rows // merge, cols // merge, merge, merge, 3, 2, patch_px, patch_px
    )
    first = values[:, :, :, :, 0, 0]
    return first.permute(0, 2, 4, 1, 3, 5).reshape(rows * patch_px, cols * patch_px).numpy()


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_V7_a_line_in_the_picture_lies_where_the_grid_says_within_a_pixel(width, height):
    pixels = np.zeros((height, width, 3), np.uint8)
    x_px, y_px = round(width * 0.37), round(height * 0.62)
    pixels[:, x_px:] += 100
    pixels[y_px:] += 100
    made, where = laid(pixels, tiny_checkpoints.qwen_config())
    seen = seen_px(made)
    # The share of a row or column that is dark tells where the step lies, to a fraction of a pixel.
    left, top = (1 - np.mean((line - line[0]) / (line[-1] - line[0])) for line in (seen[0], seen[:, 0]))
    assert left * where.grid.x_edges_px[-1] == pytest.approx(x_px, abs=1)
    assert top * where.grid.y_edges_px[-1] == pytest.approx(y_px, abs=1)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_V6_the_models_tokens_are_as_many_as_the_grids(qwen25, width, height):
    parts = qwen25.checkpoint
    limits = {"shortest_edge": 3136, "longest_edge": 50176}
    made, where = laid(corners.grey(width, height).rgb, parts.config, size=limits)
    _, high, wide = made["image_grid_thw"][0].tolist()
    assert where.n_tokens == high * wide // 4 == where.token.size == where.grid.rows * where.grid.cols
    assert len(picture_tokens(parts.family, parts.model, made)) == where.n_tokens
    assert where.input_px == f"{wide * 14} x {high * 14}"


def test_V19_a_processor_of_another_patch_size_or_merge_is_refused():
    pixels = corners.grey(320, 320).rgb
    with pytest.raises(AttentionError, match="values where 14 px ones have 1176"):
        laid(pixels, tiny_checkpoints.qwen_config(), patch_size=16)
    with pytest.raises(AttentionError, match="they do not fit"):
        laid(corners.grey(84, 84).rgb, tiny_checkpoints.qwen_config(spatial_merge_size=4))


@pytest.mark.parametrize(
    ("config", "size"),
    [(lambda: tiny_checkpoints.qwen_config(patch_size=16), (480, 320)), (tiny_qwen.qwen3_config, (480, 320))],
)
def test_V19_patch_and_merge_come_from_the_checkpoint(config, size):
    _, where = laid(corners.grey(*size).rgb, config(), patch_size=16)
    assert (where.grid.rows, where.grid.cols, where.input_px) == (10, 15, "480 x 320")


def test_a_film_or_two_pictures_are_refused():
    pair = [corners.grey(56, 56).rgb, corners.grey(84, 56).rgb]
    made = dict(Qwen2VLImageProcessorPil()(images=pair, return_tensors="pt"))
    with pytest.raises(AttentionError, match="not one still picture"):
        merged_layout(made, tiny_checkpoints.qwen_config(), 56, 56)
