import subprocess
import sys

import numpy as np
import pytest
import torch

from gazelab.attention.base import TokenStep, looking_head, open_model, trace_of
from gazelab.attention.chartreader.model import ChartReader
from gazelab.attention.chartreader.network import ChartReaderNetwork, NetworkConfig
from gazelab.attention.chartreader.tokenizer import Tokenizer
from gazelab.attention.embedded import EmbeddedChartReader
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


@pytest.fixture
def model():
    """The embedded model's code with random weights: what is tested here does not depend on training."""
    torch.manual_seed(4)
    tokenizer = Tokenizer(["what", "is", "the", "value", "of", "april"])
    network = ChartReaderNetwork(NetworkConfig(tokens=len(tokenizer)))
    return EmbeddedChartReader(ChartReader(network, tokenizer, revision="random"))


@pytest.fixture
def picture():
    pixels = np.random.default_rng(2).integers(0, 255, (101, 333, 3), np.uint8)
    return Picture.from_rgb(pixels)


def test_importing_base_loads_no_torch():
    code = (
        "import sys, gazelab.attention.base, gazelab.attention.maps, gazelab.attention.trace_store;"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_grid_is_12_by_16_over_the_whole_picture(model, picture):
    grid = model.head(picture, "?").grid
    assert (grid.rows, grid.cols) == (12, 16)
    assert (grid.x_edges_px[-1], grid.y_edges_px[-1]) == (333, 101)
    assert grid.locate([332.9], [0.1]) == (np.array([0]), np.array([15]))


def test_each_token_comes_with_a_look_that_sums_to_1(model, picture):
    steps = list(model.stream(picture, "What is the value of April?", 3))
    assert 0 < len(steps) <= 3
    for step in steps:
        assert isinstance(step, TokenStep)
        assert step.weights.shape == (len(model.layers), model.n_heads, 12, 16)
        assert step.weights.dtype == np.float16
        np.testing.assert_allclose(step.weights.sum((-2, -1), dtype=np.float32), 1, atol=2e-3)
        assert np.all(step.text_share == 0)
        assert np.all(step.sink_share == 0)
        assert step.top[0][0] == step.text


def test_a_trace_is_what_was_streamed(model, picture):
    question = "What is the value of April?"
    steps = list(model.stream(picture, question, 3))
    trace = model.trace(picture, question, 3)
    again = trace_of(model.head(picture, question), steps, model.answer_text(steps))
    assert trace.tokens == again.tokens == tuple(step.text for step in steps)
    np.testing.assert_array_equal(trace.weights, np.stack([step.weights for step in steps]))
    assert trace.kind == "cross"
    assert trace.picture_sha256 == picture.sha256
    assert trace.answer == model.answer_text(steps)
    assert trace.made_with["input_px"] == "256 x 192"


def test_an_answer_of_no_tokens_is_an_empty_trace(model, picture):
    trace = trace_of(model.head(picture, "?"), [], "")
    assert trace.weights.shape == (0, len(model.layers), model.n_heads, 12, 16)
    assert trace.answer == ""


@pytest.mark.parametrize(("row", "col"), [(0, 0), (5, 9), (10, 2), (11, 15)])
def test_an_edit_in_a_cell_reaches_that_cell_and_its_neighbours_only(model, row, col):
    """Row-major order, shown by what changes; self-attention's output is zeroed so that nothing spreads."""
    network = model.reader.network
    for layer in network.encoder.layers:
        torch.nn.init.zeros_(layer.attention.output.weight)
    pixels = np.full((192, 256, 3), 200, np.uint8)
    edited = pixels.copy()
    edited[row * 16 : row * 16 + 16, col * 16 : col * 16 + 16] = 0
    change = (encode(network, edited) - encode(network, pixels)).abs().amax(-1).reshape(12, 16).numpy()
    grid = model.head(Picture.from_rgb(pixels), "?").grid
    assert tuple(int(v) for v in grid.locate(col * 16 + 8, row * 16 + 8)) == (row, col)
    assert change[row, col] > 0
    change[max(row - 1, 0) : row + 3, max(col - 1, 0) : col + 3] = 0  # the stem's convolutions overlap
    assert change.max() == 0


@torch.no_grad()
def encode(network, pixels):
    from gazelab.attention.chartreader.preprocess import to_input

    return network.encode(to_input(pixels[None]))[0]


def test_a_name_that_is_no_folder_is_a_clear_error(tmp_path):
    with pytest.raises(AttentionError, match="no-such-model"):
        open_model(str(tmp_path / "no-such-model"))


def test_the_model_in_the_package_opens_by_name_and_answers(picture):
    model = open_model("chartreader")
    assert model.model_id == "gazelab/chartreader"
    assert len(model.revision) == 64
    assert "teaching model" in model.about
    trace = model.trace(picture, "What is the value of April?")
    assert trace.weights.shape[1:] == (len(model.layers), model.n_heads, 12, 16)


def test_words_that_the_model_does_not_know_are_noted(model, picture):
    note = model.head(picture, "What is the value of Ouagadougou?").note
    assert "stretched to 256 x 192 px" in note
    assert "ouagadougou" in note.lower()


def test_a_question_that_is_cut_off_is_told():
    model = open_model("chartreader")
    picture = Picture.from_rgb(np.full((30, 40, 3), 255, np.uint8))
    assert "its end may be cut off" in model.head(picture, "value " * 600).note
    assert "cut off" not in model.head(picture, "What is the value of April?").note


def test_the_head_that_its_card_names_is_in_every_trace():
    model = open_model("chartreader")
    head = model.head(Picture.from_rgb(np.full((30, 40, 3), 255, np.uint8)), "?")
    layer, number = looking_head(head.made_with)
    assert layer in model.layers
    assert number in range(model.n_heads)
    assert looking_head({}) is None
