import json
import math

import numpy as np
import pytest

from gazelab.processing import quality as q

NAN = math.nan


def on_the_plane(azimuth_deg, elevation_deg):
    """From azimuth and elevation (Fick) to degrees on each screen axis by its own tangent."""
    azimuth, elevation = np.radians(azimuth_deg), np.radians(elevation_deg)
    return np.degrees(azimuth), np.degrees(np.arctan(np.tan(elevation) / np.cos(azimuth)))


def test_accuracy_is_the_offset_of_the_mean_not_the_mean_of_the_offsets():
    x = np.array([-1.0, 1.0, -1.0, 1.0])
    assert q.accuracy_deg(x, np.zeros(4), 0.0, 0.0) == pytest.approx(0.0, abs=1e-9)
    assert q.accuracy_deg(x + 2, np.zeros(4), 0.0, 0.0) == pytest.approx(2.0, abs=2e-3)
    assert q.offset_deg(x + 2, np.full(4, -0.5), 0.0, 0.0) == (2.0, -0.5)


def test_accuracy_is_a_visual_angle():
    # A right angle's corner: straight ahead against 45 degrees right, then against (45 right, 45 up).
    assert q.accuracy_deg([0.0], [0.0], 45.0, 0.0) == pytest.approx(45.0)
    assert q.accuracy_deg([0.0], [0.0], 45.0, 45.0) == pytest.approx(math.degrees(math.atan(math.sqrt(2))))


def test_rms_s2s_never_bridges_a_gap():
    x = np.array([0.0, 1.0, NAN, 9.0, 10.0])
    assert q.precision_rms_s2s_deg(x, np.zeros(5)) == pytest.approx(1.0)
    assert math.isnan(q.precision_rms_s2s_deg([0.0, NAN, 5.0], [0.0, 0.0, 0.0]))


def test_sd_and_bcea_by_hand():
    x, y = np.array([0.0, 2, 0, 2, NAN]), np.array([0.0, 0, 2, 2, 1])
    assert q.precision_sd_deg(x, y) == pytest.approx(math.sqrt(2))
    # Uncorrelated, sample variances 4/3: 2 ln(1/.32) pi sqrt(16/9)
    assert q.precision_bcea_deg2(x, y) == pytest.approx(2 * math.log(1 / 0.32) * math.pi * 4 / 3)
    assert q.precision_bcea_deg2([0, 1, 2], [0, 1, 2]) == pytest.approx(0.0)


def test_data_loss_counts_a_sample_with_one_coordinate_as_lost():
    assert q.data_loss([0.0, NAN, 1.0, 2.0], [0.0, 0.0, NAN, 2.0]) == 0.5
    assert math.isnan(q.data_loss([], []))


def test_rates_come_from_the_stamps():
    t = np.array([0, 33, 67, 100, 100, 90, 133, 1000], np.int64) * 1_000_000  # bad stamps and a gap
    assert q.measured_rate_hz(t) == pytest.approx(30, rel=0.03)
    assert q.effective_rate_hz(t[:4], [0, 0, NAN, 0], [0, 0, NAN, 0]) == pytest.approx(30.0)
    assert q.data_loss_of_expected(t[:4], [0, 0, NAN, 0], [0, 0, NAN, 0], 60.0) == pytest.approx(0.5)


@pytest.mark.parametrize("claimed", [0, -1, NAN, math.inf, 90_000, 180_000])
def test_C20_what_a_device_claims_plays_no_part_in_the_rate(claimed):
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.normal(1 / 24, 0.004, 300) * 1e9).astype(np.int64)
    assert q.measured_rate_hz(t) == pytest.approx(24, rel=0.05), claimed


def test_without_samples_nothing_is_known():
    none = np.full(4, NAN)
    assert math.isnan(q.accuracy_deg(none, none, 0, 0))
    assert math.isnan(q.offset_deg(none, none, 0, 0)[0])
    assert math.isnan(q.precision_sd_deg(none, none))
    assert math.isnan(q.precision_bcea_deg2([0, 1], [0, 1]))
    assert math.isnan(q.measured_rate_hz([5]))
    assert math.isnan(q.effective_rate_hz([], [], []))
    assert math.isnan(q.data_loss_of_expected([1], [0], [0], 30))


def test_golden_values(shared_data):
    golden = json.loads((shared_data / "golden" / "golden.json").read_text())["data_quality"]["etdq"]
    i = np.arange(60)
    azimuth = 2 + 0.3 * np.sin(i / 3) + 0.05 * (-1.0) ** i
    elevation = -1 + 0.2 * np.cos(i / 4)
    for k in (10, 11, 12, 13, 40):
        azimuth[k] = elevation[k] = NAN
    t = np.round(np.round(i * 1000 / 60 + (i % 3) * 1.5, 3) * 1e6).astype(np.int64)
    x, y = on_the_plane(azimuth, elevation)
    target = on_the_plane(2.5, -1.2)
    assert q.accuracy_deg(x, y, *target) == pytest.approx(golden["accuracy"][0], abs=1e-6)
    assert q.precision_rms_s2s_deg(azimuth, elevation) == pytest.approx(golden["rms_s2s"][0], abs=1e-6)
    assert q.precision_sd_deg(azimuth, elevation) == pytest.approx(golden["std"][0], abs=1e-6)
    assert q.precision_bcea_deg2(azimuth, elevation) == pytest.approx(golden["bcea_068"][0], abs=1e-6)
    assert 100 * q.data_loss(x, y) == pytest.approx(golden["data_loss_invalid"], abs=1e-6)
    expected = 100 * q.data_loss_of_expected(t, x, y, 60)
    assert expected == pytest.approx(golden["data_loss_expected"], abs=1e-6)
    assert q.effective_rate_hz(t, x, y) == pytest.approx(golden["effective_frequency"], abs=1e-6)
