"""The synthetic participant calibrates in every way; a small area keeps it short."""

from __future__ import annotations

import numpy as np
import pytest

from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.result import CalibrationState
from gazelab.core.geometry import Screen
from gazelab.pipeline.head_motion import READING_MOTION, head_motion_table, measure_head_motion
from gazelab.pipeline.synthetic_subject import SyntheticSubject

SCREEN = Screen("test", 1920, 1080, 344, 194, 600)
MIDDLE = (480.0, 270.0, 960.0, 540.0)


@pytest.mark.slow
def test_a_moving_target_and_a_moving_head_calibrate_the_synthetic_participant():
    subject = SyntheticSubject(SCREEN, 4)
    procedure = CalibrationProcedure(SCREEN, style="pursuit", head_phase=True, area=MIDDLE, seed=4)
    with subject.gaze:
        subject.script.look_at(960, 540, subject.clock())
        got = subject.calibrate(procedure, lambda text: None)

    assert got.state in (CalibrationState.VALID, CalibrationState.REVIEW)
    assert got.validation.accuracy_deg < 2.0
    assert got.redo == ()
    assert got.run.lag_estimated
    assert 60 <= got.run.lag_ns / 1e6 <= 180  # it trails by 110 ms
    assert got.run.n_followed > 0.75 * got.run.n_open  # the rest: blinks' edges, corners, catching up
    assert got.head.moves
    assert got.head.yaw_range_deg > 12
    low, high = got.head_box.x_mm
    assert high - low > 100  # it leaned by 45 mm to both sides


@pytest.mark.slow
def test_G1_the_heads_part_takes_most_of_a_moving_heads_error_away():
    """+-10 degrees and +-40 mm while reading; the full figures are in the benchmark."""
    got = measure_head_motion(1, screen=SCREEN, seconds=8)

    assert got["moving_head_phase"]["median_deg"] < 0.5 * got["moving"]["median_deg"]
    assert got["still_head_phase"]["median_deg"] < 1.3 * got["still"]["median_deg"]
    assert got["still"]["outside"] == 0
    assert got["moving"]["outside"] > 0.5  # without the head's part the operator is warned
    assert got["moving_head_phase"]["outside"] < got["moving"]["outside"]
    assert got["growth"] == pytest.approx(
        got["moving_head_phase"]["median_deg"] / got["still"]["median_deg"] - 1
    )
    assert np.abs(READING_MOTION.as_array()).tolist() == [10, 10, 5, 40, 40, 40]
    assert head_motion_table([got]).splitlines()[-1].startswith("mean")
