"""The benchmark of gaze trackers: the questions and answers, the floor, the score and the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gaze
import numpy as np
import pytest
from peers import contestants
from peers.tasks import Measure, Task

from gazelab.core.gaze import empty_features
from gazelab.core.geometry import Screen

# A tracker whose feature is the picture's mean blue and whose answer is the mean calibration place plus that.
FAKE = """
import numpy as np
from protocol import serve

class Fake:
    def features(self, bgr):
        print("chatter that must not reach the answers")
        blue = float(bgr[..., 0].mean())
        return (None if blue == 0 else np.array([blue])), blue != 9

    def answer(self, features, places, tests):
        return places.mean(0) + tests

serve(Fake())
"""


def picture(blue: int) -> np.ndarray:
    rgb = np.zeros((4, 6, 3), np.uint8)
    rgb[..., 2] = blue
    return rgb


def task(blues: list[int], measures: list[Measure], screen: Screen | None = None) -> Task:
    n = len(blues)
    places = np.column_stack([np.arange(n) * 10.0, np.zeros(n)])
    pictures = [picture(b) for b in blues]
    return Task("fake", "px", pictures, empty_features(n), places, np.arange(n), measures, screen)


def split(calibrate: list[int], test: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(calibrate), np.array(test)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> contestants.Peer:
    """A peer whose environment is ours and whose runner is FAKE, beside the real protocol."""
    runner = tmp_path / "runners" / "run_fake.py"
    runner.parent.mkdir()
    runner.write_text(FAKE)
    (runner.parent / "protocol.py").write_bytes((contestants.HERE / "protocol.py").read_bytes())
    monkeypatch.setattr(contestants, "HERE", runner.parent)
    monkeypatch.setattr(contestants, "installed", lambda peer, folder: Path(sys.executable))
    return contestants.Peer("Fake", ("fake==1",), "none")


def test_a_peer_reads_pictures_in_its_own_process_and_answers_by_split(fake, tmp_path):
    splits = [split([0, 1], [2, 3, 4]), split([1, 2], [0])]
    asked = task([1, 9, 3, 0, 5], [Measure("m", splits, True)])
    answers, n_missed = contestants.peer_answers(fake, tmp_path, asked)
    # Picture 1 (blue 9) is not for calibrating, picture 3 (blue 0) has no face.
    np.testing.assert_array_equal(answers(asked, splits[0]), [[3, 3], [np.nan, np.nan], [5, 5]])
    np.testing.assert_array_equal(answers(asked, splits[1]), [[21, 1]])
    assert n_missed == 1


def test_answers_are_kept_until_the_pictures_or_the_runner_change(fake, tmp_path, monkeypatch):
    calls = []
    run = contestants.run_peer

    def counted(*args):
        calls.append(args)
        run(*args)

    monkeypatch.setattr(contestants, "run_peer", counted)
    measures = [Measure("m", [split([0], [1])], True)]
    for blues in ([1, 2], [1, 2], [1, 3]):
        contestants.peer_answers(fake, tmp_path, task(blues, measures))
    assert len(calls) == 2
    fake.runner.write_text(FAKE + "# changed\n")
    contestants.peer_answers(fake, tmp_path, task([1, 2], measures))
    assert len(calls) == 3
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("tmp")], "questions are removed"


def test_a_peer_that_fails_says_why_and_gives_no_figure(fake, tmp_path, monkeypatch):
    fake.runner.write_text("raise SystemExit('no weights: they must be fetched')")
    monkeypatch.setattr(gaze, "PEERS", (fake,))
    asked = task([1, 2], [Measure("m", [split([0], [1])], True)])
    result = gaze.contest(asked, ["Fake"], tmp_path)
    assert result["not_run"] == {"Fake": "failed: no weights: they must be fetched"}
    assert "Fake" not in result["figures"][0]["error"]
    assert "Fake failed: no weights" in gaze.table([result])


def test_what_cannot_be_installed_is_said_in_pips_last_words(tmp_path, monkeypatch):
    done = subprocess.CompletedProcess([], 1, "", "ERROR: one\nERROR: No matching distribution found for x\n")
    monkeypatch.setattr(contestants.subprocess, "run", lambda *a, **k: done)
    with pytest.raises(contestants.CannotRun, match="cannot be installed: ERROR: No matching distribution"):
        contestants.installed(contestants.PEERS[0], tmp_path)
    assert not list(tmp_path.rglob("installed.json"))


def test_every_peer_has_a_runner_and_a_licence():
    for peer in contestants.PEERS:
        assert peer.runner.is_file()
        assert peer.licence


def test_the_floors_ridge_by_hand():
    """One feature -1, 0, 1 (times its spread) with places -3, 0, 3: the slope is 3·2/(2 + penalty/1.5)."""
    x = np.array([[-2.0], [0.0], [2.0]])
    places = np.array([[7.0, -3.0], [10.0, 0.0], [13.0, 3.0]])
    spread = np.sqrt(8 / 3)
    standardised = 2 / spread  # of the last row; their squares sum to 3
    weight = (standardised * 3 * 2) / (3 + 1.0)
    expect = [[10 + weight * standardised, weight * standardised], [10, 0]]
    np.testing.assert_allclose(contestants.ridge(x, places, np.array([[2.0], [0.0]]), 1.0), expect)


def test_the_floors_ridge_is_not_upset_by_a_feature_that_never_changes():
    x = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    places = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert np.isfinite(contestants.ridge(x, places, x, 1.0)).all()


def test_iris_and_pose_uses_what_it_says_and_skips_pictures_without_a_face():
    rows = empty_features(4)
    rows["iris"][:, 0, 0] = [0.0, 0.1, 0.2, np.nan]
    for name in ("yaw_deg", "pitch_deg", "roll_deg"):
        rows[name] = 0
    rows["iris"][:, 0, 1] = rows["iris"][:, 1] = 0
    rows["patches"] = np.random.default_rng(1).integers(0, 255, rows["patches"].shape)
    faces = task([1, 2, 3, 4], [])
    asked = Task(**{**vars(faces), "features": rows})
    near, lost = contestants.iris_and_pose(asked, split([0, 1, 2], [1, 3]))
    np.testing.assert_allclose(near, [10, 0])
    assert np.isnan(lost).all()


def test_a_missing_answer_scores_the_mean_calibration_target():
    splits = [split([0, 2], [1, 3]), split([0], [2])]
    asked = task([1, 2, 3, 4], [])
    given = {1: np.array([[np.nan, np.nan], [33.0, 4.0]]), 2: np.array([[20.0, 7.0]])}

    def answers(_, own):
        return given[1 if len(own[1]) == 2 else 2]

    # Errors: mean target (10, 0) for (10, 0) = 0; (33, 4) for (30, 0) = 5; (20, 7) for (20, 0) = 7.
    assert gaze.score(asked, Measure("m", splits, False), answers) == pytest.approx(4.0)
    assert gaze.score(asked, Measure("m", splits, True), answers) == pytest.approx((2.5 + 7) / 2)


def test_errors_on_a_screen_are_degrees():
    screen = Screen("s", 1920, 1080, 344.0, 193.5, 600.0)
    asked = task([1], [], screen)
    centre, aside = np.array([[960.0, 540.0]]), np.array([[960.0 + 1920 / 344 * 10.472, 540.0]])
    assert asked.errors(centre, aside)[0] == pytest.approx(1.0, abs=0.001)


def test_the_table_gives_each_error_and_our_ratio_to_it():
    asked = task([1, 2], [Measure("m", [split([0], [1])], True)])
    result = gaze.contest(asked, [], Path("unused"))
    figure = result["figures"][0]
    # No face anywhere: ours and the floors all answer the mean target, (0, 0) for (10, 0).
    assert figure["error"] == {"gazelab": 10.0, "iris + pose": 10.0, "mean target": 10.0}
    assert figure["ours_to_theirs"]["iris + pose"] == 1.0
    text = gaze.table([result])
    assert "fake: m, median px" in text
    assert "10 (1.00)" in text
    assert "no face in, of 2 pictures: gazelab 2" in text
