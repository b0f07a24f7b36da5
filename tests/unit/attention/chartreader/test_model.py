from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gazelab.attention.chartreader.model import WEIGHTS, ChartReader
from gazelab.attention.chartreader.preprocess import shrink, to_input
from gazelab.attention.chartreader.training import ChartSource, TrainingConfig, train
from gazelab.attention.chartreader.training.export import export_weights
from gazelab.core.errors import AttentionError

WHITE = np.full((96, 128, 3), 255, np.uint8)


@pytest.fixture
def weights(squares: ChartSource, tiny: dict[str, Any], tmp_path: Path) -> Path:
    config = TrainingConfig(minutes=10, charts=2, questions=2, held_out_charts=2)
    train(tmp_path / "run", squares, config, sizes=tiny, max_steps=2)
    path = tmp_path / "reader.safetensors"
    export_weights(tmp_path / "run", path, {"all": 0.5}, ["nothing was changed"])
    return path


def test_weights_go_out_and_come_back_with_their_facts(weights: Path) -> None:
    reader = ChartReader.load(weights)
    assert reader.facts["held_out"] == {"all": 0.5}
    assert reader.facts["training"]["seed"] == 0
    assert reader.facts["steps"] == 2
    assert reader.facts["history"] == ["nothing was changed"]
    assert len(reader.revision) == 64


def test_each_token_comes_with_a_look_whose_heads_sum_to_one(weights: Path) -> None:
    reader = ChartReader.load(weights)
    steps = list(reader.answer(WHITE, "What color is it?", max_tokens=4))
    assert len(steps) <= 4
    for step in steps:
        assert step.weights.shape == (2, 4, 3, 4)
        assert step.weights.dtype == np.float32
        assert np.allclose(step.weights.sum((-2, -1)), 1, atol=1e-5)
        assert step.top[0] == (step.token, step.probability)
        assert [p for _, p in step.top] == sorted((p for _, p in step.top), reverse=True)
        assert step.token not in ("<pad>", "<start>", "<answer>", "<unk>", "<end>")


def test_the_answer_is_the_same_twice_and_does_not_depend_on_being_read_in_one_go(weights: Path) -> None:
    reader = ChartReader.load(weights)
    first = [s.token_id for s in reader.answer(WHITE, "How many?")]
    paused = reader.answer(WHITE, "How many?")
    again = []
    for step in paused:
        list(reader.answer(255 - WHITE, "What color is it?"))
        again.append(step.token_id)
    assert again == first


@pytest.mark.parametrize("question", ["", "¿Qué color?", "图表 ١٢", "x " * 500, "<image> <|image_pad|>"])
def test_V14_any_question_is_answered_never_an_error(weights: Path, question: str) -> None:
    reader = ChartReader.load(weights)
    assert 1 <= len(list(reader.answer(WHITE, question, max_tokens=3))) <= 3
    assert reader.unknown_words("图表 of Ouagadougou") == ("图表", "ouagadougou")


def test_the_first_token_is_never_the_end_and_the_second_may_be(weights: Path, monkeypatch) -> None:
    reader = ChartReader.load(weights)
    decode = reader.network.decode

    def eager_to_end(ids: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        logits, looks = decode(ids, memory)
        return logits.index_fill(-1, torch.tensor([reader.tokenizer.end]), 1e4), looks

    monkeypatch.setattr(reader.network, "decode", eager_to_end)
    (step,) = reader.answer(WHITE, "How many?")
    assert step.token not in ("<pad>", "<start>", "<answer>", "<unk>", "<end>")
    assert step.top[0] == (step.token, step.probability)


def test_grid_covers_the_whole_picture(weights: Path) -> None:
    grid = ChartReader.load(weights).grid(853, 601)
    assert (grid.rows, grid.cols) == (3, 4)
    assert (grid.x_edges_px[0], grid.x_edges_px[-1], grid.y_edges_px[-1]) == (0, 853, 601)


@pytest.mark.parametrize("damage", ["missing", "cut", "other tokens", "no json"])
def test_weights_that_cannot_be_used_say_which_file(weights: Path, damage: str) -> None:
    if damage == "missing":
        weights.unlink()
    elif damage == "cut":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "no json":
        weights.with_suffix(".json").unlink()
    else:
        text = weights.with_suffix(".json").read_text()
        weights.with_suffix(".json").write_text(text.replace('"tokens": [', '"tokens": ["odd",'))
    with pytest.raises(AttentionError, match="reader"):
        ChartReader.load(weights)


def test_shrink_averages_areas_and_ink_is_zero_on_white() -> None:
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, :4] = 200
    small = shrink(picture, 2, 1)
    assert small[0, :, 0].tolist() == [200, 0]
    assert float(to_input(np.full((1, 2, 2, 3), 255, np.uint8)).abs().max()) == 0.0


def test_shipped_weights_load_and_are_small() -> None:
    reader = ChartReader.load()
    assert WEIGHTS.stat().st_size <= 20_000_000
    assert (reader.network.config.rows, reader.network.config.columns) == (12, 16)
    assert reader.facts["training"]["seed"] is not None
