from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gazelab.processing.head import RIGID_POINTS, angles_deg, head_place_mm, head_turn

angle = st.floats(-60, 60)


def turned(yaw_deg: float, pitch_deg: float, roll_deg: float) -> np.ndarray:
    """A head turned to its left, up, and clockwise as the camera sees it (x right, y up, z to the viewer)."""
    y, x, z = np.radians([yaw_deg, -pitch_deg, -roll_deg])
    about_y = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]])
    about_z = np.array([[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]])
    return about_y @ about_x @ about_z


@given(yaw=angle, pitch=angle, roll=angle)
def test_angles_invert_a_rotation(yaw, pitch, roll):
    np.testing.assert_allclose(angles_deg(turned(yaw, pitch, roll)), (yaw, pitch, roll), atol=1e-6)


def test_signs_of_the_angles():
    """The nose points where the subject turns: to its left is the picture's right."""
    assert turned(30, 0, 0)[0, 2] > 0
    assert turned(0, 30, 0)[1, 2] > 0
    assert turned(0, 0, 30)[1, 0] < 0, "the x axis goes down on the picture's right: clockwise"


@given(yaw=angle, pitch=angle, roll=angle, size=st.floats(30, 400), x=st.floats(0, 640), y=st.floats(0, 480))
def test_M11_the_turn_does_not_depend_on_size_or_place(yaw, pitch, roll, size, x, y):
    points = np.zeros((478, 3))
    for number, place in RIGID_POINTS.items():
        points[number] = turned(yaw, pitch, roll) @ np.array(place) * (size, -size, -size) + (x, y, 5)
    np.testing.assert_allclose(head_turn(points), (yaw, pitch, roll), atol=1e-6)


def by_singular_values(points: np.ndarray) -> tuple[float, float, float]:
    """Kabsch's rotation as in the books."""
    shape = np.array(list(RIGID_POINTS.values()))
    seen = points[list(RIGID_POINTS)] * (1.0, -1.0, -1.0)
    u, _, vt = np.linalg.svd((seen - seen.mean(0)).T @ (shape - shape.mean(0)))
    return angles_deg(u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt)


@given(yaw=angle, pitch=angle, roll=angle, seed=st.integers(0, 99), noise=st.floats(0, 0.1))
def test_the_rotation_of_a_noisy_face_is_that_of_the_singular_values(yaw, pitch, roll, seed, noise):
    points = np.zeros((478, 3))
    for number, place in RIGID_POINTS.items():
        points[number] = turned(yaw, pitch, roll) @ np.array(place) * (200, -200, -200) + (320, 240, 0)
    points += np.random.default_rng(seed).normal(0, noise * 200, points.shape)
    np.testing.assert_allclose(head_turn(points), by_singular_values(points), atol=1e-6)


def test_a_flat_or_mirrored_face_has_the_turn_that_the_singular_values_give():
    face = np.zeros((478, 3))
    for number, place in RIGID_POINTS.items():
        face[number] = turned(20, 5, 3) @ np.array(place) * (200, -200, -200)
    for spoilt in (face * (1, 1, 0), face * (-1, 1, 1)):
        np.testing.assert_allclose(head_turn(spoilt), by_singular_values(spoilt), atol=1e-6)


def test_the_place_is_in_mm_with_y_down_and_z_away():
    matrix = np.eye(4)
    matrix[:3, 3] = (2.0, 3.0, -55.0)
    np.testing.assert_allclose(head_place_mm(matrix), (20, -30, 550))
