"""Eyes drawn straight into features, a calibration on them, and a session that was recorded with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gazelab.calibration.mapping import fit
from gazelab.calibration.profile import Profile, SourceBinding, save_profile
from gazelab.calibration.targets import calibration_targets
from gazelab.calibration.validation import Validation
from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features, empty_gaze
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.study import RecordingStudy
from gazelab.processing.features import FEATURE_VERSION
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import Reading
from gazelab.sources.camera_gaze import put_gaze

from .scripted import SCREEN, STEP_NS, ScriptedSource, chart

MODEL = "ab" * 32
_COLS, _ROWS = np.meshgrid(np.arange(PATCH_COLS), np.arange(PATCH_ROWS))


def eyes_at(x_px: float, y_px: float, rng: np.random.Generator, moved_px: float = 0.0) -> np.void:
    """Features of eyes that look at a place; `moved_px` stands for a head that has moved since."""
    x_deg, y_deg = (float(v) for v in SCREEN.to_deg(x_px + moved_px, y_px))
    row = empty_features(1)[0]
    row["valid"], row["n_faces"], row["openness"], row["blink_score"] = True, 1, 0.3 + 0.004 * y_deg, 0.05
    row["eye_width_px"], row["iris_px"], row["head_mm"] = 45.0, 17.0, (0.0, 0.0, 550.0)
    row["eye_centre_px"] = (360.0, 240.0), (280.0, 240.0)
    row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = 0.2 * rng.normal(size=3)
    row["look"] = 0.3 + 0.02 * np.array([-y_deg, -y_deg, x_deg, -x_deg, -x_deg, x_deg, y_deg, y_deg])
    for eye in range(2):
        row["iris"][eye] = np.array([0.0075 * x_deg, -0.0025 * y_deg]) + rng.normal(0, 0.001, 2)
        hole = np.exp(-((_COLS - 12.5 - 0.15 * x_deg) ** 2 + (_ROWS - 6.5 + 0.15 * y_deg) ** 2) / 23)
        row["patches"][eye] = 180 * (1 - 0.7 * hole) + rng.normal(0, 1, hole.shape)
    return row


def save_calibration(
    root: Path,
    participant: str = "P1",
    moved_px: float = 0.0,
    accuracy_deg: float = float("nan"),
    **binding: str,
) -> Path:
    """Calibrate on nine targets, perhaps with a moved head, and save the profile."""
    rng = np.random.default_rng(3)
    targets = [t for t in calibration_targets(9, SCREEN) for _ in range(8)]
    rows = np.array([eyes_at(t.x_px, t.y_px, rng, moved_px) for t in targets])
    places = np.array([(t.x_px, t.y_px) for t in targets])
    mapping = fit(rows, places, np.array([t.index for t in targets]), SCREEN)
    nan = float("nan")
    figures = {k: nan for k in Validation.__slots__ if k not in ("targets", "n_with_data", "screen_width_px")}
    figures["accuracy_deg"] = accuracy_deg
    validation = Validation((), n_with_data=0, screen_width_px=1920, **figures)
    source = {
        "name": "webcam",
        "device": "a camera",
        "feature_version": FEATURE_VERSION,
        "model_sha256": MODEL,
    }
    stamp = f"2026-03-14T10-22-0{int(moved_px) % 10}Z"
    profile = Profile(participant, SCREEN, SourceBinding(**source | binding), mapping, validation, stamp)
    return save_profile(root, profile)


class Camera(ScriptedSource):
    """Gives features with each sample, of a head that may have moved, and gaze by a mapping."""

    def __init__(self, mapping: object, moved_px: float = 0.0) -> None:
        super().__init__()
        self.mapping, self.moved_px = mapping, moved_px
        self.rng = np.random.default_rng(7)

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        self.now_ns += STEP_NS
        features = eyes_at(*self.place, self.rng, self.moved_px)
        sample = empty_gaze(1)[0]
        for row in (features, sample):
            row["time_ns"], row["frame_index"] = self.now_ns, self.now_ns // STEP_NS
        put_gaze(sample, features, self.mapping)
        return [Reading(sample, features)]


def record(root: Path, camera: Camera, looks: list[tuple[float, float]], session_id: str = "reading") -> Path:
    """Record two charts with the same looks at each."""
    camera.open()
    header = SessionHeader(
        "P1",
        SCREEN,
        SourceRecord("webcam", "a camera"),
        feature_version=FEATURE_VERSION,
        model_files={"model_sha256": MODEL},
    )
    acquisition = Acquisition(camera, SCREEN)
    with SessionWriter.create(root, session_id, header, clock=camera.clock) as writer:
        acquisition.add_sink(writer)
        study = RecordingStudy([chart("a"), chart("b")], writer, acquisition)
        for _ in range(2):
            study.prepare()
            study.show(reading_layout(SCREEN, 40, 30).chart, camera.clock())
            for place in looks:
                camera.place = place
                for _ in range(15):
                    acquisition.pump()
            study.answer("12", camera.clock() + 1)
            acquisition.pump()
    return writer.path
