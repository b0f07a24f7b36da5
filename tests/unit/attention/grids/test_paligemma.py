"""The grid of PaliGemma, proven on tiny random checkpoints and the family's own picture processor."""

import copy

import pytest
import tiny_paligemma
import torch
from corners import SIZES_PX, check_corners, check_every_patch, check_token_count, grey
from equality import QUESTION, check_equality, check_input
from transformers import PaliGemmaProcessor

from gazelab.attention.base import open_model
from gazelab.attention.grids.paligemma import FAMILY
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return open_model(str(tiny_paligemma.paligemma_folder(tmp_path_factory.mktemp("paligemma"))))


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    return open_model(str(tiny_paligemma.paligemma_folder(tmp_path_factory.mktemp("paligemma2"), 2)))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # the library's own
@pytest.mark.parametrize(("width", "height"), [(853, 601), (64, 900)])
def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model, width, height):
    parts = model.checkpoint
    theirs = PaliGemmaProcessor(parts.image_processor, copy.deepcopy(parts.tokenizer))  # it changes its own
    check_input(model, theirs, grey(width, height), QUESTION, text=f"<image>answer en {QUESTION}")


def test_the_picture_comes_first_and_the_question_ends_with_a_line_break(model):
    asked = model.ask(grey(200, 100), QUESTION)
    assert asked.columns[0].ravel().tolist() == list(range(64))
    assert "".join(asked.prompt_tokens) == f"<bos>answer en {QUESTION}\n"
    assert asked.picture_at == 0


def test_V5_the_look_is_eager_attention_with_a_prefix_that_sees_itself_both_ways(model):
    check_equality(model, grey(260, 120))


def test_V5_V1_the_look_of_the_second_generation_is_eager_attention(second):
    """Its capped scores are beyond the fast kernel: read eagerly. The window is 40 positions of 90."""
    check_equality(second, grey(260, 120))


def test_a_patch_sees_the_question_that_comes_after_it(model):
    asked = model.ask(grey(260, 120), QUESTION)
    with AttentionTap(model.checkpoint.model, rows=[0]) as tap, torch.no_grad():
        model.checkpoint.model(**asked.tensors)
    assert (tap.weights[0, 1:] > 0).all()


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V11_V7_a_marker_in_each_corner_lands_in_its_cell(model, width, height):
    check_corners(model, width, height)


def test_V6_editing_one_patch_changes_one_token(model):
    check_every_patch(model, 64, 64)


@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V6_V19_every_picture_has_the_models_tokens(model, width, height):
    layout = check_token_count(model, width, height)
    assert (layout.grid.rows, layout.grid.cols, layout.n_tokens, layout.input_px) == (8, 8, 64, "64 x 64")
    assert layout.grid.x_edges_px[-1] == width


def test_V19_a_processor_of_another_size_is_refused(model):
    with pytest.raises(AttentionError, match="where the model reads one picture of 64 px in patches of 8 px"):
        FAMILY.layout({"pixel_values": torch.zeros(1, 3, 80, 80)}, model.checkpoint.config, 853, 601)
