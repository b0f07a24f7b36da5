from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features
from gazelab.processing.features import (
    EYE_CORNERS,
    IRIS_CENTRE,
    IRIS_RIM,
    LID_PAIRS,
    PATCH_STEP,
    any_eye_closed,
    eye_features,
    eye_patch,
    eyes_closed,
)
from gazelab.processing.head import RIGID_POINTS

LEFT, RIGHT = 0, 1
WIDTH = 60.0


def drawn_face(
    *, centre=(320.0, 240.0), roll_deg=0.0, opening=0.3, iris=((0.0, 0.0), (0.0, 0.0)), scale=1.0
) -> np.ndarray:
    """Landmarks of a face of which only the eyes matter: subject's right eye on the picture's left."""
    points = np.full((478, 2), 1.0)
    for eye, x in ((LEFT, 80.0), (RIGHT, -80.0)):
        a, b = EYE_CORNERS[eye]
        points[a], points[b] = (x - WIDTH / 2, 0), (x + WIDTH / 2, 0)
        for k, (up, low) in enumerate(LID_PAIRS[eye]):
            points[up], points[low] = (
                (x + 10 * (k - 1), -opening * WIDTH / 2),
                (x + 10 * (k - 1), opening * WIDTH / 2),
            )
        at = np.array([x + iris[eye][0] * WIDTH, iris[eye][1] * WIDTH])
        points[IRIS_CENTRE[eye]] = at
        for rim, offset in zip(IRIS_RIM[eye], ((10, 0), (0, -9), (-10, 0), (0, 9)), strict=True):
            points[rim] = at + offset
    turn = np.radians(roll_deg)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return points @ spin.T * scale + centre


def features(points: np.ndarray, rgb: np.ndarray | None = None, scores=None, pose=None) -> np.void:
    picture = np.full((480, 640, 3), 127, np.uint8) if rgb is None else rgb
    return eye_features(picture, points, scores or {}, pose, 3, 99)


def test_reads_what_was_drawn():
    row = features(drawn_face(iris=((0.1, -0.05), (-0.2, 0.02)), opening=0.25))
    assert row["valid"]
    assert (row["frame_index"], row["time_ns"], row["n_faces"]) == (3, 99, 1)
    np.testing.assert_allclose(row["iris"], [(0.1, -0.05), (-0.2, 0.02)], atol=1e-6)
    np.testing.assert_allclose(row["openness"], 0.25, atol=1e-6)
    np.testing.assert_allclose(row["eye_width_px"], WIDTH, atol=1e-4)
    np.testing.assert_allclose(row["eye_centre_px"], [(400, 240), (240, 240)], atol=1e-4)
    np.testing.assert_allclose(row["iris_px"], 20, atol=1e-4)
    assert (row["patches"] == 127).all()
    assert np.isnan(row["yaw_deg"])


@given(
    x=st.floats(180, 300),
    y=st.floats(160, 320),
    roll=st.floats(-40, 40),
    scale=st.floats(0.3, 1.0),
    size=st.sampled_from([(640, 480), (1280, 720), (480, 640)]),
)
def test_M11_the_same_eyes_anywhere_in_any_frame_give_the_same_numbers(x, y, roll, scale, size):
    iris = ((0.12, -0.04), (-0.07, 0.03))
    blank = np.zeros((size[1], size[0], 3), np.uint8)
    row = features(drawn_face(centre=(x, y), roll_deg=roll, scale=scale, iris=iris), blank)
    np.testing.assert_allclose(row["iris"], iris, atol=1e-4)
    np.testing.assert_allclose(row["openness"], 0.3, atol=1e-4)


@pytest.mark.parametrize("spoil", ["none", "468", "zero irises", "NaN", "outside", "no width"])
def test_M16_landmarks_that_cannot_be_used_give_an_invalid_row(spoil):
    points: np.ndarray | None = drawn_face()
    assert points is not None
    if spoil == "none":
        points = None
    elif spoil == "468":
        points = points[:468]
    elif spoil == "zero irises":
        points[468:] = 0
    elif spoil == "NaN":
        points[10] = np.nan
    elif spoil == "outside":
        points = points - (400, 0)
    else:
        points[263] = points[362]
    row = features(points)
    assert not row["valid"]
    assert np.isnan(row["iris"]).all()
    assert np.isnan(row["openness"]).all()
    assert not row["patches"].any()
    assert not eyes_closed(row).any()


def test_M4_shut_lids_are_told_from_the_lids_and_not_from_the_iris():
    open_eyes = features(drawn_face(), scores={"eyeBlinkLeft": 0.1, "eyeBlinkRight": 0.1})
    lids_meet = features(drawn_face(opening=0.04), scores={"eyeBlinkLeft": 0.1, "eyeBlinkRight": 0.1})
    one_shut = features(drawn_face(), scores={"eyeBlinkLeft": 0.9, "eyeBlinkRight": 0.1})
    rows = np.array([open_eyes, lids_meet, one_shut])
    assert eyes_closed(rows).tolist() == [[False, False], [True, True], [True, False]]
    assert np.isfinite(lids_meet["iris"]).all(), "iris points are there behind shut lids too"


@given(
    scores=st.tuples(*[st.sampled_from([0.0, 0.49, 0.5, 0.9, float("nan")])] * 2),
    openings=st.tuples(*[st.sampled_from([0.0, 0.119, 0.12, 0.3, float("nan")])] * 2),
    valid=st.booleans(),
)
def test_one_record_is_judged_as_many_are(scores, openings, valid):
    row = empty_features(1)[0]
    row["blink_score"], row["openness"], row["valid"] = scores, openings, valid
    assert any_eye_closed(row) == eyes_closed(row).any()


def test_crossed_lids_are_shut_not_negative():
    row = features(drawn_face(opening=-0.1))
    assert (row["openness"] == 0).all()
    assert eyes_closed(row).all()


def test_M15_left_is_the_subjects_left_in_a_frame_as_the_camera_gives_it():
    row = features(drawn_face(iris=((0.2, 0), (0, 0))))
    assert row["iris"][LEFT, 0] == pytest.approx(0.2, abs=1e-5)
    assert row["iris"][RIGHT, 0] == pytest.approx(0, abs=1e-5)
    assert row["eye_centre_px"][LEFT, 0] > row["eye_centre_px"][RIGHT, 0]


def test_M5_moving_lids_brows_mouth_and_irises_leaves_the_turn_alone():
    rng = np.random.default_rng(0)
    head = np.column_stack([rng.uniform(100, 400, (478, 2)), rng.uniform(-50, 50, 478)])
    for number, place in RIGID_POINTS.items():
        head[number] = np.array(place) * (150, -150, -150) + (320, 240, 0)
    eyes = drawn_face()
    still, moving = head.copy(), head.copy()
    soft = [i for pair in EYE_CORNERS for i in pair] + list(IRIS_CENTRE)
    still[soft, :2] = eyes[soft]
    moving[soft, :2] = eyes[soft]
    others = np.setdiff1d(np.arange(478), [*RIGID_POINTS, *soft])
    moving[others] += rng.normal(0, 6, (len(others), 3))
    moving[list(IRIS_CENTRE), :2] += (12, 5)
    a, b = features(still), features(moving)
    for name in ("yaw_deg", "pitch_deg", "roll_deg"):
        assert abs(a[name] - b[name]) < 0.5
        assert abs(a[name]) < 0.1


def test_the_patch_is_the_eyes_box_upright_in_the_eyes_own_frame():
    """A ramp along the eye's axis: columns climb evenly whatever the roll, rows are flat."""
    for roll in (0.0, 25.0, -40.0):
        along = np.array([np.cos(np.radians(roll)), np.sin(np.radians(roll))])
        yy, xx = np.mgrid[:240, :320] + 0.5
        ramp = 128 + ((xx - 160) * along[0] + (yy - 120) * along[1])
        rgb = np.repeat(np.clip(np.rint(ramp), 0, 255).astype(np.uint8)[..., None], 3, 2)
        patch = eye_patch(rgb, np.array([160.0, 120.0]), along, 100.0).astype(float)
        assert patch.shape == (PATCH_ROWS, PATCH_COLS)
        expect = 128 + (np.arange(PATCH_COLS) + 0.5 - PATCH_COLS / 2) * 100 * PATCH_STEP
        np.testing.assert_allclose(patch, np.tile(expect, (PATCH_ROWS, 1)), atol=1.5)


def test_the_patch_sees_the_same_eye_at_any_size():
    """Fine texture must not alias: the same eye at 30 and at 90 px gives nearly the same patch."""
    from gazelab.core.opencv import cv2

    rng = np.random.default_rng(1)
    noise = cv2.GaussianBlur(rng.normal(0, 1, (360, 480)), (0, 0), 4)
    big = np.clip(128 + 60 * noise / noise.std(), 0, 255).astype(np.uint8)
    small = cv2.resize(big, None, fx=1 / 3, fy=1 / 3, interpolation=cv2.INTER_AREA)
    along = np.array([1.0, 0.0])
    patches = [
        eye_patch(np.repeat(grey[..., None], 3, 2), np.array([240.0, 180.0]) * k, along, 90.0 * k)
        for grey, k in ((big, 1), (small, 1 / 3))
    ]
    a, b = (p.astype(float).ravel() for p in patches)
    assert np.corrcoef(a, b)[0, 1] > 0.97


def test_a_patch_over_the_frames_edge_repeats_the_edge():
    rgb = np.full((40, 40, 3), 200, np.uint8)
    patch = eye_patch(rgb, np.array([2.0, 2.0]), np.array([1.0, 0.0]), 30.0)
    assert (patch == 200).all()


def test_empty_rows_are_invalid_and_not_shut():
    rows = empty_features(4)
    assert eyes_closed(rows).shape == (4, 2)
    assert not eyes_closed(rows).any()
