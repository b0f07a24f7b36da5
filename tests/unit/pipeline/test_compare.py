from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gazelab.attention.base import TokenStep, TraceHead, trace_of
from gazelab.attention.trace_store import save_trace, trace_path
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import ConfigError, SessionError
from gazelab.core.geometry import PatchGrid, Screen
from gazelab.core.picture import Picture
from gazelab.pipeline.blur import sigma_of
from gazelab.pipeline.compare import (
    SkippedTrial,
    TrialComparison,
    compare_sessions,
    compare_trial,
    trace_for,
)
from gazelab.pipeline.keep import fixation_inputs
from gazelab.pipeline.map_choice import MapChoice
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.report import score_table
from gazelab.sessions.derived import load_arrays

from .scripted import SCREEN, record_two_charts

BARE = Screen("bare", 1920, 1080)


class FixedModel:
    """Answers "12" in one token and looks at one cell of a 3 x 4 grid."""

    model_id, revision, about, kind = "tests/fixed", "r1", "", "cross"
    layers, n_heads = (0,), 1

    def __init__(self, row: int, col: int) -> None:
        self.cell = (row, col)
        self.n_runs = 0

    def head(self, picture: Picture, question: str) -> TraceHead:
        grid = PatchGrid.stretched(3, 4, picture.width_px, picture.height_px)
        about = (self.model_id, self.revision, picture.sha256, question)
        return TraceHead(*about, grid, self.layers, self.n_heads, self.kind)

    def stream(self, picture: Picture, question: str, max_tokens: int = 8) -> Iterator[TokenStep]:
        weights = np.zeros((1, 1, 3, 4), np.float16)
        weights[0, 0][self.cell] = 1
        none = np.zeros((1, 1), np.float32)
        yield TokenStep("12", 1, (("12", 0.9),), weights, none, none)

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        return "".join(s.text for s in steps)

    def trace(self, picture: Picture, question: str, max_tokens: int = 8) -> AttentionTrace:
        self.n_runs += 1
        steps = list(self.stream(picture, question))
        return trace_of(self.head(picture, question), steps, self.answer_text(steps))


def cell_of_first_look(replay: Replay) -> tuple[int, int]:
    xy, _ = replay.fixations_on_picture(replay.trials[0])
    row, col = PatchGrid.stretched(3, 4, 40, 30).locate(xy[0, 0], xy[0, 1])
    return int(row), int(col)


def compared(path, model) -> list[TrialComparison]:
    return [r for _, r in compare_sessions([path], model) if isinstance(r, TrialComparison)]


def test_a_model_that_looks_where_the_reader_looked_beats_one_that_does_not(tmp_path):
    _, path = record_two_charts(tmp_path)
    row, col = cell_of_first_look(Replay.open(path))
    near = compared(path, FixedModel(row, col))[0].agreement.rows["map"]
    model = FixedModel((row + 2) % 3, (col + 2) % 4)
    model.revision = "r2"
    far = compared(path, model)[0].agreement.rows["map"]
    assert near["nss"] > 0.5 > far["nss"]
    assert near["cc"] > far["cc"]
    assert near["auc"] > far["auc"]


def test_V18_every_score_stands_beside_its_baselines_and_chance(tmp_path):
    _, path = record_two_charts(tmp_path)
    result = compared(path, FixedModel(0, 0))[0]
    assert set(result.agreement.rows) == {"map", "uniform", "centre"}
    assert result.agreement.rows["uniform"]["auc"] == 0.5
    low, high = result.agreement.chance["auc"]
    assert low <= 0.5 <= high
    assert "no human ceiling" in result.agreement.how["ceiling"]


def test_answers_are_judged_by_relaxed_accuracy(tmp_path):
    _, path = record_two_charts(tmp_path)
    result = compared(path, FixedModel(0, 0))[0]
    assert result.model_correct is not None
    assert result.model_correct.published
    row = result.to_json()
    json.dumps(row, allow_nan=False)
    assert row["model_made_with"] == result.trace.made_with
    assert (row["trial_skipped"], row["trial_complete"]) == (False, True)


def test_the_models_trace_is_stored_and_used_again(tmp_path):
    _, path = record_two_charts(tmp_path)
    model = FixedModel(1, 1)
    replay = Replay.open(path)
    first = trace_for(replay, replay.trials[0], model)
    again = trace_for(replay, replay.trials[0], model)
    assert model.n_runs == 1
    assert again.weights.tobytes() == first.weights.tobytes()


def test_a_stored_trace_that_was_made_in_another_way_is_made_again(tmp_path):
    _, path = record_two_charts(tmp_path)
    model = FixedModel(1, 1)
    replay = Replay.open(path)
    trace_for(replay, replay.trials[0], model)
    plain = model.head
    model.head = lambda *about: replace(plain(*about), made_with={"dtype": "float16"})
    assert trace_for(replay, replay.trials[0], model).made_with == {"dtype": "float16"}
    assert model.n_runs == 2
    trace_for(replay, replay.trials[0], model)
    assert model.n_runs == 2


def test_a_trace_of_another_question_under_this_ones_name_is_not_used(tmp_path):
    _, path = record_two_charts(tmp_path)
    model = FixedModel(1, 1)
    replay = Replay.open(path)
    derived = replay.session.derived
    mine = trace_path(derived, trace_for(replay, replay.trials[0], model))
    other = save_trace(tmp_path, model.trace(replay.picture(replay.trials[0]), "Another one?"))
    mine.write_bytes(other.read_bytes())
    assert trace_for(replay, replay.trials[0], model).prompt == replay.trials[0].question


def test_a_broken_stored_trace_is_made_again(tmp_path):
    _, path = record_two_charts(tmp_path)
    model = FixedModel(1, 1)
    replay = Replay.open(path)
    trace_for(replay, replay.trials[0], model)
    next(replay.session.derived.glob("attention_*.safetensors")).write_bytes(b"torn")
    assert trace_for(replay, replay.trials[0], model).answer == "12"
    assert model.n_runs == 2


def test_a_trial_without_its_picture_is_reported_and_the_rest_goes_on(tmp_path):
    _, path = record_two_charts(tmp_path)
    first = Replay.open(path).trials[0]
    (path / "stimuli" / f"{first.picture_sha256}.png").unlink()
    results = [r for _, r in compare_sessions([path], FixedModel(0, 0))]
    assert isinstance(results[0], SkippedTrial)
    assert first.picture_sha256 in results[0].reason
    assert isinstance(results[1], TrialComparison)


def test_S7_sigma_is_in_degrees_and_the_same_share_of_the_picture_at_any_size(tmp_path):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    trial = replay.trials[0]
    sigma_px, how = sigma_of(replay, trial)
    one_degree_px = replay.screen.px_per_deg()
    assert how["sigma_deg"] == 1.0
    assert sigma_px == pytest.approx(one_degree_px * 256 / trial.placement.width_px)


@pytest.mark.parametrize(
    ("screen", "facts", "sigma_px", "why"),
    [
        (SCREEN, {"accuracy_deg": 2.5, "accuracy_px": 90.0}, "2.5 degrees", "validated"),
        (SCREEN, {"accuracy_deg": None, "accuracy_px": 400.0}, "400 px", "validated"),
        (SCREEN, {"accuracy_deg": 0.4, "accuracy_px": 15.0}, "1 degree", "default"),
        (BARE, {"accuracy_deg": None, "accuracy_px": 400.0}, "400 px", "validated"),
        (BARE, {"accuracy_deg": None, "accuracy_px": 1.0}, "3 %", "3%"),
        (BARE, {}, "3 %", "3%"),
        (SCREEN, {"accuracy_deg": 10**400, "accuracy_px": float("inf")}, "1 degree", "default"),
        (SCREEN, {"accuracy_deg": float("nan"), "accuracy_px": 400.0}, "400 px", "validated"),
        (BARE, {"accuracy_px": 1e300}, "3 %", "3%"),
    ],
)
def test_S7_sigma_is_never_below_the_validated_error(tmp_path, screen, facts, sigma_px, why):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    replay.screen = screen
    replay.session.header = replace(replay.session.header, profile=facts)
    trial = replay.trials[0]
    scale = 256 / trial.placement.width_px
    expected = {
        "2.5 degrees": 2.5 * SCREEN.px_per_deg() * scale,
        "1 degree": SCREEN.px_per_deg() * scale,
        "400 px": 400 * scale,
        "3 %": 0.03 * 256,
    }
    sigma, how = sigma_of(replay, trial)
    assert sigma == pytest.approx(expected[sigma_px])
    assert why in how["sigma"]


@pytest.mark.parametrize("for_dataset", [True, False])
def test_G14_scores_say_whose_gaze_they_are_of(tmp_path, for_dataset):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    replay.session.header = replace(replay.session.header, for_dataset=for_dataset)
    trial = replay.trials[0]
    result = compare_trial(replay, trial, trace_for(replay, trial, FixedModel(0, 0)), MapChoice())
    how = result.to_json()["how"]
    assert (how["source"], how["calibrated"], how["for_dataset"]) == ("scripted", False, for_dataset)
    assert ("not for datasets" in score_table(result.agreement).note) is not for_dataset


def test_fixations_and_scores_are_kept_beside_the_session(tmp_path):
    _, path = record_two_charts(tmp_path)
    model = FixedModel(0, 0)
    results = compared(path, model)
    replay = Replay.open(path)
    kept = load_arrays(path / "derived", "fixations", fixation_inputs(replay))
    assert kept is not None
    for trial in replay.trials:
        mine = kept["trial"] == trial.index
        assert kept["events"][mine].tobytes() == replay.fixations(trial).tobytes()
        assert kept["picture_xy_px"][mine].tolist() == replay.fixations_on_picture(trial)[0].tolist()
    written = json.loads((path / "derived" / "scores_tests-fixed.json").read_text())
    assert written["data"] == json.loads(json.dumps([r.to_json() for r in results]))


def test_a_session_that_cannot_be_written_to_is_compared_all_the_same(tmp_path, caplog):
    _, path = record_two_charts(tmp_path)
    (path / "derived").write_text("a file in the folder's place")
    assert len(compared(path, FixedModel(0, 0))) == 2
    assert "the trace is not kept" in caplog.text
    assert "fixations and scores are not kept" in caplog.text


def test_progress_names_each_chart(tmp_path):
    _, path = record_two_charts(tmp_path)
    told: list[tuple[int, int, str]] = []
    list(compare_sessions([path], FixedModel(0, 0), MapChoice(), lambda *a: told.append(a)))
    assert told == [(0, 2, "a"), (1, 2, "b")]


def test_a_session_that_cannot_be_followed_is_told_and_the_others_are_compared(tmp_path):
    paths = [record_two_charts(tmp_path, name)[1] for name in ("one", "two", "three")]
    (paths[1] / "corrections.jsonl").write_text('{"kind": "unheard of"}\n')
    missing = tmp_path / "sessions" / "nowhere"
    told: list[tuple[str, str]] = []

    def failed(path, fault) -> None:
        told.append((path.name, str(fault)))

    results = list(compare_sessions([missing, *paths], FixedModel(0, 0), failed=failed))
    assert [path.name for path, _ in results] == ["one", "one", "three", "three"]
    assert [name for name, _ in told] == ["nowhere", "two"]
    assert "no session" in told[0][1]
    assert "corrections.jsonl" in told[1][1]
    with pytest.raises(SessionError, match=r"corrections\.jsonl"):
        list(compare_sessions(paths, FixedModel(0, 0)))


def test_what_no_session_can_help_is_raised_whoever_listens(tmp_path):
    _, path = record_two_charts(tmp_path)
    with pytest.raises(ConfigError, match="no detector"):
        list(compare_sessions([path], FixedModel(0, 0), detector="ivtt", failed=lambda *_: None))
