"""MediaPipe's FaceLandmarker, its results as arrays.

The task's own calls build a Python object for each of the 478 points and 52 scores of every face, half a
millisecond a frame. Here the numbers are copied out of the C result at once. That reaches into MediaPipe
0.10.31, the one release that the project installs; a test compares it with the task's own calls, number by
number.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Two, so that a second face is noticed. It also keeps the landmarks raw: with one face the task smooths them.
MAX_FACES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Faces:
    """What the landmarker found in one picture; the lists have one entry a face.

    Attributes
    ----------
    landmarks : list of numpy.ndarray, shape (478, 3), float32
        0..1 of the picture's width and height; z in units of its width.
    scores : list of dict
        Blendshape name → score, 0..1.
    poses : list of numpy.ndarray, shape (4, 4), float32
        From the canonical face (cm) to the camera.
    """

    landmarks: list[NDArray[np.float32]]
    scores: list[dict[str, float]]
    poses: list[NDArray[np.float32]]


class Landmarker:
    """A FaceLandmarker of the task API, made with `make_task`; closed with `close`."""

    def __init__(self, task: Any) -> None:
        self._task = task

    def detect_for_video(self, image: Any, stamp_ms: int) -> Faces:
        """Find faces in the next picture of a stream; raises RuntimeError or ValueError as the task does."""
        return self._ask(self._task._lib.MpFaceLandmarkerDetectForVideo, image, stamp_ms)

    def detect(self, image: Any) -> Faces:
        """Find faces in one picture."""
        return self._ask(self._task._lib.MpFaceLandmarkerDetectImage, image)

    def close(self) -> None:
        """Free the task; raises RuntimeError again if it failed before."""
        self._task.close()

    def _ask(self, call: Any, image: Any, *stamp_ms: int) -> Faces:
        result = _layout().result()
        call(self._task._handle, image._image_ptr, None, *stamp_ms, ctypes.byref(result))
        try:
            return _copied(result)
        finally:
            # The result is ours alone: freeing it needs no turn on the task's own thread.
            self._task._lib._lib.MpFaceLandmarkerCloseResult(ctypes.byref(result))


def make_task(model: bytes, mode: str, min_confidence: float) -> Any:
    """Make MediaPipe's own FaceLandmarker, on the CPU.

    Parameters
    ----------
    model : bytes
    mode : {"VIDEO", "IMAGE"}
    min_confidence : float
        For detection, presence and tracking, 0..1.
    """
    from mediapipe.tasks.python import BaseOptions, vision

    options = vision.FaceLandmarkerOptions(
        base_options=BaseOptions(model_asset_buffer=model, delegate=BaseOptions.Delegate.CPU),
        running_mode=vision.RunningMode[mode],
        num_faces=MAX_FACES,
        min_face_detection_confidence=min_confidence,
        min_face_presence_confidence=min_confidence,
        min_tracking_confidence=min_confidence,
        output_face_blendshapes=True,
        output_facial_transformation_matrixes=True,
    )
    return vision.FaceLandmarker.create_from_options(options)


def make_landmarker(model: bytes, mode: str, min_confidence: float) -> Landmarker:
    """Make a landmarker with the options of `make_task`."""
    return Landmarker(make_task(model, mode, min_confidence))


@dataclass(frozen=True)
class _Layout:
    """The result's C structure, and where the numbers lie in its records."""

    result: Any
    point: np.dtype[np.void]
    score: np.dtype[np.void]


@cache
def _layout() -> _Layout:
    from importlib import import_module

    task = import_module("mediapipe.tasks.python.vision.face_landmarker")
    point, category = task.landmark_c_lib.NormalizedLandmarkC, task.category_c_lib.CategoryC
    return _Layout(task.FaceLandmarkerResultC, _fields(point, ("x", "y", "z")), _fields(category, ("score",)))


def _fields(record: Any, names: tuple[str, ...]) -> np.dtype[np.void]:
    offsets = [getattr(record, name).offset for name in names]
    first = offsets[0]
    assert offsets == [first + 4 * i for i in range(len(names))], "float32 side by side"
    size = ctypes.sizeof(record)
    return np.dtype(
        {"names": ["f"], "formats": [("<f4", (len(names),))], "offsets": [first], "itemsize": size}
    )


def _copied(result: Any) -> Faces:
    layout = _layout()
    faces = [result.face_landmarks[i] for i in range(result.face_landmarks_count)]
    scored = [result.face_blendshapes[i] for i in range(result.face_blendshapes_count)]
    poses = [
        result.facial_transformation_matrixes[i] for i in range(result.facial_transformation_matrixes_count)
    ]
    scores = []
    for face in scored:
        values = _records(face.categories, face.categories_count, layout.score).ravel().tolist()
        scores.append(dict(zip(_names(face), values, strict=True)))
    points = [_records(face.landmarks, face.landmarks_count, layout.point) for face in faces]
    return Faces(points, scores, [pose.to_numpy() for pose in poses])


def _records(pointer: Any, n: int, record: np.dtype[np.void]) -> NDArray[np.float32]:
    data = ctypes.string_at(pointer, n * record.itemsize)
    values: NDArray[np.float32] = np.frombuffer(data, record)["f"]
    return values


_known_names: dict[int, list[str]] = {}


def _names(face: Any) -> list[str]:
    """Blendshape names: the model gives the same ones in the same order every time."""
    n = int(face.categories_count)
    if n not in _known_names:
        _known_names[n] = [face.categories[i].category_name.decode() for i in range(n)]
    return _known_names[n]
