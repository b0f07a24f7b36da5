import numpy as np
import pytest

from gazelab.calibration.collect import MS, TargetCollector, Timing, iris_place, rest
from gazelab.calibration.targets import Target, TargetKind
from gazelab.core.gaze import FEATURE_DTYPE

TARGET = Target(4, 960.0, 540.0, TargetKind.CALIBRATION)
FRAME_NS = 33 * MS


def _feed(collector, rows, start_ns=FRAME_NS):
    """Give rows 33 ms apart until the collector is done; return the time."""
    time_ns = start_ns
    for row in rows:
        row["time_ns"] = time_ns
        collector.add(row, time_ns)
        if collector.finished(time_ns):
            break
        time_ns += FRAME_NS
    return time_ns


@pytest.fixture
def collector():
    timing = Timing()
    return TargetCollector(TARGET, timing, onset_ns=0, settle_ns=timing.settle_ns)


def test_it_goes_on_after_settling_and_one_calm_stretch(collector, eyes):
    end_ns = _feed(collector, [eyes.row(3, 2) for _ in range(200)])

    got = collector.collected()
    assert 1400 * MS < end_ns < 1600 * MS
    assert got.rested
    assert got.usable.all()
    assert 20 <= len(got.rows) <= 25
    assert got.n_seen == got.n_usable


def test_samples_before_settling_do_not_count(collector, eyes):
    """The eyes still rest on the last target for 600 ms."""
    rows = [eyes.row(-15, 0) for _ in range(18)] + [eyes.row(10, 0) for _ in range(100)]
    _feed(collector, rows)
    assert iris_place(collector.collected().rows)[:, 0].min() > 0.05


def test_moving_gaze_is_not_taken_until_it_rests(collector, eyes):
    wander = [eyes.row(18 * np.sin(i / 4), 0) for i in range(90)]
    end_ns = _feed(collector, wander + [eyes.row(5, 0) for _ in range(60)])
    assert end_ns > 3500 * MS
    assert collector.collected().rested
    assert np.ptp(iris_place(collector.collected().rows)[:, 0]) < 0.03


def test_gaze_that_never_rests_ends_at_the_limit_with_the_calmest_stretch(collector, eyes):
    end_ns = _feed(collector, [eyes.row(18 * np.sin(i / 4), 0) for i in range(600)])
    got = collector.collected()
    assert end_ns == pytest.approx(7700 * MS, abs=FRAME_NS)
    assert not got.rested
    assert len(got.rows) > 8


def test_a_noisy_camera_is_not_taken_for_moving_gaze(collector, eyes):
    eyes.noise = 8.0
    _feed(collector, [eyes.row(3, 2) for _ in range(200)])
    assert collector.collected().rested


def test_blinks_and_what_lies_around_them_are_dropped(collector, eyes):
    rows = [eyes.row(3, 2) for _ in range(200)]
    for i in (30, 31):
        rows[i] = eyes.row(3, 2, shut=(True, True))
    _feed(collector, rows)
    got = collector.collected()
    frames = got.rows["time_ns"] // FRAME_NS
    # Frames 31 and 32 are shut; 100 ms on each side are three frames.
    assert frames[~got.usable].tolist() == [f for f in range(28, 36) if f in frames]
    assert 33 in frames


def test_faces_that_are_lost_are_kept_as_lost_not_learnt_from(collector, eyes):
    rows = [eyes.row(3, 2) for _ in range(200)]
    for i in (26, 33):
        rows[i]["valid"] = False
    _feed(collector, rows)
    got = collector.collected()
    assert got.rested
    assert (~got.usable).tolist() == (~got.rows["valid"]).tolist()


def test_without_a_face_there_is_no_data_at_the_limit(collector, eyes):
    rows = [eyes.row(3, 2) for _ in range(300)]
    for row in rows:
        row["valid"] = False
    _feed(collector, rows)
    got = collector.collected()
    assert got.n_usable == 0
    assert not got.has_data(Timing())


def test_G10_three_samples_are_too_few(collector, eyes):
    rows = [eyes.row(3, 2) for _ in range(300)]
    for row in rows[:200] + rows[203:]:
        row["valid"] = False
    _feed(collector, rows)
    got = collector.collected()
    assert got.n_usable == 3
    assert not got.has_data(Timing())


def test_stamps_that_do_not_grow_are_left_out(collector, eyes):
    for time_ns in (800, 833, 833, 820, 866):
        collector.add(eyes.row(0, 0), time_ns * MS)
    assert collector.collected().n_seen == 3


def test_waiting_for_the_key_has_no_limit_and_takes_what_follows(eyes):
    collector = TargetCollector(TARGET, Timing(), 0, 700 * MS, wait_for_key=True)
    wander = [eyes.row(18 * np.sin(i / 4), 0) for i in range(900)]
    _feed(collector, wander)
    assert not collector.finished(10**11)
    assert collector.collected().n_seen == 0

    collector.press(40_000 * MS)
    _feed(collector, [eyes.row(18 * np.sin(i / 4), 0) for i in range(60)], start_ns=40_000 * MS)

    got = collector.collected()
    assert got.rested  # on the participant's word
    assert got.has_data(Timing())


def test_a_slow_camera_gets_a_longer_stretch(collector, eyes):
    for i in range(60):
        collector.add(eyes.row(3, 2), i * 200 * MS)
        if collector.finished(i * 200 * MS):
            break
    assert collector.collected().usable.sum() == 8


def test_rest_measures_the_larger_spread(eyes):
    rows = np.array([eyes.row(x, 0) for x in (-10, 10) * 10], FEATURE_DTYPE)
    spread, rests = rest(rows)
    assert spread == pytest.approx(0.075, abs=0.005)
    assert not rests


def test_the_irises_place_is_of_open_eyes_only(eyes):
    rows = np.array([eyes.row(0, 0), eyes.row(0, 0, shut=(True, True)), eyes.row(0, 0, shut=(True, False))])
    rows["iris"] = [[0.1, 0.0], [0.3, 0.2]]
    np.testing.assert_allclose(iris_place(rows), [[0.2, 0.1], [np.nan, np.nan], [0.3, 0.2]], atol=1e-6)
