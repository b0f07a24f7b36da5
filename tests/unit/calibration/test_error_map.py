from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.calibration.error_map import PlacedError, error_map, left_out_deg
from gazelab.core.geometry import Screen

SCREEN = Screen("laptop", 1920, 1080, 345, 194, 600)
NAN = float("nan")


def held_out(x, y, px, deg):
    return PlacedError(x, y, px, deg, True)


def left_out(x, y, px, deg):
    return PlacedError(x, y, px, deg, False)


def test_G2_each_region_has_the_mean_of_its_own_targets():
    made = error_map(SCREEN, [
        held_out(100, 100, 80, 2.0), held_out(300, 200, 40, 1.0), held_out(960, 540, 20, 0.5),
        held_out(1900, 1070, 200, 5.0),
    ])  # fmt: skip
    assert made.error_px[0, 0] == 60
    assert made.error_deg[0, 0] == 1.5
    assert made.error_px[1, 1] == 20
    assert made.error_px[2, 2] == 200
    assert made.n.tolist() == [[2, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_a_left_out_target_counts_only_where_no_validation_target_lies():
    made = error_map(SCREEN, [
        held_out(100, 100, 40, 1.0), left_out(60, 60, 400, 9.0), left_out(1860, 60, 300, 7.0),
        held_out(960, 540, NAN, NAN), left_out(960, 500, 30, 0.7),
    ])  # fmt: skip
    assert made.error_px[0, 0] == 40
    assert made.error_px[0, 2] == 300
    assert made.error_px[1, 1] == 30, "a validation target without data says nothing"
    assert made.held_out[0, 0]
    assert made.held_out.sum() == 1


def test_a_region_without_data_is_nan_and_never_0():
    made = error_map(SCREEN, [held_out(100, 100, NAN, NAN), left_out(960, 540, 0.0, 0.0)])
    assert np.isnan(made.error_px[0, 0])
    assert made.n[0, 0] == 0
    assert made.error_px[1, 1] == 0.0
    assert np.isnan(made.error_px).sum() == 8
    told = json.loads(json.dumps(made.to_mapping(), allow_nan=False))
    assert told["error_px"][0] == [None, None, None]
    assert told["error_px"][1][1] == 0.0
    assert told["held_out"][1][1] is False


def test_without_degrees_the_px_are_there_all_the_same():
    made = error_map(Screen("s", 300, 300), [held_out(10, 10, 5, NAN)])
    assert made.error_px[0, 0] == 5
    assert np.isnan(made.error_deg).all()
    assert made.n[0, 0] == 1


def test_G25_a_target_off_the_screen_is_in_no_region():
    made = error_map(SCREEN, [held_out(1920, 540, 5, 1), left_out(-1, 540, 5, 1)])
    assert made.n.sum() == 0


@given(st.lists(st.tuples(st.floats(0, 1919), st.floats(0, 1079), st.floats(0, 500)), max_size=30))
def test_no_target_on_the_screen_is_lost_and_means_lie_among_errors(places):
    errors = [held_out(x, y, e, e / 40) for x, y, e in places]
    made = error_map(SCREEN, errors)
    assert made.n.sum() == len(errors)
    if errors:
        known = made.error_px[made.n > 0]
        assert known.min() >= min(e.error_px for e in errors) - 1e-6
        assert known.max() <= max(e.error_px for e in errors) + 1e-6


def test_left_out_px_become_degrees_by_the_screen():
    centre = left_out_deg(SCREEN, 960, 540, SCREEN.px_per_deg())
    assert centre == pytest.approx(1.0, abs=0.01)
    assert left_out_deg(SCREEN, 60, 540, SCREEN.px_per_deg()) < centre, "px cover fewer degrees at the edge"
    assert np.isnan(left_out_deg(Screen("s", 300, 300), 10, 10, 5))
    assert np.isnan(left_out_deg(SCREEN, 960, 540, NAN))
