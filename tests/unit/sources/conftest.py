"""A real face, and stand-ins for the landmarker that answer by script."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gazelab.core.picture import load_picture
from gazelab.sources.landmarker import Faces

FACE = Path(__file__).resolve().parents[3] / "gazelab" / "sources" / "models" / "face.png"


@pytest.fixture(scope="session")
def face_rgb() -> NDArray[np.uint8]:
    """The packaged face picture, 512 x 320."""
    return load_picture(FACE).rgb


@pytest.fixture(scope="session")
def face_points(face_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The real landmarks of that face in px, (478, 3)."""
    from gazelab.sources.face import FaceReader

    with FaceReader() as reader:
        points = reader.still(face_rgb).landmarks_px
    assert points is not None
    return points


@dataclass
class StubLandmarker:
    """Answers with `faces` (px landmarks), and like the real one refuses a stamp that doesn't grow."""

    faces: list[list[NDArray[np.floating]]]
    size: tuple[int, int] = (640, 480)
    fail_at: tuple[int, ...] = ()
    blink: float = 0.0
    seen: list[NDArray[np.uint8]] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    made: int = 0
    closed: int = 0
    broken: bool = False
    calls: int = 0

    def make(self, model: bytes, mode: str, min_confidence: float) -> StubLandmarker:
        """Stand in for `make_landmarker`; a new instance forgets stamps and failures."""
        self.made += 1
        self.stamps, self.broken = [], False
        return self

    def detect_for_video(self, image: Any, stamp_ms: int) -> Faces:
        """Give the next scripted faces."""
        if self.stamps and stamp_ms <= self.stamps[-1]:
            self.broken = True
        if self.calls in self.fail_at:
            self.broken = True
            self.fail_at = tuple(n for n in self.fail_at if n != self.calls)
        if self.broken:
            raise RuntimeError("Input timestamp must be monotonically increasing.")
        self.stamps.append(stamp_ms)
        return self.detect(image)

    def detect(self, image: Any) -> Faces:
        """Give the next scripted faces for a still."""
        self.seen.append(np.array(image.numpy_view()))
        faces = self.faces[min(self.calls, len(self.faces) - 1)]
        self.calls += 1
        w, h = self.size
        scores = {"eyeBlinkLeft": self.blink, "eyeBlinkRight": self.blink}
        points = [(np.asarray(f) / (w, h, w)).astype(np.float32) for f in faces]
        return Faces(points, [scores for _ in faces], [np.eye(4, dtype=np.float32) for _ in faces])

    def close(self) -> None:
        """Count."""
        self.closed += 1


@pytest.fixture
def stub_landmarker() -> type[StubLandmarker]:
    """The class, to be scripted in the test."""
    return StubLandmarker
