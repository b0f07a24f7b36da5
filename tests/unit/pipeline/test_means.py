from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from gazelab.pipeline.compare import SkippedTrial, TrialComparison, compare_sessions
from gazelab.pipeline.means import mean_scores
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.session_quality import assess, decide_trial

from .scripted import record_two_charts
from .test_compare import FixedModel

WHY = "47.5 % of the samples are lost (limit 40 %)"


@pytest.fixture
def path(tmp_path):
    """Chart a is to be reviewed, chart b is to be excluded."""
    return record_two_charts(tmp_path)[1]


def results(path, **more) -> list[tuple[str, TrialComparison | SkippedTrial]]:
    return [(p.name, r) for p, r in compare_sessions([path], FixedModel(0, 0), **more)]


def test_a_trial_to_exclude_is_scored_yet_left_out_of_the_means_with_its_reason(path):
    found = results(path)
    assert [r.in_means for _, r in found] == [True, False]
    means = mean_scores(found)
    assert means.rows["map"] == found[0][1].agreement.rows["map"]
    assert (means.n_trials, means.n_counted) == (2, 1)
    assert len(means.left_out) == 1
    assert means.left_out[0].startswith(f"reading trial 2 (b): {WHY}")
    assert means.words == "over 1 of 2 trials; 1 left out"


def test_all_trials_count_when_asked_for_and_it_is_told(path):
    found = results(path, all_trials=True)
    means = mean_scores(found, all_trials=True)
    assert (means.n_counted, means.left_out) == (2, ())
    nss = [r.agreement.rows["map"]["nss"] for _, r in found]
    assert means.rows["map"]["nss"] == pytest.approx(sum(nss) / 2)
    cc = [r.agreement.rows["map"]["cc"] for _, r in found]
    assert means.rows["map"]["cc"] == pytest.approx(math.tanh(sum(map(math.atanh, cc)) / 2))
    assert "count too" in means.words


def test_a_persons_decision_is_respected(path):
    replay = Replay.open(path)
    quality = decide_trial(replay, assess(replay), 0, "exclude", "spoke while reading")
    decide_trial(replay, quality, 1, "keep", "enough is there")
    found = results(path)
    assert [r.in_means for _, r in found] == [False, True]
    [out] = mean_scores(found).left_out
    assert out.startswith("reading trial 1 (a): decided by hand (the limits say review): spoke while reading")


def test_json_says_it_beside_each_figure_and_keeps_its_old_keys(path):
    rows = [r.to_json() for _, r in results(path)]
    json.dumps(rows, allow_nan=False)
    assert [row["in_means"] for row in rows] == [True, False]
    assert rows[1]["quality"]["verdict"] == "exclude"
    assert rows[1]["quality"]["reasons"][0] == WHY
    old = {"trial", "chart_id", "question", "trial_skipped", "trial_complete", "gold", "given", "model"}
    old |= {"model_revision", "model_answer", "person_correct", "model_correct", "picture_share", "rows"}
    old |= {"chance", "undefined", "n_fixations", "n_dropped", "how"}
    assert set(rows[0]) == old | {"quality", "in_means", "model_made_with"}


def test_a_trial_that_cannot_be_compared_is_left_out_with_its_reason(path):
    first = Replay.open(path).trials[0]
    (path / "stimuli" / f"{first.picture_sha256}.png").unlink()
    found = results(path)
    row = found[0][1].to_json()
    assert (row["in_means"], row["quality"]["verdict"]) == (False, "review")
    means = mean_scores(found)
    assert (means.n_counted, len(means.left_out)) == (0, 2)
    assert "picture" in means.left_out[0]
    assert means.rows["map"] == {}
    assert means.to_json()["means"] == {"map": {}, "centre": {}, "uniform": {}}


def test_an_undefined_score_leaves_its_trial_out_of_that_mean_alone(path):
    found = results(path, all_trials=True)
    _, second = found[1]
    rows = {name: dict(scores) for name, scores in second.agreement.rows.items()}
    rows["map"]["nss"] = math.nan
    found[1] = ("reading", replace(second, agreement=replace(second.agreement, rows=rows)))
    means = mean_scores(found, all_trials=True)
    assert (means.n["nss"], means.n["auc"]) == (1, 2)
    assert means.rows["map"]["nss"] == found[0][1].agreement.rows["map"]["nss"]


def test_the_limits_are_the_callers(path):
    lax = replace(assess(Replay.open(path)).limits, exclude_loss=0.9)
    assert [r.in_means for _, r in results(path, limits=lax)] == [True, True]


def test_the_quality_is_kept_beside_the_scores(path):
    results(path)
    kept = {file.name for file in (path / "derived").iterdir()}
    assert {"quality.json", "blinks.npz", "fixations.npz"} <= kept
