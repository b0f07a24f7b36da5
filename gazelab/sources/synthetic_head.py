"""The synthetic participant's head: how it moves, and the face picture warped to follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PIVOT_MM = 90.0
"""The head turns about a point this far behind the eyes."""

COARSE = 8
"""The warp is worked out on every eighth pixel and filled in between."""

REACH_MM, FADE_MM = (125.0, 145.0), 60.0
"""Half width and half height of the moving head with its hair, and how far beyond it the picture gives."""


@dataclass(frozen=True, slots=True)
class HeadPose:
    """Turn and place of the head, off its neutral ones.

    Attributes
    ----------
    yaw_deg, pitch_deg, roll_deg : float
        + to the subject's left, + up, + clockwise as the camera sees it.
    x_mm, y_mm, z_mm : float
        + picture right, + down, + away from the camera.
    """

    yaw_deg: float = 0.0
    pitch_deg: float = 0.0
    roll_deg: float = 0.0
    x_mm: float = 0.0
    y_mm: float = 0.0
    z_mm: float = 0.0

    def as_array(self) -> Floats:
        """Give the six numbers in order."""
        return np.array(
            [self.yaw_deg, self.pitch_deg, self.roll_deg, self.x_mm, self.y_mm, self.z_mm], np.float64
        )

    def rotation(self) -> Floats:
        """From head axes to camera axes (x picture right, y down, z away), shape (3, 3)."""
        y, x, z = np.radians([-self.yaw_deg, -self.pitch_deg, self.roll_deg])
        about_y = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
        about_x = np.array([[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]])
        about_z = np.array([[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]])
        out: Floats = about_y @ about_x @ about_z
        return out


STILL = HeadPose()
SEATED = HeadPose(0.8, 0.5, 0.4, 3.0, 2.0, 4.0)
"""Standard deviations of the sway of someone who sits and reads."""


MOVE_NS = 500_000_000

Act = Callable[[float], HeadPose]

WANDER_HZ = (0.04, 0.12)
"""Of the slow waves by which a head wanders: 8 to 25 seconds there and back."""
WANDER_START_S = 3.0
"""In which it gets going."""


class HeadMotion:
    """Slow sway about a place, which may change at given moments and may wander.

    Parameters
    ----------
    sway : HeadPose
        Standard deviation of each number.
    places : sequence of (time_ns, HeadPose)
        From when the head rests elsewhere; it moves there in half a second.
    seed : int
    """

    def __init__(
        self, sway: HeadPose = SEATED, places: tuple[tuple[int, HeadPose], ...] = (), seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self._sway = sway.as_array()
        self._hz = rng.uniform(0.03, 0.25, (6, 4))
        self._phase = rng.uniform(0, 2 * np.pi, (6, 4))
        self._places = sorted(places, key=lambda p: p[0])
        self._acts: list[tuple[int, int, Act]] = []
        self._wander_hz = rng.uniform(*WANDER_HZ, (6, 2))
        self._wander_phase = rng.uniform(0, 2 * np.pi, (6, 2))
        self._wander = np.zeros(6)
        self._wander_from_ns = 0

    def act(self, from_ns: int, duration_ns: int, act: Act) -> None:
        """Do something and come back: `act` gives the pose by the share of the time that has gone by."""
        self._acts.append((from_ns, duration_ns, act))

    def wander(self, from_ns: int, limits: HeadPose) -> None:
        """Turn and shift slowly and without end from a moment on, each number up to its limit."""
        self._wander_from_ns, self._wander = from_ns, limits.as_array()

    def at(self, time_ns: int) -> HeadPose:
        """Give the head's pose at a moment."""
        waves = np.sin(2 * np.pi * self._hz * (time_ns / 1e9) + self._phase).sum(1) / np.sqrt(2)
        place = np.zeros(6)
        for since_ns, pose in self._places:
            place = place + (pose.as_array() - place) * _eased((time_ns - since_ns) / MOVE_NS)
        for from_ns, duration_ns, act in self._acts:
            if from_ns < time_ns < from_ns + duration_ns:
                place = place + act((time_ns - from_ns) / duration_ns).as_array()
        t = (time_ns - self._wander_from_ns) / 1e9
        slow = np.sin(2 * np.pi * self._wander_hz * t + self._wander_phase) @ (0.75, 0.25)
        return HeadPose(*(self._sway * waves + place + self._wander * slow * _eased(t / WANDER_START_S)))


def _eased(share: float) -> float:
    u = float(np.clip(share, 0, 1))
    return u * u * (3 - 2 * u)


class HeadWarp:
    """Warps a face picture as its head turns and moves; the background stays.

    Parameters
    ----------
    size : (int, int)
        Width and height of the picture, px.
    points : numpy.ndarray, shape (478, 3)
        Landmarks in px; z in px too, smaller is nearer.
    origin_px : (float, float)
        Between the eyes.
    px_per_mm : float
    distance_mm : float
        Of the neutral head from the camera.
    """

    def __init__(
        self,
        size: tuple[int, int],
        points: Floats,
        origin_px: tuple[float, float],
        px_per_mm: float,
        distance_mm: float,
    ) -> None:
        self._size, self._scale, self._distance = size, px_per_mm, distance_mm
        self._origin = np.array(origin_px)
        shape = (size[1] // COARSE + 2, size[0] // COARSE + 2)
        yy, xx = np.mgrid[: shape[0], : shape[1]] * float(COARSE)
        self._grid = (np.stack([xx, yy], -1) - self._origin) / px_per_mm
        self._relief = _relief(points, (xx, yy)) / px_per_mm + PIVOT_MM
        reach = np.hypot(*((self._grid - (0, 0.1 * REACH_MM[1])) / REACH_MM).transpose(2, 0, 1))
        self._share = np.clip((1 - reach) * min(REACH_MM) / FADE_MM + 1, 0, 1)
        self._share = self._share**2 * (3 - 2 * self._share)

    def __call__(self, picture: NDArray[np.uint8], pose: HeadPose) -> NDArray[np.uint8]:
        """Give the picture with the head at `pose`."""
        from gazelab.core.opencv import cv2

        source = self._sources(pose)
        offset = (self._share[..., None] * (source - self._grid) * self._scale).astype(np.float32)
        width, height = self._size
        full = cv2.resize(offset, None, fx=COARSE, fy=COARSE, interpolation=cv2.INTER_LINEAR)
        # resize puts coarse cell i at COARSE * (i + 0.5) - 0.5; ours are at COARSE * i
        shift = COARSE // 2
        maps = full[shift : shift + height, shift : shift + width]
        x = maps[..., 0] + np.arange(width, dtype=np.float32)
        y = maps[..., 1] + np.arange(height, dtype=np.float32)[:, None]
        out: NDArray[np.uint8] = cv2.remap(picture, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return out

    def seen_turn(self, pose: HeadPose) -> Floats:
        """Give the head's rotation as the camera sees it: a head that moves aside is seen from its side.

        Returns
        -------
        numpy.ndarray, shape (3, 3)
            From head axes to those of a camera that points at the head.
        """
        turn = pose.rotation()
        eyes_mm = (pose.x_mm, pose.y_mm) - PIVOT_MM * turn[:2, 2]  # a turn about the neck moves them, too
        aside_deg, below_deg = np.degrees(np.arctan2(eyes_mm, self._distance + pose.z_mm))
        # Off to the picture's right and facing straight on, it seems turned to that side; lower, nodding.
        seen: Floats = HeadPose(yaw_deg=aside_deg, pitch_deg=-below_deg).rotation() @ turn
        return seen

    def _sources(self, pose: HeadPose) -> Floats:
        """For each coarse cell (mm from the origin): where in the neutral picture it comes from."""
        turn = self.seen_turn(pose)
        # Seen from another side or not, the eyes are where the true turn brings them.
        eyes_mm = (pose.x_mm, pose.y_mm) + PIVOT_MM * (turn - pose.rotation())[:2, 2]
        nearer = self._distance / (self._distance + pose.z_mm)
        target = self._grid / nearer - eyes_mm
        back = np.linalg.inv(turn[:2, :2])
        # Depth is counted toward the camera; at rest a point at depth d lies at its own (x, y).
        depth = self._relief
        found: Floats = self._grid
        for _ in range(2):
            found = (target + turn[:2, 2] * depth[..., None]) @ back.T
            depth = self._depth_at(found)
        return found

    def _depth_at(self, places: Floats) -> Floats:
        from gazelab.core.opencv import cv2

        cells = ((places * self._scale + self._origin) / COARSE).astype(np.float32)
        out: Floats = cv2.remap(
            self._relief.astype(np.float32),
            np.ascontiguousarray(cells[..., 0]),
            np.ascontiguousarray(cells[..., 1]),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        ).astype(np.float64)
        return out


def _relief(points: Floats, grid: tuple[Floats, Floats]) -> Floats:
    """How far each cell stands out toward the camera from the plane of the eyes, px, smoothed."""
    from scipy.interpolate import griddata

    from gazelab.core.opencv import cv2

    place, out = points[:, :2], -points[:, 2]
    eyes = out[[33, 133, 263, 362]].mean()
    near = griddata(place, out, grid, method="nearest")
    inside = griddata(place, out, grid, method="linear")
    relief = np.where(np.isfinite(inside), inside, near) - eyes
    smooth: Floats = cv2.GaussianBlur(relief, (0, 0), 0.8)
    return smooth
