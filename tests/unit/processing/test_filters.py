import math

import numpy as np
import pytest

from gazelab.core.geometry import Screen
from gazelab.processing.filters import DisplayFilter, OneEuro


def smoothed(rate_hz, x_deg, **settings):
    one_euro = OneEuro(**settings)
    return np.array([one_euro(round(i / rate_hz * 1e9), float(x), 0.0)[0] for i, x in enumerate(x_deg)])


def lag_s(rate_hz, **settings):
    """Time until a step of 10 degrees is half done on the screen."""
    n = 2 * rate_hz
    out = smoothed(rate_hz, np.where(np.arange(n) < rate_hz, 0.0, 10.0), **settings)
    return (np.argmax(out >= 5.0) - rate_hz) / rate_hz


@pytest.mark.parametrize("settings", [{}, {"beta_per_deg": 0.007}])
def test_G16_a_step_lags_as_long_at_30_hz_as_at_120_hz(settings):
    assert abs(lag_s(30, **settings) - lag_s(120, **settings)) <= 1 / 30


def test_G16_the_defaults_follow_a_saccade_within_a_frame_and_the_usual_beta_does_not():
    assert lag_s(30) <= 0.034
    assert lag_s(30, beta_per_deg=0.007) >= 0.1


def test_G16_noise_at_rest_is_damped():
    noise = np.random.default_rng(0).normal(0, 0.5, 600)
    assert smoothed(30, noise)[30:].std() < 0.75 * 0.5
    assert smoothed(120, noise)[120:].std() < 0.5 * 0.5


def test_G16_the_input_is_not_touched():
    x = np.arange(5.0)
    kept = x.copy()
    smoothed(30, x)
    assert x.tobytes() == kept.tobytes()


def test_both_axes_share_the_cutoff_so_a_straight_way_stays_straight():
    one_euro = OneEuro()
    for i, (x, y) in enumerate([(0, 0), (0, 0), (8, 4), (8, 4)]):
        out = one_euro(i * 33_333_333, x, y)
        assert out[1] == pytest.approx(out[0] / 2)


def test_lost_gaze_stays_lost_and_a_long_loss_starts_afresh():
    one_euro = OneEuro()
    assert one_euro(0, 1.0, 1.0) == (1.0, 1.0)
    assert all(math.isnan(v) for v in one_euro(33_000_000, math.nan, 1.0))
    assert one_euro(66_000_000, 1.5, 1.0)[0] < 1.5  # goes on from before
    assert one_euro(466_000_000, 9.0, 9.0) == (9.0, 9.0)


def test_a_stamp_that_does_not_move_forward_changes_nothing():
    one_euro = OneEuro()
    one_euro(100, 1.0, 1.0)
    assert one_euro(100, 5.0, 5.0) == (1.0, 1.0)
    assert one_euro(50, 5.0, 5.0) == (1.0, 1.0)


def test_reset_forgets():
    one_euro = OneEuro()
    one_euro(0, 1.0, 1.0)
    one_euro.reset()
    assert one_euro(10_000_000, 7.0, 7.0) == (7.0, 7.0)


@pytest.mark.parametrize("settings", [{"min_cutoff_hz": 0}, {"beta_per_deg": -1}, {"speed_cutoff_hz": 0}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError):
        OneEuro(**settings)


def test_on_screen_px_the_filter_is_the_same_whatever_the_resolution():
    small, large = (Screen("s", 960 * k, 540 * k, 344.0, 193.5, 600.0) for k in (1, 4))
    one, other = DisplayFilter(small), DisplayFilter(large)
    for i, share in enumerate([0.2, 0.2, 0.21, 0.6, 0.6, 0.59]):
        x, y = one(i * 33_333_333, 960 * share, 270.0)
        x4, y4 = other(i * 33_333_333, 3840 * share, 1080.0)
        assert (x4, y4) == pytest.approx((4 * x, 4 * y))
    one.reset()
    assert one(10**9, 100.0, 100.0) == pytest.approx((100.0, 100.0))
