"""Camera pictures to gaze samples: frame, features, mapping, one record."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.head_box import HeadBox, HeadWatch
from gazelab.core.gaze import Frame, SourceState, empty_gaze
from gazelab.processing.features import FEATURE_VERSION, any_eye_closed
from gazelab.sources.base import Clock, FrameSource, OpenInWith, Reading, SourceInfo
from gazelab.sources.face import FaceReader
from gazelab.sources.watchdog import FrameWatch

IRIS_MM = 11.7
"""Width of the visible iris, nearly the same in all adults (11.7 ± 0.4 mm: Rüfer et al. 2005)."""

ASSUMED_HORIZONTAL_FOV_DEG = 60.0
"""Of a laptop's camera, where its focal length isn't known: real ones span 55 to 75 degrees, so distances
that rest on it are right to about 15 %."""


_LOST = empty_gaze(1)


class Predicts(Protocol):
    """What a calibration's mapping offers: `GazeMapping` is one."""

    def predict(self, features: NDArray[np.void]) -> Any:
        """Give x_px, y_px, left_x_px, …, confidence and valid for features of shape (n,)."""


class Calibrated(Protocol):
    """What is used of a calibration: `Profile` is one."""

    @property
    def mapping(self) -> Predicts:
        """From features to gaze."""

    @property
    def head_box(self) -> HeadBox | None:
        """Where the head may be; None where that isn't known."""


class CameraGaze(OpenInWith):
    """A `GazeSource` made of frames, the face reader and, once calibrated, a mapping.

    While the lids of an eye are shut there is no gaze: the sample is NaN with `blink` set, although the
    landmarker goes on giving iris points. A picture that repeats the one before measures nothing and gives no
    sample; when pictures stay the same, black or away, the state is LOST and samples are invalid.

    Parameters
    ----------
    frames : FrameSource
    face : FaceReader
        Of this source alone; closed with it.
    mapping : GazeMapping, optional
        Without one, samples have no gaze and readings carry the features to calibrate with. May be set later;
        `use` sets it together with the head box of its profile.
    head_box : HeadBox, optional
        Of the mapping's calibration.
    focal_px : float, optional
        The camera's focal length, for the distance; by default from `ASSUMED_HORIZONTAL_FOV_DEG`.
    keep_frames : bool
        Hand the pictures over with the readings, for the preview.
    clock : callable
        Session time in ns, for `arrival_ns`.
    """

    def __init__(
        self,
        frames: FrameSource,
        face: FaceReader,
        mapping: Predicts | None = None,
        head_box: HeadBox | None = None,
        *,
        focal_px: float | None = None,
        keep_frames: bool = True,
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        self.frames, self.face, self.mapping = frames, face, mapping
        self.head_box = head_box
        self.head_hint = ""
        """How the participant should move to be where the calibration holds; empty while all is well."""
        self.landmarks_px: NDArray[np.float32] | None = None
        self._head_watch = HeadWatch()
        self._focal_px, self._keep_frames, self._clock = focal_px, keep_frames, clock
        self._watch = FrameWatch()

    def use(self, profile: Calibrated | None) -> None:
        """Put a calibration in force, its mapping and its head box together; None puts none in force."""
        self.head_box = None if profile is None else profile.head_box
        self.mapping = None if profile is None else profile.mapping
        self._head_watch, self.head_hint = HeadWatch(), ""

    @property
    def info(self) -> SourceInfo:
        """What a session writes: the frame source's own, with the model and the feature version."""
        inner = self.frames.info
        more = (("model_sha256", self.face.model_sha256), ("feature_version", FEATURE_VERSION))
        return dataclasses.replace(inner, has_features=True, detail=(*inner.detail, *more))

    @property
    def state(self) -> SourceState:
        """The frame source's state, or LOST where its pictures are frozen, black or missing."""
        inner = self.frames.state
        return self._watch.state if inner is SourceState.OK else inner

    @property
    def reason(self) -> str:
        """Why the state is LOST, for the operator; empty while all is well."""
        return self._watch.reason

    def open(self) -> None:
        """Open the frames; raises CameraError."""
        self.face.restart()
        self._watch = FrameWatch()
        self.frames.open()

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        """Give the reading of the newest frame, or none."""
        frame = self.frames.read(timeout_s)
        if frame is None:
            if self.frames.state is SourceState.OK:
                self._watch.miss(self._clock())
            return []
        state = self._watch.see(frame)
        if state is SourceState.LOST:
            self.landmarks_px = None
            return [Reading(self._lost(frame), None, self._kept(frame))]
        if self._watch.repeated:
            return []
        found = self.face.read(frame)
        self.landmarks_px = found.landmarks_px
        return [Reading(self._sample(frame, found.features), found.features, self._kept(frame))]

    def close(self) -> None:
        """Close frames and face reader; may be called twice."""
        try:
            self.frames.close()
        finally:
            self.face.close()

    def _kept(self, frame: Frame) -> Frame | None:
        return frame if self._keep_frames else None

    def _lost(self, frame: Frame) -> np.void:
        row: np.void = _LOST.copy()[0]
        row["time_ns"], row["device_ns"], row["frame_index"] = frame.time_ns, frame.device_ns, frame.index
        row["arrival_ns"] = self._clock()
        return row

    def _sample(self, frame: Frame, features: np.void) -> np.void:
        row = self._lost(frame)
        if not features["valid"]:
            return row
        row["left_openness"], row["right_openness"] = features["openness"]
        for name in ("yaw_deg", "pitch_deg", "roll_deg"):
            row[name] = features[name]
        row["distance_mm"] = distance_mm(features, frame.rgb.shape[1], self._focal_px)
        put_gaze(row, features, self.mapping, self.head_box)
        self._look_at_head(row, features)
        return row

    def _look_at_head(self, row: np.void, features: np.void) -> None:
        box = self.head_box
        if box is not None:
            warn = self._head_watch.see(bool(row["outside_head_box"]), int(row["time_ns"]))
            self.head_hint = (box.hint(features) or self.head_hint) if warn else ""


def put_gaze(
    row: np.void, features: np.void, mapping: Predicts | None, head_box: HeadBox | None = None
) -> None:
    """Write into a lost sample where the eyes of its frame looked.

    Parameters
    ----------
    row : numpy.void, GAZE_DTYPE
        `blink` is set; the gaze stays lost while an eye is shut, and without a mapping.
    features : numpy.void, FEATURE_DTYPE
    mapping : Predicts or None
    head_box : HeadBox, optional
        Of the mapping's calibration: `outside_head_box` is set while the head isn't in it.
    """
    row["outside_head_box"] = head_box is not None and not head_box.holds(features)
    row["blink"] = any_eye_closed(features)
    if row["blink"] or mapping is None:
        return
    predicted = mapping.predict(np.asarray(features)[None])
    row["confidence"] = predicted.confidence[0]
    if predicted.valid[0]:
        for name in ("x_px", "y_px", "left_x_px", "left_y_px", "right_x_px", "right_y_px"):
            row[name] = getattr(predicted, name)[0]
        row["valid"] = True


def distance_mm(features: np.void, frame_width_px: int, focal_px: float | None = None) -> float:
    """Distance of the eyes from the camera, by the iris's known width.

    Parameters
    ----------
    features : numpy.void, FEATURE_DTYPE
    frame_width_px : int
    focal_px : float, optional
        By default that of a lens of `ASSUMED_HORIZONTAL_FOV_DEG`.

    Returns
    -------
    float
        mm; NaN without a face.
    """
    if focal_px is None:
        focal_px = frame_width_px / 2 / math.tan(math.radians(ASSUMED_HORIZONTAL_FOV_DEG / 2))
    left_px, right_px = features["iris_px"].tolist()
    return float(focal_px * IRIS_MM / ((left_px + right_px) / 2 or math.nan))
