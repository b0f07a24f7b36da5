from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Screen
from gazelab.processing.shifts import PLACES, Shift, move_deg, move_px, shifted

SCREEN = Screen("laptop", 1920, 1080, 345.0, 194.0, 600.0, "card")


def gaze(n: int = 5):
    rows = empty_gaze(n)
    rows["time_ns"] = np.arange(n) * 10
    for x, y in PLACES:
        rows[x], rows[y] = 960.0, 540.0
    rows["valid"] = True
    return rows


def test_each_sample_has_the_last_shift_that_had_begun():
    rows = gaze()
    out = shifted(rows, [Shift(10, 5, -7), Shift(30, 0, 0), Shift(40, 1, 2)])
    assert out["x_px"].tolist() == [960, 965, 965, 960, 961]
    assert out["y_px"].tolist() == [540, 533, 533, 540, 542]
    assert out["left_x_px"].tolist() == out["right_x_px"].tolist() == out["x_px"].tolist()
    assert rows.tobytes() == gaze().tobytes(), "what was measured is not touched"


def test_without_a_shift_nothing_is_copied():
    rows = gaze()
    assert shifted(rows, []) is rows


def test_sample_by_sample_gives_the_same_bits_as_all_at_once():
    rows = gaze(50)
    rng = np.random.default_rng(1)
    rows["x_px"], rows["y_px"] = rng.normal(900, 300, 50), rng.normal(500, 200, 50)
    shifts = [Shift(100, 0.1, -3.3), Shift(333, 17.123456789, 2e-3)]
    single = np.concatenate([shifted(rows[k : k + 1], shifts) for k in range(50)])
    assert single.tobytes() == shifted(rows, shifts).tobytes()


def test_lost_gaze_stays_lost():
    rows = empty_gaze(3)
    out = shifted(rows, [Shift(0, 5, 5)])
    assert np.isnan(out["x_px"]).all()
    assert not out["valid"].any()


def test_a_shift_in_degrees_goes_right_and_down_like_one_in_px():
    by_px, by_deg = gaze(), gaze()
    move_px(by_px, SCREEN.px_per_deg(), SCREEN.px_per_deg())
    move_deg(by_deg, 1.0, 1.0, SCREEN)
    assert by_deg["x_px"][0] == pytest.approx(by_px["x_px"][0], abs=0.1)
    assert by_deg["y_px"][0] == pytest.approx(by_px["y_px"][0], abs=0.3)


def test_a_degree_covers_more_px_at_the_edge():
    rows = gaze()
    rows["x_px"] = 1900.0
    move_deg(rows, 1.0, 0.0, SCREEN)
    assert rows["x_px"][0] - 1900 > SCREEN.px_per_deg() * 1.05


def test_gaze_that_would_turn_away_from_the_screen_is_lost_and_not_mirrored():
    gaze = empty_gaze(3)
    gaze["x_px"], gaze["y_px"], gaze["valid"] = (10.0, 960.0, 1910.0), 540.0, True
    move_deg(gaze, 80.0, 0.0, SCREEN)
    assert gaze["valid"].tolist() == [True, True, False]
    assert np.isnan(gaze["x_px"][2])
    assert (gaze["x_px"][:2] > 1920).all()
