"""Paints one eye into a face picture: an eyeball turned anywhere, between lids that follow it and blink."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.processing.features import EYE_CORNERS, IRIS_CENTRE

Floats = NDArray[np.floating]

# Lid margins from the picture's left corner to its right, eyes in the order of `EYES`.
UPPER_LID = ((362, 398, 384, 385, 386, 387, 388, 466, 263), (33, 246, 161, 160, 159, 158, 157, 173, 133))
LOWER_LID = ((362, 382, 381, 380, 374, 373, 390, 249, 263), (33, 7, 163, 144, 145, 153, 154, 155, 133))

IRIS_RADIUS_MM = 5.85
IRIS_DEPTH_MM = 10.5
"""From the eye's centre of rotation to the plane of the iris."""

UPPER_LID_FOLLOWS, LOWER_LID_FOLLOWS = 0.75, 0.3
"""Lid movement as a share of the iris's vertical movement: the upper lid keeps to the iris's upper edge."""

# The box painted, in eye widths from the eye's centre: sides, above, below.
BOX = (0.8, 0.52, 0.45)

SCLERA, IRIS, RIM, PUPIL = (
    np.array(c, float) for c in ((206, 193, 186), (88, 60, 42), (38, 26, 20), (14, 11, 11))
)
PUPIL_SHARE = 0.4

AS_AT_REST: Floats = np.eye(3)


class EyePainter:
    """One eye of one face picture.

    Parameters
    ----------
    base : numpy.ndarray, shape (height, width, 3), uint8
        The face at frame scale, its eyes open and looking into the camera.
    points : numpy.ndarray, shape (478, 2)
        Its landmarks in px.
    eye : {0, 1}
        In the order of `EYES`.
    px_per_mm : float
        Scale of the face.
    """

    def __init__(self, base: NDArray[np.uint8], points: Floats, eye: int, px_per_mm: float) -> None:
        a, b = points[EYE_CORNERS[eye][0]], points[EYE_CORNERS[eye][1]]
        self._width = width = float(np.hypot(*(b - a)))
        x, y = (a + b) / 2
        left, right = int(x - BOX[0] * width), int(x + BOX[0] * width) + 1
        self._top, self._bottom = int(y - BOX[1] * width), int(y + BOX[2] * width) + 1
        self.box = (slice(self._top, self._bottom), slice(left, right))
        self._skin = base[self.box].copy()
        self._left = left
        self._columns = np.arange(left, right) + 0.5
        self._rows = (np.arange(self._top, self._bottom) + 0.5)[:, None]
        self._t = np.clip((self._columns - x) / (width / 2), -1, 1)
        self._upper = _curve(points[list(UPPER_LID[eye])], self._columns)
        self._lower = np.maximum(_curve(points[list(LOWER_LID[eye])], self._columns), self._upper)
        self._iris = points[IRIS_CENTRE[eye]]
        self._radius, self._depth = IRIS_RADIUS_MM * px_per_mm, IRIS_DEPTH_MM * px_per_mm

    def paint(
        self,
        picture: NDArray[np.uint8],
        right_deg: float,
        down_deg: float,
        closure: float,
        turn: Floats = AS_AT_REST,
    ) -> None:
        """Paint the eye into `picture`, a copy of the base.

        Parameters
        ----------
        right_deg, down_deg : float
            How far the eye is turned in the head, from looking into the camera: + to the picture's right,
            + down.
        closure : float
            0 open … 1 shut.
        turn : numpy.ndarray, shape (3, 3)
            From head axes to the camera's, of the head that the picture will be warped to.
        """
        h, v = np.radians([right_deg, down_deg])
        gaze = np.array([np.sin(h) * np.cos(v), np.sin(v), -np.cos(h) * np.cos(v)])
        upper, lower = self._lids(self._depth * gaze[1], closure)
        # The warp takes the eye for a plane. The iris of a turned eye lies behind it, so it is painted where
        # the warp of the plane will bring it to the right place, and as wide as it has to be by then.
        behind = 1 + gaze[2]
        lean = np.linalg.solve(turn[:2, :2], turn[:2, 2])
        centre = self._iris + self._depth * (gaze[:2] + lean * behind)
        seen = turn @ gaze
        across = np.hypot(seen[0], seen[2])
        inside = np.minimum(self._rows - upper, lower - self._rows)
        inside = np.clip(inside + 0.5, 0, 1) * (np.abs(self._t) < 1)
        ball = self._ball(centre, abs(seen[2]) / across / turn[0, 0], across / turn[1, 1], upper)
        skin = self._stretched(upper, lower)
        mixed = skin + (ball - skin) * inside[..., None]
        picture[self.box] = np.clip(mixed + 0.5, 0, 255).astype(np.uint8)

    def _lids(self, iris_down_px: float, closure: float) -> tuple[Floats, Floats]:
        """Margins of the lids at each column, px."""
        bulge = 1 - self._t**2
        upper = self._upper + UPPER_LID_FOLLOWS * iris_down_px * bulge
        lower = np.maximum(self._lower + LOWER_LID_FOLLOWS * iris_down_px * bulge, upper)
        meet = upper + 0.9 * (lower - upper)
        return upper + closure * (meet - upper), lower + closure * (meet - lower)

    def _ball(self, centre: Floats, cos_h: float, cos_v: float, upper: Floats) -> Floats:
        """Colours of the eyeball on the whole box; the iris is narrower by `cos_h` and lower by `cos_v`."""
        dx, dy = self._columns - centre[0], self._rows - centre[1]
        r = np.hypot(dx / cos_h, dy / cos_v)
        shade = (
            1 - 0.22 * self._t**2 - 0.4 * np.exp(-np.maximum(self._rows - upper, 0) / (0.09 * self._width))
        )
        colour = SCLERA * shade[..., None]
        disc = np.clip(self._radius - r + 0.5, 0, 1)[..., None]
        rim = np.clip((r / self._radius - 0.72) / 0.28, 0, 1)[..., None]
        iris = (IRIS + (RIM - IRIS) * rim) * (0.55 + 0.45 * shade[..., None])
        colour = colour + (iris - colour) * disc
        pupil = np.clip(PUPIL_SHARE * self._radius - r + 0.5, 0, 1)[..., None]
        colour = colour + (PUPIL - colour) * pupil
        # The lamp's reflection moves half as far as the iris.
        spot = self._iris + 0.5 * (centre - self._iris) + np.array([-0.25, -0.3]) * self._radius
        away = (self._columns - spot[0]) ** 2 + (self._rows - spot[1]) ** 2
        glint = np.exp(-away / (2 * (0.14 * self._radius) ** 2))[..., None]
        out: Floats = colour + (245 - colour) * glint
        return out

    def _stretched(self, upper: Floats, lower: Floats) -> Floats:
        """Draw the skin above and below the eye along with the lids: columns stretched to the new margins."""
        from gazelab.core.opencv import cv2

        above, below = self._upper - 0.4, self._lower + 0.6
        up = self._top + (self._rows - self._top) * (above - self._top) / np.maximum(upper - self._top, 1)
        down = self._bottom - (self._bottom - self._rows) * (self._bottom - below) / np.maximum(
            self._bottom - lower, 1
        )
        y = np.where(self._rows <= (upper + lower) / 2, np.minimum(up, above), np.maximum(down, below))
        x = np.broadcast_to(self._columns - self._left - 0.5, y.shape)
        moved = cv2.remap(
            self._skin,
            x.astype(np.float32),
            (y - self._top - 0.5).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        out: Floats = moved.astype(np.float64)
        return out


def _curve(points: Floats, columns: Floats) -> Floats:
    """Height of a smooth line through points, left to right, at each column; level beyond its ends."""
    from scipy.interpolate import PchipInterpolator

    order = np.argsort(points[:, 0])
    x, y = points[order, 0], points[order, 1]
    keep = np.concatenate([[True], np.diff(x) > 1e-3])
    line = PchipInterpolator(x[keep], y[keep])
    out: Floats = line(np.clip(columns, x[0], x[-1]))
    return out
