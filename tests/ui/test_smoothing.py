from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import GazeView, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.ui.smoothing import LiveSmoother

SCREEN = Screen("s", 1920, 1080, 345, 194, 600)
STEP = 33_333_333


def views(x, y, tail=30):
    """What a live snapshot gives at each new sample."""
    for last in range(1, len(x) + 1):
        first = max(0, last - tail)
        samples = empty_gaze(last - first)
        samples["time_ns"] = np.arange(first, last) * STEP
        samples["x_px"], samples["y_px"] = x[first:last], y[first:last]
        yield GazeView(int(samples["time_ns"][-1]), samples)


def test_G16_a_resting_eye_is_drawn_calmer_and_a_step_arrives_within_three_samples():
    rng = np.random.default_rng(0)
    x = np.r_[np.full(60, 500.0), np.full(30, 900.0)] + rng.normal(0, 19, 90)
    y = 400 + rng.normal(0, 19, 90)
    smoother = LiveSmoother(SCREEN)
    newest = np.array([smoother.smooth(v).samples["x_px"][-1] for v in views(x, y)])
    assert newest[20:60].std() < 0.75 * x[20:60].std()
    assert abs(newest[63] - 900) < 60


def test_G16_the_samples_that_came_in_are_left_as_they_are():
    view = list(views(np.full(5, 10.0), np.arange(5.0)))[-1]
    before = view.samples.tobytes()
    LiveSmoother(SCREEN).smooth(view)
    assert view.samples.tobytes() == before


def test_a_sample_keeps_its_place_while_it_is_in_the_tail():
    x = np.linspace(100, 900, 40)
    smoother, seen = LiveSmoother(SCREEN), {}
    for view in views(x, x):
        for sample in smoother.smooth(view).samples:
            place = (float(sample["x_px"]), float(sample["y_px"]))
            assert seen.setdefault(int(sample["time_ns"]), place) == place


def test_lost_samples_stay_lost():
    x = np.array([10.0, np.nan, 12.0])
    out = LiveSmoother(SCREEN).smooth(list(views(x, x))[-1]).samples
    assert np.isnan(out["x_px"][1])
    assert np.isfinite(out["x_px"][2])


def test_a_source_that_starts_anew_starts_the_filter_anew():
    smoother = LiveSmoother(SCREEN)
    for view in views(np.full(9, 100.0), np.full(9, 100.0)):
        smoother.smooth(view)
    again = next(views(np.array([800.0]), np.array([700.0])))
    assert smoother.smooth(again).samples["x_px"][0] == pytest.approx(800)
