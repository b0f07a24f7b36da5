from dataclasses import replace

import numpy as np
import pytest

from gazelab.calibration.collect import MS
from gazelab.calibration.head_box import MARGIN, HeadBox, HeadWatch
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.core.errors import CalibrationError
from gazelab.core.gaze import empty_features

S = 1000 * MS


def heads(*poses):
    """Records of heads at (yaw, pitch, roll, x, y, z)."""
    rows = empty_features(len(poses))
    for row, pose in zip(rows, poses, strict=True):
        row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = pose[:3]
        row["head_mm"] = pose[3:]
        row["valid"] = True
    return rows


BOX = HeadBox((-10, 10), (-5, 5), (-5, 5), (-30, 30), (-20, 20), (500, 600))
MIDDLE = (0.0, 0.0, 0.0, 0.0, 0.0, 550.0)


def test_a_still_head_makes_a_box_of_the_margins():
    box = HeadBox.of(heads(*[(1.0, 2.0, 3.0, 4.0, 5.0, 550.0)] * 50))
    assert box.yaw_deg == (1 - MARGIN[0], 1 + MARGIN[0])
    assert box.roll_deg == (3 - MARGIN[2], 3 + MARGIN[2])
    assert box.z_mm == (550 - MARGIN[5], 550 + MARGIN[5])


def test_one_wild_face_does_not_widen_the_box():
    rows = heads(*[MIDDLE] * 99, (80.0, 0.0, 0.0, 900.0, 0.0, 550.0))
    assert HeadBox.of(rows).yaw_deg == (-MARGIN[0], MARGIN[0])
    assert HeadBox.of(rows).x_mm == (-MARGIN[3], MARGIN[3])


def test_without_a_pose_there_is_no_box_and_an_unknown_pose_is_not_flagged():
    assert HeadBox.of(empty_features(20)) is None
    assert BOX.contains(empty_features(2)).tolist() == [True, True]
    assert BOX.holds(empty_features(1)[0])
    assert BOX.hint(empty_features(1)[0]) == ""


@pytest.mark.parametrize(
    ("pose", "hint"),
    [
        ((14, 0, 0, 0, 0, 550), "Turn your head a little to the right."),  # yaw + is the subject's left
        ((-14, 0, 0, 0, 0, 550), "Turn your head a little to the left."),
        ((0, 9, 0, 0, 0, 550), "Lower your chin a little."),
        ((0, -9, 0, 0, 0, 550), "Raise your chin a little."),
        ((0, 0, 9, 0, 0, 550), "Tilt your head a little to the right."),
        ((0, 0, -9, 0, 0, 550), "Tilt your head a little to the left."),
        ((0, 0, 0, 45, 0, 550), "Move 40 mm to the right."),  # picture right is the subject's left
        ((0, 0, 0, -45, 0, 550), "Move 40 mm to the left."),
        ((0, 0, 0, 0, 35, 550), "Sit 40 mm higher."),
        ((0, 0, 0, 0, -35, 550), "Sit 40 mm lower."),
        ((0, 0, 0, 0, 0, 610), "Move 50 mm closer."),
        ((0, 0, 0, 0, 0, 490), "Move 50 mm back."),
        (MIDDLE, ""),
        ((12, 0, 0, 80, 0, 550), "Move 80 mm to the right."),  # the worst, one move at a time
    ],
)
def test_a_hint_says_how_to_come_back(pose, hint):
    row = heads(pose)
    assert BOX.hint(row[0]) == hint
    assert bool(BOX.contains(row)[0]) == (hint == "")
    assert BOX.holds(row[0]) == (hint == "")


def test_a_box_survives_json_and_a_broken_one_is_refused():
    values = BOX.to_mapping()
    assert HeadBox.from_mapping(values) == BOX
    for broken in ({}, values | {"yaw_deg": [1]}, values | {"z_mm": [9, 1]}, values | {"x_mm": ["a", 2]}):
        with pytest.raises(CalibrationError, match="head box"):
            HeadBox.from_mapping(broken)


def test_a_short_look_aside_is_no_warning_and_a_second_of_it_is():
    watch = HeadWatch()
    assert not any(watch.see(True, t * MS) for t in range(0, 900, 33))
    assert not watch.see(False, 900 * MS)
    assert not watch.see(False, 1500 * MS)  # back for over half a second: counted anew
    assert not any(watch.see(True, t * MS) for t in range(2000, 3000, 33))
    assert watch.see(True, 3000 * MS)
    assert watch.see(False, 3100 * MS)  # not at once, or the warning would flicker
    assert not watch.see(False, 3700 * MS)


@pytest.mark.parametrize("shift", [{"x_mm": 40.0}, {"z_mm": 60.0}, {"yaw_deg": 10.0}, {"pitch_deg": -10.0}])
def test_G1_a_head_that_moves_after_a_minute_is_warned_of_within_two_seconds(
    shift, eyes, participant, screen
):
    """The calibration kept the head still; at t = 60 s the person sits elsewhere."""
    box = participant.work(CalibrationProcedure(screen, 9)).result().head_box
    watch, warned_ns = HeadWatch(), None
    for time_ns in range(0, 65 * S, 33 * MS):
        row = eyes.row(3.0, 1.0, time_ns)
        if time_ns >= 60 * S:
            for name, by in shift.items():
                if name.endswith("deg"):
                    row[name] += by
                else:
                    row["head_mm"]["xyz".index(name[0])] += by
        if watch.see(not box.contains(row)[0], time_ns) and warned_ns is None:
            warned_ns = time_ns
    assert warned_ns is not None
    assert 60 * S < warned_ns <= 62 * S


def test_a_margin_can_be_chosen():
    wide = HeadBox.of(heads(MIDDLE), tuple(2 * m for m in MARGIN))
    assert wide == replace(wide, yaw_deg=(-2 * MARGIN[0], 2 * MARGIN[0]))
    np.testing.assert_allclose(wide.z_mm, (550 - 2 * MARGIN[5], 550 + 2 * MARGIN[5]))
