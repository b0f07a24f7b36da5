"""Figures of small sessions beside the same figures computed here, sample by sample, in plain loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.gaze import GazeArray
from gazelab.pipeline.measure_trial import measure_trial
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.trial_quality import TrialQuality
from gazelab.processing.blinks import PAD_S

from .quality_session import LOOKS, MS, lose, reading, session_of
from .scripted import SCREEN

STEP_MS = 33.0
N = 240


def noisy(seed: int = 5) -> GazeArray:
    """Four looks at 30 Hz with normal noise of 6 px."""
    rows = reading(N, STEP_MS)
    rng = np.random.default_rng(seed)
    rows["x_px"] = np.repeat(np.array(LOOKS)[:, 0], N // 4) + rng.normal(0, 6, N)
    rows["y_px"] += rng.normal(0, 6, N)
    return rows


def without(rows: GazeArray, where: slice) -> GazeArray:
    """Frames that never came."""
    keep = np.ones(len(rows), bool)
    keep[where] = False
    return rows[keep]


def off_screen(rows: GazeArray) -> GazeArray:
    """The last look is below the screen; one sample lies on the first px beyond it, and one on its edge."""
    out = rows.copy()
    out["y_px"][N * 3 // 4 :] += 1000
    out["x_px"][:2] = 1920.0, 0.0
    return out


CASES = {
    "nothing lost": noisy(),
    "every third lost": lose(noisy(), slice(2, None, 3)),
    "every second lost": lose(noisy(), slice(1, None, 2)),
    "every third never came": without(noisy(), slice(2, None, 3)),
    "blinks": lose(lose(noisy(), slice(20, 25), blink=True), slice(100, 104), blink=True),
    "off the screen": off_screen(noisy()),
}


def of(root: Path, rows: GazeArray) -> tuple[Replay, TrialQuality]:
    end_ns = round(N * STEP_MS * MS)
    replay = Replay.open(session_of(root, rows, end_ns=end_ns))
    return replay, measure_trial(replay, replay.trials[0], 0.5)


def usable(rows: GazeArray) -> list[bool]:
    """With gaze, and not within the padding of shut lids."""
    times, shut = (
        rows["time_ns"].tolist(),
        [t for t, b in zip(rows["time_ns"], rows["blink"], strict=True) if b],
    )
    near = [any(abs(t - s) <= PAD_S * 1e9 for s in shut) for t in times]
    return [bool(v) and not n for v, n in zip(rows["valid"], near, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_precision_is_of_true_neighbours_within_fixations(tmp_path, name):
    rows = CASES[name]
    replay, found = of(tmp_path, rows)
    good, t = usable(rows), rows["time_ns"].tolist()
    x, y = rows["x_px"].astype(float), rows["y_px"].astype(float)
    rms, sd = [], []
    for event in replay.fixations(replay.trials[0]):
        inside = [k for k in range(len(t)) if event["onset_ns"] <= t[k] <= event["offset_ns"]]
        there = [k for k in inside if good[k]]
        if len(there) < 3:
            continue
        steps = [
            (x[k + 1] - x[k]) ** 2 + (y[k + 1] - y[k]) ** 2
            for k in inside[:-1]
            if good[k] and good[k + 1] and t[k + 1] - t[k] < 1.5 * STEP_MS * MS
        ]
        rms.append(math.sqrt(sum(steps) / len(steps)) if steps else math.nan)
        mean_x, mean_y = sum(x[there]) / len(there), sum(y[there]) / len(there)
        sd.append(math.sqrt(sum((x[there] - mean_x) ** 2 + (y[there] - mean_y) ** 2) / len(there)))
    finite = [v for v in rms if math.isfinite(v)]
    assert found.rms_s2s_px == pytest.approx(np.median(finite) if finite else math.nan, nan_ok=True)
    assert found.sd_px == pytest.approx(np.median(sd))
    assert math.isnan(found.rms_s2s_px) == (name == "every second lost"), "no two neighbours, so no figure"


@pytest.mark.parametrize("name", CASES)
def test_loss_rate_gap_and_off_screen(tmp_path, name):
    rows = CASES[name]
    _, found = of(tmp_path, rows)
    good, seen, t = usable(rows), rows["valid"].tolist(), rows["time_ns"].tolist()
    end_ns = round(N * STEP_MS * MS)
    assert found.rate_hz == pytest.approx(1000 / STEP_MS)
    assert found.data_loss == pytest.approx(1 - sum(seen) / len(seen))
    assert found.time_loss == pytest.approx(1 - sum(seen) / N, abs=1e-6), "each with gaze stands for a step"
    there = [time for time, v in zip(t, seen, strict=True) if v]
    gaps = [b - a for a, b in zip([0, *there], [*there, end_ns], strict=True)]
    assert found.longest_gap_s == pytest.approx(max(gaps) / 1e9)
    places = [(row["x_px"], row["y_px"]) for row, g in zip(rows, good, strict=True) if g]
    out = sum(not (0 <= x < SCREEN.width_px and 0 <= y < SCREEN.height_px) for x, y in places)
    assert found.off_screen_share == pytest.approx(out / len(places))
