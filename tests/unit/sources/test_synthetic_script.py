from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.gaze import EventKind
from gazelab.core.geometry import Screen
from gazelab.sources.synthetic_script import BLINK_NS, GazeScript, Look, random_blinks

MS = 1_000_000
SCREEN = Screen("test", 1920, 1080, 344, 194, 600)


def three_looks() -> GazeScript:
    return GazeScript(
        SCREEN,
        [
            Look(0, 300 * MS, 200, 300),
            Look(340 * MS, 600 * MS, 900, 300),
            Look(3000 * MS, 3400 * MS, 100, 900),
        ],
        blinks=[(1000 * MS, 1250 * MS)],
    )


def test_the_eye_is_where_the_script_says():
    script = three_looks()
    assert script.position(-5 * MS) == (200, 300)
    assert script.position(299 * MS) == (200, 300)
    assert script.position(340 * MS) == (900, 300)
    assert script.position(500 * MS) == (900, 300)
    assert script.position(2000 * MS) == (900, 300), "in a long pause the eye waits; it doesn't drift"
    assert script.position(9000 * MS) == (100, 900)


def test_a_saccade_goes_straight_there_and_never_back():
    script = three_looks()
    x = np.array([script.position(t * MS)[0] for t in range(295, 345)])
    assert (np.diff(x) >= 0).all()
    assert 200 < script.position(325 * MS)[0] < 900


def test_the_truth_names_fixations_and_blinks_and_ends_a_fixation_when_the_eye_leaves():
    events = three_looks().truth(0, 3200 * MS)
    fixations = events[events["kind"] == EventKind.FIXATION]
    assert fixations["onset_ns"].tolist() == [0, 340 * MS, 3000 * MS]
    assert fixations["x_px"].tolist() == [200, 900, 100]
    offsets = fixations["offset_ns"] / MS
    assert 300 <= offsets[0] < 340
    assert 2900 < offsets[1] < 2960, "a saccade of 27 degrees takes about 80 ms"
    assert offsets[2] == 3200, "cut at the end of what was seen"
    blinks = events[events["kind"] == EventKind.BLINK]
    assert blinks["onset_ns"].tolist() == [1000 * MS]
    assert np.isnan(blinks["x_px"]).all()
    assert len(three_looks().truth(400 * MS, 900 * MS)) == 1


def test_a_target_that_appears_is_reached_after_a_reaction_and_a_saccade():
    script = GazeScript(SCREEN)
    with pytest.raises(ValueError, match="no fixation"):
        script.position(0)
    script.look_at(100, 100, 0)
    look = script.look_at(900, 100, 1000 * MS)
    assert script.position(1199 * MS) == (100, 100)
    assert 1220 * MS < look.onset_ns < 1290 * MS
    assert script.position(look.onset_ns) == (900, 100)
    script.look_at(500, 500, 1010 * MS)
    assert script.position(5000 * MS) == (500, 500), "a change of mind before the eye has moved"
    events = script.truth(0, 5000 * MS)
    assert (events["offset_ns"] >= events["onset_ns"]).all()
    assert (events["onset_ns"][1:] >= events["offset_ns"][:-1]).all()


def test_looks_out_of_order_are_refused():
    script = three_looks()
    with pytest.raises(ValueError, match="order"):
        script.add(Look(3300 * MS, 3500 * MS, 0, 0))
    with pytest.raises(ValueError, match="order"):
        script.add(Look(5000 * MS, 4000 * MS, 0, 0))


def test_lids_close_stay_shut_and_open_again():
    script = three_looks()
    level = [script.lid_closure(t * MS) for t in (999, 1000, 1037, 1075, 1140, 1200, 1250, 1251)]
    assert level[0] == level[1] == level[6] == level[7] == 0
    assert 0.4 < level[2] < 0.6
    assert level[3] == level[4] == 1
    assert 0 < level[5] < 1


@given(rate=st.floats(2, 30), seed=st.integers(0, 1000))
def test_random_blinks_never_touch_and_stay_inside(rate, seed):
    blinks = random_blinks(5, 5 + 120_000 * MS, rate, np.random.default_rng(seed))
    edges = np.array(blinks, np.int64).reshape(-1, 2)
    assert (edges[:, 1] - edges[:, 0] == BLINK_NS).all()
    assert (edges[1:, 0] - edges[:-1, 1] >= 499 * MS).all()
    assert (edges >= 5).all()
    assert (edges < 5 + 120_000 * MS).all()


def test_random_blinks_keep_their_rate():
    blinks = random_blinks(0, 3_600_000 * MS, 12, np.random.default_rng(0))
    assert len(blinks) / 60 == pytest.approx(12, rel=0.1)
    assert random_blinks(0, 60_000 * MS, 0, np.random.default_rng(0)) == []


def test_a_moving_target_is_followed_with_a_lag_and_is_no_fixation():
    script = GazeScript(SCREEN, [Look(0, 10_000 * MS, 960, 540)])
    script.follow(lambda t: (100 + t / MS * 0.3, 500.0), 1000 * MS, lag_ns=100 * MS)
    assert script.position(1100 * MS) == (960, 540), "a reaction takes time"
    for t in (1500, 2000, 4000):
        assert script.position(t * MS) == pytest.approx((100 + (t - 100) * 0.3, 500.0))
    script.look_at(960, 540, 5000 * MS)
    assert script.position(6000 * MS) == (960, 540)
    fixations = script.truth(0, 6000 * MS)
    assert fixations["x_px"].tolist() == [960, 960]
    x = np.array([script.position(t * MS)[0] for t in range(1190, 1290)])
    assert np.abs(np.diff(x)).max() < 40, "a saccade brings the eye to it"


def test_the_eye_leaves_its_place_when_told_to():
    script = GazeScript(SCREEN)
    script.look_at(960, 540, 0)
    script.leave(1000 * MS)
    script.add(Look(1100 * MS, 1500 * MS, 100, 100))
    assert script.position(900 * MS) == (960, 540)
    assert script.position(1200 * MS) == (100, 100)
