"""MediaPipe's FaceLandmarker behind one adapter: a frame in, features and landmarks out."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import CameraError
from gazelab.core.gaze import Frame
from gazelab.processing.features import eye_features
from gazelab.sources.face_choice import FaceChoice
from gazelab.sources.landmarker import Faces, make_landmarker

log = logging.getLogger(__name__)

MODEL_PATH = Path(__file__).parent / "models" / "face_landmarker.task"
MODEL_BYTES = 3_758_596
MODEL_SHA256 = "64184e229b263107bc2b804c6625db1341ff2bb731874b0bcc2fe6544e0bc9ff"

MakeLandmarker = Callable[[bytes, str, float], Any]


@dataclass(frozen=True, slots=True, eq=False)
class FaceReading:
    """What was found in one frame.

    Attributes
    ----------
    features : numpy.void, FEATURE_DTYPE
        `valid` False where there is no usable face.
    landmarks_px : numpy.ndarray, shape (478, 3), float32, or None
        The followed face in camera px; z in px too, smaller is nearer.
    ambiguous : bool
        More than one face could be the participant, so none was taken.
    """

    features: np.void
    landmarks_px: NDArray[np.float32] | None = None
    ambiguous: bool = False


def load_model(path: Path = MODEL_PATH) -> bytes:
    """Read the landmarker's model file and check that it is the one gazelab was made with.

    The bytes are handed to MediaPipe, never the path: its own path handling fails on some absolute and
    non-ASCII Windows paths.

    Raises
    ------
    CameraError
        The file is missing, empty, or another file.
    """
    again = "Install gazelab again."
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise CameraError("the face model is missing.", where=path, todo=again) from fault
    if not data:
        raise CameraError("the face model is empty (0 bytes).", where=path, todo=again)
    digest = hashlib.sha256(data).hexdigest()
    if len(data) != MODEL_BYTES or digest != MODEL_SHA256:
        raise CameraError(
            f"this is another file than gazelab's face model: {len(data):,} bytes, sha256 {digest[:12]}…,"
            f" instead of {MODEL_BYTES:,} bytes, {MODEL_SHA256[:12]}….",
            where=path,
            todo=again,
        )
    return data


class FaceReader:
    """Finds the participant's face in the frames of one source.

    Use one reader per source, as a context manager; `restart` it when the source starts again.

    Parameters
    ----------
    model_path : Path
        The landmarker's model.
    min_confidence : float
        MediaPipe's default is 0.5.
    make : callable
        Makes the landmarker from (model bytes, mode, confidence); tests put a stub here.

    Raises
    ------
    CameraError
        The model file is missing, empty or another file.
    """

    def __init__(
        self,
        model_path: Path = MODEL_PATH,
        *,
        min_confidence: float = 0.5,
        make: MakeLandmarker = make_landmarker,
    ) -> None:
        self._model = load_model(model_path)
        self._make = make
        self._confidence = min_confidence
        self._video: Any = None
        self._stills: dict[float, Any] = {}
        self._first_ms, self._stamp_ms = 0, -1
        self._choice = FaceChoice()

    @property
    def model_sha256(self) -> str:
        """Which model the features come from; written into every session and profile."""
        return MODEL_SHA256

    def read(self, frame: Frame) -> FaceReading:
        """Find the participant in the next frame of the source.

        The task refuses a stamp that doesn't grow, and every later one, so it gets a counter of our own; the
        features carry the frame's own time.

        Raises
        ------
        CameraError
            The landmarker failed on two instances in a row.
        """
        result = self._detect(frame.rgb, frame.time_ns // 1_000_000)
        faces = [_to_px(f, frame.rgb.shape) for f in result.landmarks]
        chosen = self._choice.pick(faces, frame.time_ns)
        return self._reading(frame.rgb, result, faces, chosen, frame.index, frame.time_ns)

    def still(self, rgb: NDArray[np.uint8], min_confidence: float = 0.5) -> FaceReading:
        """Find the largest face in one picture that belongs to no stream.

        Parameters
        ----------
        rgb : numpy.ndarray, shape (height, width, 3), uint8
        min_confidence : float
            0.05 finds faces that are cut off at brow and nose, given some padding.

        Returns
        -------
        FaceReading
            `frame_index` and `time_ns` are 0.
        """
        if min_confidence not in self._stills:
            self._stills[min_confidence] = self._make(self._model, "IMAGE", min_confidence)
        frame = Frame.from_rgb(rgb, 0, 0)
        result = self._stills[min_confidence].detect(_image(frame.rgb))
        faces = [_to_px(f, frame.rgb.shape) for f in result.landmarks]
        chosen = FaceChoice().pick(faces, 0)
        return self._reading(frame.rgb, result, faces, chosen, 0, 0)

    def follow(self, landmarks_px: NDArray[np.floating]) -> None:
        """Take this face's box as the participant's, for example at the end of a calibration."""
        self._choice.anchor(landmarks_px)

    def restart(self) -> None:
        """Forget the face followed so far and start a new landmarker with the next frame."""
        self._drop_video()
        self._choice = FaceChoice()

    def close(self) -> None:
        """Free the landmarkers; may be called twice."""
        self._drop_video()
        while self._stills:
            self._stills.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _detect(self, rgb: NDArray[np.uint8], time_ms: int) -> Faces:
        image = _image(rgb)
        for attempt in range(2):
            if self._video is None:
                self._video = self._make(self._model, "VIDEO", self._confidence)
                self._first_ms, self._stamp_ms = time_ms, -1
            self._stamp_ms = max(self._stamp_ms + 1, time_ms - self._first_ms)
            try:
                found: Faces = self._video.detect_for_video(image, self._stamp_ms)
                return found
            except (RuntimeError, ValueError) as fault:
                log.warning("the face landmarker failed (%s), attempt %d", fault, attempt + 1)
                self._drop_video()
                last = fault
        todo = "Start the source again."
        raise CameraError(f"the face landmarker failed twice ({last}).", todo=todo) from last

    def _drop_video(self) -> None:
        landmarker, self._video = self._video, None
        if landmarker is not None:
            try:
                landmarker.close()
            except RuntimeError as fault:  # a task that failed reports its failure again on closing
                log.debug("closing the landmarker: %s", fault)

    def _reading(
        self,
        rgb: NDArray[np.uint8],
        result: Faces,
        faces: list[NDArray[np.float32]],
        chosen: int | None,
        index: int,
        time_ns: int,
    ) -> FaceReading:
        if chosen is None:
            row = eye_features(rgb, None, {}, None, index, time_ns, len(faces))
            return FaceReading(row, ambiguous=bool(faces))
        scores = result.scores[chosen] if chosen < len(result.scores) else {}
        pose = result.poses[chosen] if chosen < len(result.poses) else None
        row = eye_features(rgb, faces[chosen], scores, pose, index, time_ns, len(faces))
        return FaceReading(row, faces[chosen] if row["valid"] else None)


def _image(rgb: NDArray[np.uint8]) -> Any:
    import mediapipe

    return mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=rgb)


def _to_px(face: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Turn 0..1 landmarks into px of the real frame; z is in units of the frame's width."""
    return face * np.array([shape[1], shape[0], shape[1]], np.float32)
