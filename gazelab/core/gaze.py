"""The records of a gaze sample, an eye-movement event and a camera frame, and what a canvas draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.geometry import Placement

GazeArray = NDArray[np.void]
EventArray = NDArray[np.void]

_FLOAT_FIELDS = (
    "x_px",
    "y_px",
    "left_x_px",
    "left_y_px",
    "right_x_px",
    "right_y_px",
    "left_pupil_mm",
    "right_pupil_mm",
    "left_openness",
    "right_openness",
    "confidence",
    "distance_mm",
    "yaw_deg",
    "pitch_deg",
    "roll_deg",
)

GAZE_DTYPE = np.dtype(
    [("time_ns", "<i8"), ("device_ns", "<i8"), ("arrival_ns", "<i8"), ("frame_index", "<i8")]
    + [(name, "<f4") for name in _FLOAT_FIELDS]
    + [("blink", "?"), ("outside_head_box", "?"), ("valid", "?")]
)
"""One gaze sample. `time_ns`: when the eye was seen, on the session's clock; `*_px`: screen px, origin upper
left, +y down; `openness`: lid opening over eye width; `confidence`: 0..1; head pose in degrees (yaw + to the
subject's left, pitch + up, roll + clockwise as the camera sees it); `outside_head_box`: the head is where the
calibration knows nothing, so the gaze is an extrapolation (False where no box is known). Lost values are NaN
with `valid` False."""

EVENT_DTYPE = np.dtype(
    [
        ("kind", "u1"),
        ("onset_ns", "<i8"),
        ("offset_ns", "<i8"),
        ("x_px", "<f4"),
        ("y_px", "<f4"),
        ("amplitude_deg", "<f4"),
        ("peak_velocity_deg_s", "<f4"),
        ("n_samples", "<i4"),
    ]
)
"""One eye-movement event, both ends inclusive. A fixation or saccade lasts up to midway to the samples
around it, so n samples at 30 Hz last n/30 s, but never reaches into a loss; a blink or gap lasts from its
first to its last sample."""


class EventKind(IntEnum):
    """What an event is; the numbers are those of the hand-labelled data sets."""

    FIXATION = 1
    SACCADE = 2
    BLINK = 5
    GAP = 6


class SourceState(StrEnum):
    """How a source is doing: what the operator sees and what is written beside the samples."""

    IDLE = "idle"
    OPENING = "opening"
    OK = "ok"
    LOST = "lost"
    ENDED = "ended"
    ERROR = "error"


def empty_gaze(n: int = 1) -> GazeArray:
    """Make `n` lost samples: every float NaN, every stamp 0, `valid` False.

    Parameters
    ----------
    n : int
        How many.

    Returns
    -------
    numpy.ndarray, shape (n,), GAZE_DTYPE
    """
    rows = np.zeros(n, GAZE_DTYPE)
    for name in _FLOAT_FIELDS:
        rows[name] = np.nan
    rows["frame_index"] = -1
    return rows


def empty_events(n: int = 0) -> EventArray:
    """Make `n` events with NaN positions.

    Returns
    -------
    numpy.ndarray, shape (n,), EVENT_DTYPE
    """
    rows = np.zeros(n, EVENT_DTYPE)
    for name in ("x_px", "y_px", "amplitude_deg", "peak_velocity_deg_s"):
        rows[name] = np.nan
    return rows


@dataclass(frozen=True, slots=True)
class Frame:
    """One camera picture, colours in the order red, green, blue, never mirrored.

    Attributes
    ----------
    rgb : numpy.ndarray, shape (height, width, 3), uint8
        C-contiguous pixels, camera px frame (origin upper left).
    time_ns : int
        When the picture was taken, on the session's clock.
    device_ns : int
        The device's or container's own stamp; equal to `time_ns` where there is none.
    index : int
        Position in the stream, from 0.
    """

    rgb: NDArray[np.uint8]
    time_ns: int
    device_ns: int
    index: int

    @classmethod
    def from_rgb(cls, pixels: NDArray[Any], time_ns: int, index: int, device_ns: int | None = None) -> Frame:
        """Check the array and copy it into row order if need be.

        Raises
        ------
        TypeError
            `pixels` is not (height, width, 3) uint8.
        """
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
            raise TypeError(f"a frame is (height, width, 3) uint8 RGB, not {pixels.shape} {pixels.dtype}")
        rgb = np.ascontiguousarray(pixels)
        return cls(rgb, time_ns, time_ns if device_ns is None else device_ns, index)

    @classmethod
    def from_bgr(cls, pixels: NDArray[Any], time_ns: int, index: int, device_ns: int | None = None) -> Frame:
        """Like `from_rgb`, for OpenCV's order blue, green, red."""
        from gazelab.core.opencv import cv2

        given = cls.from_rgb(pixels, time_ns, index, device_ns)
        # A reversed view copied by numpy takes 2 to 6 ms at 1280 x 720, this takes 0.1 ms.
        rgb = cv2.cvtColor(given.rgb, cv2.COLOR_BGR2RGB)
        return cls(rgb, given.time_ns, given.device_ns, index)


EYES = ("left", "right")
"""The order of eyes in every array: named from the subject's side."""
PATCH_ROWS, PATCH_COLS = 14, 26
N_LOOK = 8

FEATURE_DTYPE = np.dtype(
    [
        ("frame_index", "<i8"),
        ("time_ns", "<i8"),
        ("patches", "u1", (2, PATCH_ROWS, PATCH_COLS)),
        ("iris", "<f4", (2, 2)),
        ("openness", "<f4", (2,)),
        ("blink_score", "<f4", (2,)),
        ("look", "<f4", (N_LOOK,)),
        ("yaw_deg", "<f4"),
        ("pitch_deg", "<f4"),
        ("roll_deg", "<f4"),
        ("head_mm", "<f4", (3,)),
        ("eye_centre_px", "<f4", (2, 2)),
        ("eye_width_px", "<f4", (2,)),
        ("iris_px", "<f4", (2,)),
        ("n_faces", "u1"),
        ("valid", "?"),
    ]
)
"""What is kept of a face in one frame; no picture of the face. Eyes in the order of `EYES`.

`patches`: grey eye patches aligned by the eye corners (14 x 26, a twentieth of the eye's width apart);
`iris`: iris centre in the eye's own frame (origin midway between the corners, x along the corners toward the
picture's right, y down, unit: eye width);
`openness`: lid opening over eye width; `blink_score`: 0..1; `look`: MediaPipe's eight eyeLook blendshapes;
`head_mm`: head position from the camera (+x picture right, +y down, +z away); `iris_px`: iris diameter in
camera px.
"""


def empty_features(n: int = 1) -> NDArray[np.void]:
    """Make `n` records of a frame without a face: floats NaN, patches 0, `valid` False."""
    rows = np.zeros(n, FEATURE_DTYPE)
    for name in FEATURE_DTYPE.names or ():
        if FEATURE_DTYPE[name].base.kind == "f":
            rows[name] = np.nan
    rows["frame_index"] = -1
    return rows


@dataclass(frozen=True, slots=True)
class GazeView:
    """What one canvas draws at one moment, live or replayed alike.

    Attributes
    ----------
    time_ns : int
        The moment, on the session's clock.
    samples : numpy.ndarray, shape (n,), GAZE_DTYPE
        The newest samples up to `time_ns`, oldest first, as recorded.
    fixations : numpy.ndarray, shape (m,), EVENT_DTYPE
        Fixations of the trial that have ended by `time_ns`.
    placement : Placement or None
        Where the stimulus lies on the screen at `time_ns`.
    state : SourceState
    rate_hz : float
        Measured over `samples`; NaN if unknown.
    data_loss : float
        Share of lost samples in `samples`, 0..1; NaN without samples.
    """

    time_ns: int
    samples: GazeArray = field(default_factory=lambda: empty_gaze(0))
    fixations: EventArray = field(default_factory=empty_events)
    placement: Placement | None = None
    state: SourceState = SourceState.IDLE
    rate_hz: float = float("nan")
    data_loss: float = float("nan")
