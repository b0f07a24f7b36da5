from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.processing.time_loss import (
    forward_rows,
    longest_gap_s,
    repeated_share,
    split_at_gaps,
    time_loss,
    typical_interval_ns,
    uneven_share,
)

MS = 1_000_000
CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"


def case(name: str):
    """Time in ns, x and y of one of the nasty recordings."""
    path = CASES / name
    if not path.exists():
        pytest.skip("the optional folder ../shared/cases is absent")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [[float(v) for v in row] for row in list(csv.reader(file))[1:] if row]
    t, x, y = np.array(rows).T
    return np.round(t * 1e9).astype(np.int64), x, y


def every(step_ms: float, n: int):
    return (np.arange(n) * step_ms * MS).astype(np.int64)


def test_no_loss_where_every_sample_came():
    t = every(20, 50)
    assert time_loss(t, np.ones(50, bool), 0, 1000 * MS) == 0.0
    assert longest_gap_s(t, np.ones(50, bool), 0, 1000 * MS) == pytest.approx(0.020)


def test_a_lost_sample_and_one_that_never_came_cost_the_same():
    """Ten samples of 20 ms out of a second: 200 of 1000 ms, whichever way they were lost."""
    t, seen = every(20, 50), np.ones(50, bool)
    seen[20:30] = False
    assert time_loss(t, seen, 0, 1000 * MS) == pytest.approx(0.2)
    came = np.delete(t, slice(20, 30))
    assert time_loss(came, np.ones(40, bool), 0, 1000 * MS) == pytest.approx(0.2)
    assert longest_gap_s(t, seen, 0, 1000 * MS) == pytest.approx(0.220)
    assert longest_gap_s(came, np.ones(40, bool), 0, 1000 * MS) == pytest.approx(0.220)


def test_time_before_the_first_and_after_the_last_sample_is_lost():
    t = every(20, 25) + 250 * MS
    assert time_loss(t, np.ones(25, bool), 0, 1000 * MS) == pytest.approx(0.5)
    assert longest_gap_s(t, np.ones(25, bool), 0, 1000 * MS) == pytest.approx(0.270)


def test_no_gaze_is_all_lost_and_no_time_is_no_share():
    t = every(20, 50)
    assert time_loss(t, np.zeros(50, bool), 0, 1000 * MS) == 1.0
    assert time_loss(t[:0], np.zeros(0, bool), 0, 1000 * MS) == 1.0
    assert longest_gap_s(t, np.zeros(50, bool), 0, 1000 * MS) == 1.0
    assert math.isnan(time_loss(t[:0], np.zeros(0, bool), 5, 5))
    assert math.isnan(typical_interval_ns(t[:1]))


def test_uneven_steps_are_counted_from_half_an_interval_on():
    t = np.cumsum([0, 20, 20, 20, 31, 20, 29, 9]) * MS
    assert uneven_share(t) == pytest.approx(2 / 7)
    assert math.isnan(uneven_share(t[:1]))


def test_R1_stamps_that_do_not_go_forward_are_left_out_and_nothing_is_sorted():
    t = np.array([10, 20, 20, 15, 30, 40, 25, 50])
    assert forward_rows(t).tolist() == [True, True, False, False, True, True, False, True]
    assert forward_rows(t[:0]).tolist() == []


def test_R1_the_case_with_two_bad_stamps():
    t, _, _ = case("gaze_duplicate_and_backward_stamp.csv")
    assert int((~forward_rows(t)).sum()) == 2


def test_C2_the_same_place_twice_is_counted_and_a_loss_is_no_step():
    x = np.array([1.0, 1.0, 2.0, np.nan, 2.0, 2.0])
    assert repeated_share(x, np.zeros(6)) == pytest.approx(2 / 3)
    assert repeated_share(x, np.arange(6.0)) == 0.0
    assert math.isnan(repeated_share(x[:1], x[:1]))


def test_C2_the_frozen_pointer_is_all_repeats():
    assert repeated_share(np.full(9, 3.0), np.full(9, 4.0)) == 1.0


def test_no_difference_bridges_frames_that_never_came():
    t = np.array([0, 10, 20, 60, 70]) * MS
    values = np.arange(5.0)[:, None]
    split = split_at_gaps(t, values, 10 * MS)
    assert np.isnan(split[:, 0]).tolist() == [False, False, False, True, False, False]
    assert split_at_gaps(t[:1], values[:1], 10 * MS).shape == (1, 1)
    assert split_at_gaps(t[:1], values[:1], math.nan).shape == (1, 1)
    every_second = split_at_gaps(2 * np.arange(5) * 10 * MS, values, 10 * MS)
    assert np.isnan(every_second[1::2]).all()


def test_a_burst_of_lost_samples_is_a_quarter_of_a_second():
    t, x, y = case("gaze_60hz_nan_burst_250ms.csv")
    seen = np.isfinite(x) & np.isfinite(y)
    offset = int(t[-1]) + 16_666_667
    assert int((~seen).sum()) / len(t) == pytest.approx(time_loss(t, seen, 0, offset), abs=0.002)
    assert longest_gap_s(t, seen, 0, offset) == pytest.approx(0.25, abs=0.02)


def test_E7_a_recording_without_gaze_has_finite_figures():
    t, x, y = case("gaze_60hz_all_nan.csv")
    seen = np.isfinite(x) & np.isfinite(y)
    assert time_loss(t, seen, 0, int(t[-1])) == 1.0
    assert longest_gap_s(t, seen, 0, int(t[-1])) == pytest.approx(t[-1] / 1e9)
    assert math.isnan(repeated_share(x, y))


def test_an_uneven_recording_is_told_as_uneven():
    t, _, _ = case("gaze_irregular_10_to_60hz.csv")
    assert uneven_share(t) > 0.2


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.data())
def test_losing_one_more_sample_never_lessens_the_loss(seen, data):
    t = every(20, len(seen))
    end = len(seen) * 20 * MS
    before = time_loss(t, np.array(seen), 0, end)
    k = data.draw(st.integers(0, len(seen) - 1))
    fewer = np.array(seen)
    fewer[k] = False
    assert time_loss(t, fewer, 0, end) >= before
    assert longest_gap_s(t, fewer, 0, end) >= longest_gap_s(t, np.array(seen), 0, end)


@given(st.lists(st.integers(1, 500), min_size=2, max_size=60), st.data())
def test_a_loss_is_a_share(steps, data):
    t = np.cumsum(steps).astype(np.int64) * MS
    seen = np.array(data.draw(st.lists(st.booleans(), min_size=len(t), max_size=len(t))))
    loss = time_loss(t, seen, 0, int(t[-1]) + data.draw(st.integers(1, 1000)) * MS)
    assert 0.0 <= loss <= 1.0
