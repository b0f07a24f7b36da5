import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gazelab.attention.chartreader.network import NetworkConfig
from gazelab.attention.chartreader.tokenizer import Tokenizer
from gazelab.attention.chartreader.training import ChartSource, Trainer, TrainingConfig, train
from gazelab.attention.chartreader.training.data import IGNORED, collate
from gazelab.attention.chartreader.training.losses import exact_answers
from gazelab.attention.chartreader.training.muon import make_optimisers, orthogonalise
from gazelab.attention.chartreader.training.schedule import Schedule
from gazelab.core.errors import AttentionError


def config(**changes: Any) -> TrainingConfig:
    # No reading-only phase: a step count says nothing of the share of time that has passed.
    schedule = Schedule(warmup_share=1e-9, reading_share=0.0, fetched_from_share=0.0)
    return TrainingConfig(
        **{"minutes": 10, "charts": 4, "questions": 2, "held_out_charts": 8, "schedule": schedule} | changes
    )


def test_orthogonalise_brings_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((3, 12, 12), (2, 8, 20), (2, 20, 8)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(*shape), steps=8, dtype=torch.float32))
        assert float(values.min()) > 0.6
        assert float(values.max()) < 1.3


def test_every_parameter_has_exactly_one_optimiser(squares: ChartSource, tiny: dict[str, Any]) -> None:
    trainer = Trainer(squares, config(), tiny)
    optimised = [
        p
        for o in make_optimisers((trainer.network, trainer.heads), 1e-3)
        for g in o.param_groups
        for p in g["params"]
    ]
    everything = [*trainer.network.parameters(), *trainer.heads.parameters()]
    assert sorted(map(id, optimised)) == sorted(map(id, everything))


def test_schedule_reads_first_and_ends_at_zero() -> None:
    schedule = Schedule(lr=1.0, warmup_share=0.1, reading_share=0.2)
    assert schedule.lr_at(0.0) < 0.1
    assert schedule.lr_at(0.1) == pytest.approx(1.0)
    assert schedule.lr_at(1.0) == pytest.approx(0.0)
    assert not schedule.answers_at(0.19)
    assert schedule.answers_at(0.2)
    assert schedule.reading_weight_at(0.2) == schedule.reading_weight_start
    assert schedule.reading_weight_at(1.0) == pytest.approx(schedule.reading_weight_end)


def test_batch_asks_for_the_answer_only_and_at_the_right_cell(
    squares: ChartSource, tiny: dict[str, Any]
) -> None:
    tokenizer = Tokenizer(squares.words)
    chart = squares.draw(np.random.default_rng(0), 2, False)
    batch = collate([chart], 2, tokenizer, squares.colours, NetworkConfig(tokens=len(tokenizer), **tiny))
    row = batch.targets[0]
    assert [tokenizer.tokens[i] for i in row[row != IGNORED]] == [chart.questions[0].answer, "<end>"]
    # The token that predicts the answer is the one that asks for it.
    assert tokenizer.tokens[batch.ids[0][row != IGNORED][0]] == "<answer>"
    assert batch.cells.tolist() == [int(chart.reading[0].y_norm * 3) * 4 + int(chart.reading[0].x_norm * 4)]
    ink = batch.pictures[0].sum(0).reshape(3, 16, 4, 16).sum((1, 3)).flatten()
    assert int(ink.argmax()) == batch.cells[0]


def test_a_chart_with_few_questions_repeats_them(squares: ChartSource, tiny: dict[str, Any]) -> None:
    tokenizer = Tokenizer(squares.words)
    chart = squares.draw(np.random.default_rng(0), 2, False)
    batch = collate([chart], 5, tokenizer, squares.colours, NetworkConfig(tokens=len(tokenizer), **tiny))
    assert batch.kinds == ("colour", "count", "colour", "count", "colour")


def test_exact_means_every_token_of_the_answer(squares: ChartSource, tiny: dict[str, Any]) -> None:
    trainer = Trainer(squares, config(), tiny)
    batch = trainer.batch(np.random.default_rng(0), 2, False)
    right = torch.nn.functional.one_hot(batch.targets.clamp(min=0), len(trainer.tokenizer)).float()
    assert exact_answers(right, batch).all()
    right[1, (batch.targets[1] != IGNORED).nonzero()[-1, 0], 0] = 2.0
    assert exact_answers(right, batch).tolist() == [True, False, True, True]


def test_it_learns_to_name_the_colour(squares: ChartSource, tiny: dict[str, Any], tmp_path: Path) -> None:
    trainer = train(tmp_path, squares, config(), sizes=tiny, max_steps=60)
    scores = trainer.held_out()
    assert scores["colour"] == 1.0
    assert scores["count"] == 1.0
    curve = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert curve[-1]["step"] == 60
    assert curve[-1]["held_out"]["all"] == 1.0


def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The schedule follows the clock, so the clock is held still for two runs to be comparable.
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    whole = train(tmp_path / "whole", squares, config(bfloat16=False), sizes=tiny, max_steps=6)
    train(tmp_path / "parts", squares, config(bfloat16=False), sizes=tiny, max_steps=2)
    parts = train(tmp_path / "parts", squares, config(bfloat16=False), sizes=tiny, max_steps=4)
    assert parts.step == whole.step == 6
    for name, value in whole.network.state_dict().items():
        assert torch.allclose(parts.network.state_dict()[name], value, atol=1e-6), name


def test_a_stop_in_the_middle_of_a_step_keeps_what_was_learned(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(squares, config(), tiny)
    steps = iter((trainer.train_step, trainer.train_step))

    def stop_at_the_third() -> dict[str, float]:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        return step()

    monkeypatch.setattr(trainer, "train_step", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        trainer.run(tmp_path)
    resumed = Trainer(squares, config(), tiny)
    resumed.load(tmp_path)
    assert resumed.step == 2


def test_training_ends_when_its_time_is_up(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path
) -> None:
    trainer = train(tmp_path, squares, config(minutes=1e-4), sizes=tiny)
    assert trainer.progress == 1.0
    assert train(tmp_path, squares, config(minutes=1e-4), sizes=tiny).step == trainer.step


@pytest.mark.parametrize("damage", ["cut", "other sizes"])
def test_a_checkpoint_that_does_not_fit_is_refused(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path, damage: str
) -> None:
    train(tmp_path, squares, config(), sizes=tiny, max_steps=1)
    path = tmp_path / "checkpoint.safetensors"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:200])
    sizes = tiny | {"inner_width": 48} if damage == "other sizes" else tiny
    with pytest.raises(AttentionError, match=r"checkpoint\.safetensors"):
        train(tmp_path, squares, config(), sizes=sizes, max_steps=1)
    assert train(tmp_path, squares, config(), sizes=sizes, max_steps=1, resume=False).step == 1
    curve = [json.loads(line)["step"] for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert curve == [1, 1]  # of the new run alone: its first step, and its end
