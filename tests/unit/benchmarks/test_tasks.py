"""The sets of pictures and their splits: as in `gazelab evaluate gaze`, and the synthetic participant's."""

from __future__ import annotations

from pathlib import Path

import gaze
import numpy as np
import pytest
from peers import tasks
from peers.contestants import gazelab

from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features
from gazelab.core.picture import encode_png
from gazelab.pipeline.evaluate import evaluate_gaze
from gazelab.sources.face import FaceReading

COLS, ROWS = np.meshgrid(np.linspace(-1, 1, PATCH_COLS), np.linspace(-1, 1, PATCH_ROWS))


class ColourReader:
    """Finds a face where blue is on; red and green are where it looks, plus 128, with errors of their own."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def still(self, rgb, min_confidence=0.5):
        red, green, blue = (int(v) for v in rgb[rgb.shape[0] // 2, rgb.shape[1] // 2])
        row = empty_features(1)[0]
        if blue:
            x, y = red - 128 + red % 3, green - 128 - green % 2
            row["patches"] = np.clip(120 + 40 * COLS + 3 * x * ROWS + 3 * y * COLS * ROWS, 0, 255)
            row["iris"] = 0.0075 * x, -0.0025 * y
            row["openness"], row["blink_score"], row["look"] = 0.3, 0.05, 0.3
            row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = 0, 0, 0
            row["head_mm"] = 0, 0, 500 + 5 * (red % 7)
            row["valid"] = True
        return FaceReading(row)


def put(path: Path, x: int, y: int, face: bool = True) -> None:
    path.write_bytes(encode_png(np.full((40, 40, 3), (128 + x, 128 + y, 255 * face), np.uint8)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """All three layouts; a face is missing in each."""
    for name in ("columbia", "laptop", "headposes"):
        (tmp_path / name).mkdir()
    for person in ("0007", "0023"):
        for h in (-15, -10, -5, 0, 5, 10, 15):
            for v in (-10, 0, 10):
                put(tmp_path / "columbia" / f"{person}_2m_0P_{v}V_{h}H.png", h, v, (h, v) != (10, 10))
    lines, rng = ["file,target_x_px,target_y_px,block"], np.random.default_rng(0)
    for i in range(140):
        x, y = (int(v) for v in rng.integers(-20, 20, 2))
        put(tmp_path / "laptop" / f"{i}.png", x, y, i != 65)
        lines.append(f"{i}.png,{960 + 50 * x},{540 - 25 * y},{'a' if i < 70 else 'b'}")
    (tmp_path / "laptop" / "labels.csv").write_text("\n".join(lines))
    for head in ("a2", "b1"):
        for row in "abc":
            for col in "1234":
                at = round(7 * (int(col) - 2.5)), round(-5.2 * (ord(row) - ord("b")))
                put(
                    tmp_path / "headposes" / f"{head}{row}{col}.png",
                    *at,
                    (head, row, col) != ("b1", "a", "2"),
                )
    return tmp_path


def test_our_figures_are_those_of_gazelab_evaluate_gaze(data, monkeypatch):
    monkeypatch.setattr(tasks, "FaceReader", ColourReader)
    got = {task.name: task for task in tasks.folder_tasks(data)}
    assert list(got) == ["laptop", "headposes", "columbia"]
    expect = {
        "laptop": ["median_px"],
        "headposes": ["loo_nominal_deg", "unseen_pose_deg", "one_pose_deg"],
        "columbia": ["loo_deg", "nine_to_twelve_deg"],
    }
    for layout, names in expect.items():
        scores = evaluate_gaze(data / layout, layout, reader=ColourReader())
        task = got[layout]
        figures = [gaze.score(task, measure, gazelab) for measure in task.measures]
        assert figures == pytest.approx([scores[name] for name in names])
        assert all(figure > 0.01 for figure in figures)


def test_a_folder_that_is_absent_is_passed_over(tmp_path):
    assert list(tasks.folder_tasks(tmp_path)) == []


def test_the_synthetic_head_rests_or_moves_as_each_split_says():
    """Twelve pictures calibrate (four places), twelve are the head phase, five and five test."""
    task = tasks.synthetic_task(n_targets=4, repeats=3, n_test=5)
    still, moving, _, after = (measure.splits[0] for measure in task.measures)
    assert [len(part) for part in (*still, *after)] == [12, 5, 24, 5]
    np.testing.assert_array_equal(task.places[still[1]], task.places[moving[1]])
    yaw = task.features["yaw_deg"]
    assert task.features["valid"].all()
    assert np.ptp(yaw[still[0]]) < 6  # a seated person's sway, and what gaze leaks into the landmarks
    assert np.ptp(yaw[after[0][12:]]) > 10
    assert not set(moving[1]) & set(after[0])
