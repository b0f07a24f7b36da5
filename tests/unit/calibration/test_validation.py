from dataclasses import asdict

import numpy as np
import pytest

from gazelab.calibration.collect import Collected
from gazelab.calibration.prediction import Prediction
from gazelab.calibration.targets import Target, TargetKind
from gazelab.calibration.validation import Validation, validate
from gazelab.core.errors import CalibrationError
from gazelab.core.gaze import empty_features
from gazelab.core.geometry import Screen

NAN = float("nan")


class _Told:
    """A mapping that says what the head's place in the record says."""

    def predict(self, rows):
        x, y = rows["head_mm"][:, 0].astype(float), rows["head_mm"][:, 1].astype(float)
        nothing = np.full(len(rows), NAN)
        return Prediction(x, y, *[nothing] * 4, np.ones(len(rows)), np.isfinite(x))


def _collected(index, target, gaze, lost=0):
    rows = empty_features(len(gaze))
    rows["time_ns"] = np.arange(len(gaze)) * 20_000_000
    if len(gaze):
        rows["head_mm"][:, :2] = gaze
    usable = np.isfinite(np.array(gaze, float).reshape(-1, 2)).all(1)
    place = Target(index, *target, TargetKind.VALIDATION)
    n = int(usable.sum())
    return Collected(place, rows, usable, len(gaze) + lost, n, True)


def test_one_target_by_hand(screen):
    """Gaze 100, 104, 100 at a target at 110: mean off by 8.67 px, steps of 4 px."""
    got = validate(_Told(), [_collected(0, (110.0, 50.0), [(100, 50), (104, 50), (100, 50)], lost=1)], screen)

    one = got.targets[0]
    assert one.accuracy_px == pytest.approx(110 - 304 / 3)
    assert one.rms_s2s_px == pytest.approx(4)
    assert one.sd_px == pytest.approx(np.std([100, 104, 100]))
    assert one.data_loss == pytest.approx(0.25)
    assert one.n_samples == 3
    assert got.rate_hz == pytest.approx(50)


def test_G13_accuracy_in_degrees_of_a_known_offset(screen):
    """37.87 px at the middle of a screen of 531 mm / 1920 px at 600 mm are one degree."""
    got = validate(_Told(), [_collected(0, (960.0, 540.0), [(960 + 37.87, 540)] * 5)], screen)
    assert got.accuracy_deg == pytest.approx(1.0, abs=0.02)


def test_accuracy_is_the_offset_of_the_mean_not_the_mean_of_offsets(screen):
    gaze = [(940, 540), (980, 540), (960, 520), (960, 560)]
    got = validate(_Told(), [_collected(0, (960.0, 540.0), gaze)], screen)
    assert got.accuracy_px == pytest.approx(0, abs=1e-9)
    assert got.accuracy_deg == pytest.approx(0, abs=1e-3)
    assert got.sd_px == pytest.approx(20)


def test_rms_never_bridges_a_gap(screen):
    gaze = [(100, 50), (103, 50), (NAN, NAN), (203, 50), (206, 50)]
    got = validate(_Told(), [_collected(0, (100.0, 50.0), gaze)], screen)
    assert got.rms_s2s_px == pytest.approx(3)


def test_no_data_is_nan_never_zero(screen):
    got = validate(_Told(), [_collected(i, (100.0 * i, 50.0), [], lost=20) for i in range(4)], screen)
    for name, value in asdict(got).items():
        if name not in ("targets", "n_with_data", "data_loss", "screen_width_px"):
            assert np.isnan(value), name
    assert got.n_with_data == 0
    assert got.data_loss == 1
    assert np.isnan(got.targets[2].accuracy_px)


def test_a_target_without_data_is_left_out_of_the_means(screen):
    good = [_collected(i, (400.0 * i, 300.0), [(400 * i + 10, 300)] * 3) for i in range(3)]
    got = validate(_Told(), [*good, _collected(3, (0.0, 0.0), [], lost=9)], screen)
    assert got.accuracy_px == pytest.approx(10)
    assert got.n_with_data == 3
    assert got.data_loss == pytest.approx(0.5)


def test_G2_slope_and_edge_error_of_shrunk_gaze(screen):
    places = [(100.0, 100.0), (1820.0, 100.0), (960.0, 540.0), (960.0, 900.0)]
    shrunk = [
        _collected(i, (x, y), [(960 + 0.7 * (x - 960), 540 + 0.8 * (y - 540))] * 3)
        for i, (x, y) in enumerate(places)
    ]
    got = validate(_Told(), shrunk, screen)
    assert (got.slope_x, got.slope_y) == pytest.approx((0.7, 0.8), abs=1e-4)
    assert got.edge_accuracy_px > got.accuracy_px > 0


def test_a_screen_of_unknown_size_has_px_only():
    bare = Screen("bare", 1920, 1080)
    got = validate(_Told(), [_collected(0, (110.0, 50.0), [(100, 50), (104, 50)])], bare)
    assert np.isnan([got.accuracy_deg, got.rms_s2s_deg, got.sd_deg, got.targets[0].accuracy_deg]).all()
    assert np.isfinite([got.accuracy_px, got.rms_s2s_px, got.sd_px]).all()


def test_json_round_trip_keeps_nan(screen):
    before = validate(
        _Told(), [_collected(0, (110.0, 50.0), [(100, 50)]), _collected(1, (9.0, 9.0), [])], screen
    )
    values = before.to_mapping()
    assert values["slope_x"] is None
    assert values["targets"][1]["accuracy_px"] is None

    after = Validation.from_mapping(values)
    np.testing.assert_equal(asdict(after), asdict(before))


@pytest.mark.parametrize("broken", [{}, {"targets": 3}, None, {"targets": [{}]}])
def test_a_broken_validation_is_refused(broken):
    with pytest.raises(CalibrationError, match="validation is broken"):
        Validation.from_mapping(broken)
