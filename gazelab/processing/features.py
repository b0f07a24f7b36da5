"""What is kept of a face in one frame: aligned eye patches, iris, lids, head pose; no picture of the face.

All geometry is done in px of the real frame, since MediaPipe's 0..1 coordinates have different units in x and
y. "Left" and "right" are the subject's: in a picture that isn't mirrored the subject's left eye lies on the
picture's right.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features
from gazelab.processing.head import head_place_mm, head_turn

FEATURE_VERSION = "1"
"""Changes whenever the same frame gives other numbers: a calibration fits one version only."""

N_LANDMARKS = 478

# Landmark numbers of MediaPipe's face mesh; eyes in the order of `EYES` (subject's left, right). Corners go
# from the picture's left to its right.
EYE_CORNERS = ((362, 263), (33, 133))
LID_PAIRS = (((385, 380), (386, 374), (387, 373)), ((160, 144), (159, 145), (158, 153)))
IRIS_CENTRE = (473, 468)
IRIS_RIM = ((474, 475, 476, 477), (469, 470, 471, 472))

PATCH_WIDTH, PATCH_HEIGHT = 1.2, 0.6
"""The patch's box in eye widths, centred midway between the corners."""

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
    row: np.void = empty_features(1)[0]
    row["frame_index"], row["time_ns"], row["n_faces"] = frame_index, time_ns, n_faces
    if landmarks_px is None or not _usable(landmarks_px, rgb.shape[1], rgb.shape[0]):
        return row
    points = np.asarray(landmarks_px[:, :2], np.float64)
    for eye in range(2):
        centre, along, width = _eye_frame(points, eye)
        row["patches"][eye] = eye_patch(rgb, centre, along, width)
        row["iris"][eye] = _in_eye(points[IRIS_CENTRE[eye]], centre, along, width)
        row["openness"][eye] = _openness(points, eye, along, width)
        row["blink_score"][eye] = blendshapes.get(BLINK_SCORES[eye], np.nan)
        row["eye_centre_px"][eye] = centre
        row["eye_width_px"][eye] = width
        row["iris_px"][eye] = _iris_diameter(points, eye)
    row["look"] = [blendshapes.get(name, np.nan) for name in LOOK_SCORES]
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


def eye_patch(rgb: NDArray[np.uint8], centre: Floats, along: Floats, width: float) -> NDArray[np.uint8]:
    """Cut a grey patch aligned by the eye's corners, blurred to the patch's own scale.

    Parameters
    ----------
    rgb : numpy.ndarray, shape (height, width, 3), uint8
    centre : numpy.ndarray, shape (2,)
        Midway between the corners, camera px.
    along : numpy.ndarray, shape (2,)
        Unit vector from the corner on the picture's left to the one on its right.
    width : float
        Distance of the corners in px.

    Returns
    -------
    numpy.ndarray, shape (10, 20), uint8
        Beyond the frame's edge the edge is repeated.
    """
    from gazelab.core.opencv import cv2

    step = PATCH_WIDTH * width / PATCH_COLS
    sigma = 0.5 * step
    reach = int(np.ceil(0.5 * width * np.hypot(PATCH_WIDTH, PATCH_HEIGHT) + 3 * sigma)) + 2
    left, top = (int(v) for v in np.floor(centre - reach))
    crop = rgb[max(top, 0) : max(top + 2 * reach, 0), max(left, 0) : max(left + 2 * reach, 0)]
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY)
    if step > 1:
        grey = cv2.GaussianBlur(grey, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)
    down = np.array([-along[1], along[0]])
    # Pixel i of OpenCV has its centre at i; our coordinates put it at i + 0.5.
    origin = centre - (max(left, 0), max(top, 0)) - 0.5
    first = origin - along * step * (PATCH_COLS - 1) / 2 - down * step * (PATCH_ROWS - 1) / 2
    warp = np.array(
        [[along[0] * step, down[0] * step, first[0]], [along[1] * step, down[1] * step, first[1]]]
    )
    patch: NDArray[np.uint8] = cv2.warpAffine(
        grey,
        warp,
        (PATCH_COLS, PATCH_ROWS),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return patch


def _usable(landmarks_px: NDArray[np.floating], width_px: int, height_px: int) -> bool:
    if landmarks_px.shape[0] != N_LANDMARKS or not np.isfinite(landmarks_px).all():
        return False
    points = landmarks_px[:, :2]
    if (points[list(IRIS_CENTRE)] == 0).all() or not points.any():
        return False
    centres = np.array([points[list(corners)].mean(0) for corners in EYE_CORNERS])
    widths = np.array([np.linalg.norm(points[b] - points[a]) for a, b in EYE_CORNERS])
    inside = (centres >= 0).all() and (centres < (width_px, height_px)).all()
    return bool(inside and (widths > 1).all())


def _eye_frame(points: Floats, eye: int) -> tuple[Floats, Floats, float]:
    """Origin (px), unit vector along the corners, and width (px) of an eye."""
    a, b = points[EYE_CORNERS[eye][0]], points[EYE_CORNERS[eye][1]]
    width = float(np.linalg.norm(b - a))
    return (a + b) / 2, (b - a) / width, width


def _in_eye(point: Floats, centre: Floats, along: Floats, width: float) -> Floats:
    offset = (point - centre) / width
    return np.array([offset @ along, offset @ (-along[1], along[0])])


def _openness(points: Floats, eye: int, along: Floats, width: float) -> float:
    """Mean of three lid distances across the eye's axis, over eye width; 0 where the lids cross."""
    across = np.array([-along[1], along[0]])
    gaps = [(points[low] - points[up]) @ across for up, low in LID_PAIRS[eye]]
    return max(float(np.mean(gaps)) / width, 0.0)


def _iris_diameter(points: Floats, eye: int) -> float:
    """Longer of the two diameters: a turned eye only shortens them."""
    a, b, c, d = points[list(IRIS_RIM[eye])]
    return float(max(np.linalg.norm(a - c), np.linalg.norm(b - d)))
