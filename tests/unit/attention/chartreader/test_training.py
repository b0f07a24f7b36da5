import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gazelab.attention.chartreader.network import NetworkConfig
from gazelab.attention.chartreader.spelling import SpellingTokenizer
from gazelab.attention.chartreader.training import ChartSource, Trainer, TrainingConfig, train
from gazelab.attention.chartreader.training.data import IGNORED, Batch, TrainingChart, collate
from gazelab.attention.chartreader.training.export import export_weights
from gazelab.attention.chartreader.training.losses import exact_answers, look_loss
from gazelab.attention.chartreader.training.muon import make_optimisers, orthogonalise
from gazelab.attention.chartreader.training.schedule import Schedule
from gazelab.attention.chartreader.training.warm_start import warm_start
from gazelab.core.errors import AttentionError


def config(**changes: Any) -> TrainingConfig:
    schedule = Schedule(warmup_steps=1, cells_from_step=0, answers_from_step=0, fetched_from_step=0)
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


def test_schedule_reads_first_stays_level_and_ends_at_zero() -> None:
    schedule = Schedule(
        lr=1.0,
        warmup_steps=10,
        decay_share=0.2,
        answers_from_step=20,
        reading_falls_from_step=30,
        reading_falls_steps=5,
    )
    assert schedule.lr_at(0, 0.0) == pytest.approx(0.1)
    assert schedule.lr_at(10, 0.1) == schedule.lr_at(900, 0.79) == pytest.approx(1.0)
    assert schedule.lr_at(900, 0.9) == pytest.approx(0.5)
    assert schedule.lr_at(999, 1.0) == pytest.approx(0.0)
    assert not schedule.answers_at(19)
    assert schedule.answers_at(20)
    assert schedule.reading_weight_at(30) == schedule.reading_weight_start
    assert schedule.reading_weight_at(35) == pytest.approx(schedule.reading_weight_end)


def test_letters_come_first_and_move_the_stem_alone(squares: ChartSource, tiny: dict[str, Any]) -> None:
    trainer = Trainer(squares, config(schedule=Schedule(warmup_steps=1, cells_from_step=1)), tiny)
    before = {name: value.clone() for name, value in trainer.network.state_dict().items()}
    report = trainer.train_step()
    assert set(report) == {"line_loss", "letter", "place", "letter in place", "word", "gate"}
    moved = {n for n, v in trainer.network.state_dict().items() if not torch.equal(v, before[n])}
    assert moved
    assert all(name.startswith(("encoder.stem.", "embedding.places")) for name in moved)
    assert {"label", "number", "colour"} <= set(trainer.train_step())


def one_chart(
    squares: ChartSource, tiny: dict[str, Any], n_questions: int = 2
) -> tuple[TrainingChart, Batch, SpellingTokenizer]:
    tokenizer = SpellingTokenizer(squares.words)
    chart = squares.draw(np.random.default_rng(0), 2, False)
    sizes = NetworkConfig(tokens=len(tokenizer), characters=tokenizer.n_characters, **tiny)
    return chart, collate([chart], n_questions, tokenizer, squares.colours, sizes), tokenizer


def test_batch_asks_for_the_answer_only_and_at_the_right_cell(
    squares: ChartSource, tiny: dict[str, Any]
) -> None:
    chart, batch, tokenizer = one_chart(squares, tiny)
    row = batch.targets[0]
    assert [tokenizer.tokens[i] for i in row[row != IGNORED]] == [*chart.questions[0].answer, "<end>"]
    # The token that predicts the answer's first character is the one that asks for it.
    assert tokenizer.tokens[batch.ids[0, :, 0][row != IGNORED][0]] == "<answer>"
    cell = int(chart.reading[0].y_norm * 3) * 4 + int(chart.reading[0].x_norm * 4)
    assert batch.reading.cells.tolist() == batch.word_cells.tolist() == [cell]
    ink = batch.pictures[0].sum(0).reshape(3, 16, 4, 16).sum((1, 3)).flatten()
    assert int(ink.argmax()) == cell


def test_a_look_is_asked_of_the_token_that_predicts_it_at_the_cells_of_its_box(
    squares: ChartSource, tiny: dict[str, Any]
) -> None:
    _, batch, tokenizer = one_chart(squares, tiny)
    (look,) = batch.looks.tolist()
    assert look[0] == 0
    assert tokenizer.tokens[batch.ids[0, look[1], 0]] == "<answer>"
    assert batch.look_cells.nonzero().tolist() == [[0, int(batch.reading.cells[0])]]
    length, share = batch.ids.shape[1], 0.25
    maps = torch.zeros(1, 4, 2 * length, 12)
    maps[0, 1, look[1]] = batch.look_cells[0] * share
    assert float(look_loss([maps, maps], batch).total) == pytest.approx(-np.log(share))


def test_gates_are_open_at_the_columns_of_the_word(squares: ChartSource, tiny: dict[str, Any]) -> None:
    _, batch, _ = one_chart(squares, tiny)
    # The square is as wide as its cell: the cell's own four columns, in the middle of the window.
    assert batch.word_gates[0].nonzero().flatten().tolist() == [10, 11, 12, 13]


def test_spelled_targets_end_with_the_word_and_leave_out_what_is_not_told(
    squares: ChartSource, tiny: dict[str, Any]
) -> None:
    chart, batch, tokenizer = one_chart(squares, tiny)
    label = batch.reading.spelled["label"][0]
    assert [tokenizer.tokens[i] for i in label[label != IGNORED]] == [*str(chart.reading[0].label), "<end>"]
    number = batch.reading.spelled["number"][0]
    assert [tokenizer.tokens[i] for i in number[number != IGNORED]] == ["7", "<end>"]
    assert (batch.reading.spelled["series"] == IGNORED).all()


def test_a_chart_with_few_questions_repeats_them(squares: ChartSource, tiny: dict[str, Any]) -> None:
    _, batch, _ = one_chart(squares, tiny, n_questions=5)
    assert batch.kinds == ("colour", "count", "colour", "count", "colour")


def test_a_weight_file_starts_another_run_where_it_ended(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path
) -> None:
    first = train(tmp_path / "first", squares, config(), sizes=tiny, max_steps=2)
    path = tmp_path / "reader.safetensors"
    export_weights(tmp_path / "first", path)
    second = Trainer(squares, config(seed=5), tiny)
    assert warm_start(second.network, second.heads, second.tokenizer, path) == ()
    for name, value in second.network.state_dict().items():
        assert torch.allclose(value, first.network.state_dict()[name], atol=2e-3), name


def test_a_run_from_complete_weights_skips_the_stages_of_reading_and_warms_up_anew(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path
) -> None:
    train(tmp_path / "first", squares, config(), sizes=tiny, max_steps=1)
    path = tmp_path / "reader.safetensors"
    export_weights(tmp_path / "first", path)
    schedule = Schedule(lr=1.0, warmup_steps=10, cells_from_step=30, answers_from_step=50)
    again = train(
        tmp_path / "second", squares, config(schedule=schedule), sizes=tiny, max_steps=2, start_from=path
    )
    assert (again.step, again.first_step) == (52, 50)
    assert again.optimisers[0].param_groups[0]["lr"] == pytest.approx(0.2, abs=0.01)
    resumed = train(tmp_path / "second", squares, config(schedule=schedule), sizes=tiny, max_steps=1)
    assert (resumed.step, resumed.first_step) == (53, 50)


def test_a_weight_file_of_another_vocabulary_gives_its_words_by_name(
    squares: ChartSource, tiny: dict[str, Any], tmp_path: Path
) -> None:
    first = train(tmp_path / "first", squares, config(), sizes=tiny, max_steps=1)
    path = tmp_path / "reader.safetensors"
    export_weights(tmp_path / "first", path)
    other = dataclasses.replace(squares, words=("red", "new", "blue"))  # type: ignore[type-var]
    second = Trainer(other, config(seed=5), tiny)
    fresh = warm_start(second.network, second.heads, second.tokenizer, path)
    assert fresh == ("embedding.weight",)
    mine, theirs = second.network.embedding.weight, first.network.embedding.weight
    for word in ("red", "blue"):
        at = second.tokenizer.id_of(word), first.tokenizer.id_of(word)
        assert torch.allclose(mine[at[0]], theirs[at[1]], atol=2e-3)


def test_a_start_from_what_is_no_weight_file_says_which(squares: ChartSource, tmp_path: Path) -> None:
    path = tmp_path / "notes.safetensors"
    path.write_text("not weights", encoding="utf-8")
    with pytest.raises(AttentionError, match=r"notes\.safetensors"):
        train(tmp_path / "run", squares, config(), max_steps=1, start_from=path)


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
