"""What is kept of a face in one frame: aligned eye patches, iris, lids, head pose; no picture of the face.

All geometry is done in px of the real frame, since MediaPipe's 0..1 coordinates have different units in x and
y. "Left" and "right" are the subject's: in a picture that isn't mirrored the subject's left eye lies on the
picture's right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features
from gazelab.processing.head import head_place_mm, head_turn

FEATURE_VERSION = "2"
"""Changes whenever the same frame gives other numbers: a calibration fits one version only."""

N_LANDMARKS = 478

# Landmark numbers of MediaPipe's face mesh; eyes in the order of `EYES` (subject's left, right). Corners go
# from the picture's left to its right.
EYE_CORNERS = ((362, 263), (33, 133))
LID_PAIRS = (((385, 380), (386, 374), (387, 373)), ((160, 144), (159, 145), (158, 153)))
IRIS_CENTRE = (473, 468)
IRIS_RIM = ((474, 475, 476, 477), (469, 470, 471, 472))

PATCH_STEP = 0.05
"""Eye widths from one of the patch's pixels to the next: the box of 26 x 14 is 1.3 wide and .7 high, centred
midway between the corners. Its outermost pixels are there for the change that a misplaced box makes."""
PATCH_BLUR = 0.8
"""Standard deviation of the blur before sampling, in steps. With .5 the gaze of 28 persons was read worse by
a thirtieth, with 1.1 by a fiftieth, in either half of them; a laptop's was indifferent."""
MIN_SIGMA_PX = 0.4
"""A narrower blur changes nothing that linear sampling doesn't."""

BLINK_SCORES = ("eyeBlinkLeft", "eyeBlinkRight")
LOOK_SCORES = (
    "eyeLookDownLeft",
    "eyeLookDownRight",
    "eyeLookInLeft",
    "eyeLookInRight",
    "eyeLookOutLeft",
    "eyeLookOutRight",
    "eyeLookUpLeft",
    "eyeLookUpRight",
)

SHUT_BLINK_SCORE = 0.5
SHUT_OPENNESS = 0.12
"""Measured: 28 persons who look up to 10 degrees down or up keep an opening of 0.20 and more; one who reads
all over a laptop's screen one of 0.15 in 99 of 100 frames; half-blinks go down to 0.07."""

Floats = NDArray[np.float64]


def eye_features(
    rgb: NDArray[np.uint8],
    landmarks_px: NDArray[np.floating] | None,
    blendshapes: Mapping[str, float],
    pose_matrix: NDArray[np.floating] | None,
    frame_index: int,
    time_ns: int,
    n_faces: int = 1,
) -> np.void:
    """Describe the eyes and the head of one face.

    Parameters
    ----------
    rgb : numpy.ndarray, shape (height, width, 3), uint8
        The frame.
    landmarks_px : numpy.ndarray, shape (478, 2 or 3), or None
        Points of the face in camera px (upper-left corner of the upper-left pixel = 0, 0); without z there
        is no head turn.
    blendshapes : mapping of str to float
        MediaPipe's scores by name, 0..1; missing ones become NaN.
    pose_matrix : numpy.ndarray, shape (4, 4), or None
        MediaPipe's facial transformation, for the head's place only: from the canonical face (cm) to the
        camera (x right, y up, z toward the viewer).
    frame_index, time_ns : int
        The frame's own.
    n_faces : int
        How many faces were found in the frame.

    Returns
    -------
    numpy.void, FEATURE_DTYPE
        `valid` is False, and every number NaN, where the face is missing, has no irises (468 points), has
        points at zero, or has its eyes outside the frame.
    """
    row: np.void = _LOST.copy()[0]
    row["frame_index"], row["time_ns"], row["n_faces"] = frame_index, time_ns, n_faces
    if landmarks_px is None or landmarks_px.shape[0] != N_LANDMARKS or not np.isfinite(landmarks_px).all():
        return row
    eyes = [_Eye.of(points) for points in landmarks_px[_NUMBERS].tolist()]
    if not _usable(eyes, rgb.shape[1], rgb.shape[0]):
        return row
    for k, eye in enumerate(eyes):
        row["patches"][k] = eye_patch(rgb, eye.centre, eye.along, eye.width)
    row["iris"] = [eye.iris_in_eye() for eye in eyes]
    row["openness"] = [eye.openness() for eye in eyes]
    row["blink_score"] = [blendshapes.get(name, math.nan) for name in BLINK_SCORES]
    row["eye_centre_px"] = [eye.centre for eye in eyes]
    row["eye_width_px"] = [eye.width for eye in eyes]
    row["iris_px"] = [eye.iris_diameter() for eye in eyes]
    row["look"] = [blendshapes.get(name, math.nan) for name in LOOK_SCORES]
    if landmarks_px.shape[1] == 3:
        row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = head_turn(landmarks_px)
    if pose_matrix is not None:
        row["head_mm"] = head_place_mm(pose_matrix)
    row["valid"] = True
    return row


def eyes_closed(features: NDArray[np.void] | np.void) -> NDArray[np.bool_]:
    """Tell which eyes have their lids shut.

    The landmarker gives iris points behind a shut lid too, so this rule and not the iris decides whether
    there is gaze. An eye counts as shut when the blink score reaches `SHUT_BLINK_SCORE` or the opening falls
    below `SHUT_OPENNESS`: eyes looking at the bottom of a laptop's screen stay clear of both.

    Parameters
    ----------
    features : numpy.ndarray or numpy.void, FEATURE_DTYPE

    Returns
    -------
    numpy.ndarray, shape (..., 2), bool
        Eyes in the order of `EYES`; False where there is no face.
    """
    rows = np.asarray(features)
    closed: NDArray[np.bool_] = (rows["blink_score"] >= SHUT_BLINK_SCORE) | (rows["openness"] < SHUT_OPENNESS)
    closed &= rows["valid"][..., None]
    return closed


def any_eye_closed(record: np.void) -> bool:
    """Tell of one record whether `eyes_closed` holds for an eye, in plain floats: it is asked every frame."""
    if not record["valid"]:
        return False
    scores, openings = record["blink_score"].tolist(), record["openness"].tolist()
    shut_openness = float(np.float32(SHUT_OPENNESS))  # as arrays of the record's precision compare
    return any(s >= SHUT_BLINK_SCORE for s in scores) or any(o < shut_openness for o in openings)


def eye_patch(
    rgb: NDArray[np.uint8], centre: Sequence[float], along: Sequence[float], width: float
) -> NDArray[np.uint8]:
    """Cut a grey patch aligned by the eye's corners, blurred to the patch's own scale.

    Parameters
    ----------
    rgb : numpy.ndarray, shape (height, width, 3), uint8
    centre : (float, float)
        Midway between the corners, camera px.
    along : (float, float)
        Unit vector from the corner on the picture's left to the one on its right.
    width : float
        Distance of the corners in px.

    Returns
    -------
    numpy.ndarray, shape (14, 26), uint8
        Beyond the frame's edge the edge is repeated.
    """
    from gazelab.core.opencv import cv2

    step = PATCH_STEP * width
    sigma = PATCH_BLUR * step
    # No more of the frame than the box, turned as it is, and what the blur reaches.
    cos, sin = abs(along[0]), abs(along[1])
    reach_x = math.ceil(0.5 * step * (PATCH_COLS * cos + PATCH_ROWS * sin) + 3 * sigma) + 2
    reach_y = math.ceil(0.5 * step * (PATCH_COLS * sin + PATCH_ROWS * cos) + 3 * sigma) + 2
    left, top = math.floor(centre[0]) - reach_x, math.floor(centre[1]) - reach_y
    crop = rgb[
        max(top, 0) : max(top + 2 * reach_y + 1, 0),
        max(left, 0) : max(left + 2 * reach_x + 1, 0),
    ]
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY)
    if sigma > MIN_SIGMA_PX:
        grey = cv2.GaussianBlur(grey, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)
    # From a patch pixel to one of the crop: steps along and across the eye. Pixel i of OpenCV has its centre
    # at i; our coordinates put it at i + 0.5.
    right, down = (along[0] * step, along[1] * step), (-along[1] * step, along[0] * step)
    half_cols, half_rows = (PATCH_COLS - 1) / 2, (PATCH_ROWS - 1) / 2
    x = centre[0] - max(left, 0) - 0.5 - right[0] * half_cols - down[0] * half_rows
    y = centre[1] - max(top, 0) - 0.5 - right[1] * half_cols - down[1] * half_rows
    patch: NDArray[np.uint8] = cv2.warpAffine(
        grey,
        np.array([[right[0], down[0], x], [right[1], down[1], y]]),
        (PATCH_COLS, PATCH_ROWS),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return patch


@dataclass(frozen=True, slots=True)
class _Eye:
    """An eye's points in camera px, and its frame: origin midway between the corners, x along them.

    Plain floats: at this size numpy's calls cost more than the sums, above all when the landmarker has just
    emptied the processor's caches.
    """

    points: list[list[float]]
    centre: tuple[float, float]
    along: tuple[float, float]
    width: float

    @classmethod
    def of(cls, points: list[list[float]]) -> _Eye:
        """Take the points in the order of `_NUMBERS`."""
        (ax, ay), (bx, by) = points[0][:2], points[1][:2]
        width = math.hypot(bx - ax, by - ay)
        unit = width or 1.0
        return cls(points, ((ax + bx) / 2, (ay + by) / 2), ((bx - ax) / unit, (by - ay) / unit), width)

    def iris_in_eye(self) -> tuple[float, float]:
        """Iris centre in the eye's frame, unit: eye width."""
        x = (self.points[2][0] - self.centre[0]) / self.width
        y = (self.points[2][1] - self.centre[1]) / self.width
        return x * self.along[0] + y * self.along[1], -x * self.along[1] + y * self.along[0]

    def openness(self) -> float:
        """Mean of the lid distances across the eye's axis, over eye width; 0 where the lids cross."""
        lids = self.points[7:]
        gaps = [
            -(low[0] - up[0]) * self.along[1] + (low[1] - up[1]) * self.along[0]
            for up, low in zip(lids[::2], lids[1::2], strict=True)
        ]
        return max(sum(gaps) / len(gaps) / self.width, 0.0)

    def iris_diameter(self) -> float:
        """Longer of the two diameters: a turned eye only shortens them."""
        a, b, c, d = (point[:2] for point in self.points[3:7])
        return max(math.dist(a, c), math.dist(b, d))


_NUMBERS = np.array(
    [
        [*corners, centre, *rim, *(number for pair in lids for number in pair)]
        for corners, centre, rim, lids in zip(EYE_CORNERS, IRIS_CENTRE, IRIS_RIM, LID_PAIRS, strict=True)
    ]
)
"""Of each eye: two corners, iris centre, four points of its rim, lid points in pairs."""

_LOST = empty_features(1)


def _usable(eyes: list[_Eye], width_px: int, height_px: int) -> bool:
    if all(eye.points[2][:2] == [0.0, 0.0] for eye in eyes):
        return False
    return all(
        eye.width > 1 and 0 <= eye.centre[0] < width_px and 0 <= eye.centre[1] < height_px for eye in eyes
    )
