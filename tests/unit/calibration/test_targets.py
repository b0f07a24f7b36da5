import numpy as np
import pytest

from gazelab.calibration.targets import LAYOUTS, calibration_targets, validation_targets
from gazelab.core.errors import CalibrationError


@pytest.mark.parametrize("points", sorted(LAYOUTS))
def test_G2_the_grid_reaches_the_corners_of_the_area(points, screen):
    area = (300.0, 100.0, 1000.0, 800.0)

    targets = calibration_targets(points, screen, area)

    assert len(targets) == points
    places = {(t.x_px, t.y_px) for t in targets}
    assert {(324.0, 124.0), (1276.0, 124.0), (324.0, 876.0), (1276.0, 876.0)} <= places


@pytest.mark.parametrize("points", sorted(LAYOUTS))
def test_validation_targets_lie_away_from_every_calibration_target(points, screen):
    grid = np.array([(t.x_px, t.y_px) for t in calibration_targets(points, screen)])

    for held_out in validation_targets(7, screen):
        assert np.hypot(*(grid - (held_out.x_px, held_out.y_px)).T).min() > 90


def test_the_whole_screen_is_the_default_area(screen):
    first = calibration_targets(5, screen)[0]
    assert (first.x_px, first.y_px) == pytest.approx((32.4, 32.4))


def test_targets_are_numbered_in_reading_order(screen):
    targets = calibration_targets(9, screen)
    assert [t.index for t in targets] == list(range(9))
    assert (targets[4].x_px, targets[4].y_px) == (960, 540)


def test_other_numbers_of_points_are_refused(screen):
    with pytest.raises(CalibrationError, match=r"no layout of 7 points.*5, 9, 13 or 16"):
        calibration_targets(7, screen)
    with pytest.raises(CalibrationError, match="choose 3 to 7"):
        validation_targets(2, screen)


@pytest.mark.parametrize("area", [(-1, 0, 100, 100), (1900, 0, 100, 100), (0, 0, 0, 100)])
def test_an_area_off_the_screen_is_refused(area, screen):
    with pytest.raises(CalibrationError, match="isn't on the screen"):
        calibration_targets(9, screen, area)
