import numpy as np
import pytest

from gazelab.core.geometry import Screen
from gazelab.processing.events_saccades import impossible_mask

SCREEN = Screen("laptop", 1920, 1080, 527.0, 296.0, 600.0)


@pytest.mark.parametrize("rate", [30, 60, 500])
def test_E8_a_one_sample_spike_is_flagged_and_no_neighbour(scanpath, rate):
    path = scanpath(rate)
    assert not impossible_mask(*path.columns, SCREEN).any()
    k = round(1.4 * rate)
    x = path.x_px.copy()
    x[k] += 2000
    assert np.flatnonzero(impossible_mask(path.time_ns, x, path.y_px, SCREEN)).tolist() == [k]


def test_E8_a_jump_that_stays_is_flagged_until_an_eye_could_have_come(scanpath):
    path = scanpath(500, noise_px=0.0)
    x = np.where(path.time_ns > 2.0e9, path.x_px + 700, path.x_px)
    flagged = impossible_mask(path.time_ns, x, path.y_px, SCREEN)
    way_deg = np.ptp(np.concatenate(SCREEN.to_deg(x[[1000, 1001]], path.y_px[[1000, 1001]])).reshape(2, 2)[0])
    last = int(np.ceil(way_deg / 1000 * 500)) - 1
    assert np.flatnonzero(flagged).tolist() == list(range(1001, 1001 + last))


def test_E8_noise_losses_and_bad_stamps_are_not_taken_for_speed(scanpath):
    path = scanpath(500, noise_px=40.0)  # neighbours differ by 1.6 degrees in 2 ms
    assert impossible_mask(*path.columns, SCREEN).mean() < 0.001
    path = scanpath(60).lost(1.0, 1.2)
    t = path.time_ns.copy()
    t[20], t[100:] = t[19], t[100:] - 50_000_000_000
    assert not impossible_mask(t, path.x_px, path.y_px, SCREEN).any()
    assert impossible_mask([], [], [], SCREEN).tolist() == []
    assert impossible_mask([1], [5.0], [5.0], SCREEN).tolist() == [False]
