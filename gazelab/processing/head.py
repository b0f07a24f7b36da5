"""Turn and place of the head, from points that the eyes, lids, brows and mouth don't move.

Why not the landmarker's own face matrix for the turn: its fit includes the corners of the eyes, and with a
head held still it nods by up to 1.3 degrees when only the eyes move by 32 x 17 degrees. These points halve
that; the rest is in the landmarks themselves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIGID_POINTS = {
    6: (0.000, 0.022, 0.245),
    168: (0.000, 0.082, 0.217),
    197: (0.000, -0.033, 0.279),
    195: (0.000, -0.083, 0.315),
    5: (0.000, -0.138, 0.354),
    4: (0.000, -0.202, 0.367),
    127: (-0.500, 0.058, -0.310),
    356: (0.500, 0.058, -0.310),
    234: (-0.498, -0.036, -0.354),
    454: (0.498, -0.036, -0.354),
    162: (-0.491, 0.154, -0.225),
    389: (0.491, 0.154, -0.225),
}
"""Landmark number → place on a face that looks straight ahead (x picture right, y up, z to the viewer; unit:
width between the temples). Bridge of the nose, temples and ear fronts, measured on the packaged portrait and
made symmetric; another person's shape gives a constant offset of some degrees, no more."""

_NUMBERS = np.array(list(RIGID_POINTS))
_SHAPE = np.array(list(RIGID_POINTS.values()))
_SHAPE = _SHAPE - _SHAPE.mean(0)
_UPWARD = np.array([[1.0], [-1.0], [-1.0]])

MAX_STEPS = 20
"""Six are usual."""


def head_turn(landmarks_px: NDArray[np.floating]) -> tuple[float, float, float]:
    """Give the head's turn: the rotation that best lays the rigid shape on the landmarks (Kabsch 1976).

    Parameters
    ----------
    landmarks_px : numpy.ndarray, shape (478, 3)
        In px; z in px too, smaller is nearer.

    Returns
    -------
    yaw_deg, pitch_deg, roll_deg : float
        + to the subject's left, + up, + clockwise as the camera sees it; as seen from the camera, so a head
        that moves aside without turning appears to turn a little.
    """
    seen = landmarks_px.take(_NUMBERS, axis=0).astype(np.float64)
    # The shape's own mean is zero, so that of the points seen needs no taking off.
    fit = seen.T @ _SHAPE * _UPWARD
    rotation = _nearest_rotation(fit.tolist())
    if rotation is not None:
        return _angles_deg(rotation)
    u, _, vt = np.linalg.svd(fit)
    keep_handedness = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    return angles_deg(u @ keep_handedness @ vt)


def _nearest_rotation(rows: list[list[float]]) -> list[list[float]] | None:
    """Give the rotation nearest to a matrix by Newton's iteration, scaled (Higham 1986, 10.1137/0907079).

    The same as by singular values, in a third of the time of a call that comes once a frame; None where the
    matrix mirrors or is flat.
    """
    for _ in range(MAX_STEPS):
        a, b, c = rows
        cofactors = [_cross(b, c), _cross(c, a), _cross(a, b)]
        determinant = sum(x * y for x, y in zip(a, cofactors[0], strict=True))
        if determinant <= 0:
            return None
        own, inverse = (sum(x * x for row in m for x in row) for m in (rows, cofactors))
        scale = (inverse / own) ** 0.25 / math.sqrt(determinant)
        p, q = scale / 2, 0.5 / (scale * determinant)
        nearer = [
            [p * x + q * y for x, y in zip(row, cofactor, strict=True)]
            for row, cofactor in zip(rows, cofactors, strict=True)
        ]
        change = sum(
            abs(x - y) for pair in zip(nearer, rows, strict=True) for x, y in zip(*pair, strict=True)
        )
        rows = nearer
        if change < 1e-9:
            return rows
    return None


def _cross(a: list[float], b: list[float]) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def angles_deg(rotation: Floats) -> tuple[float, float, float]:
    """Split a rotation (x picture right, y up, z to the viewer) into yaw, pitch and roll, in that order."""
    return _angles_deg(rotation.tolist())


def _angles_deg(rotation: list[list[float]]) -> tuple[float, float, float]:
    (_, _, right), (up_x, up_y, up_z), (_, _, back) = rotation
    yaw, pitch = math.atan2(right, back), math.asin(min(max(up_z, -1.0), 1.0))
    return math.degrees(yaw), math.degrees(pitch), -math.degrees(math.atan2(up_x, up_y))


def head_place_mm(pose_matrix: NDArray[np.floating]) -> Floats:
    """Read the head's place from MediaPipe's facial transformation (4, 4).

    It assumes a camera of 63 degrees vertical field of view and an average face: compare places with each
    other, not with a ruler.

    Returns
    -------
    numpy.ndarray, shape (3,)
        +x picture right, +y down, +z away from the camera, mm.
    """
    place: Floats = np.asarray(pose_matrix, np.float64)[:3, 3] * (10.0, -10.0, -10.0)
    return place
