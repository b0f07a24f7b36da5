from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gazelab.calibration.head_box import HeadBox
from gazelab.core.errors import CameraError
from gazelab.core.gaze import Frame, SourceState
from gazelab.processing.features import eyes_closed
from gazelab.sources.base import SourceInfo
from gazelab.sources.camera_gaze import CameraGaze, distance_mm
from gazelab.sources.face import FaceReader
from gazelab.sources.video import VideoFile

STEP_NS = 33_000_000


class Frames:
    """A frame source that gives what it was made with."""

    def __init__(self, frames: list[Frame]) -> None:
        self.left = list(frames)
        self.state = SourceState.IDLE
        self.info = SourceInfo("webcam", "test camera", detail=(("width_px", "640"),))
        self.closed = 0

    def open(self) -> None:
        self.state = SourceState.OK

    def read(self, timeout_s: float = 0.0) -> Frame | None:
        return self.left.pop(0) if self.left else None

    def close(self) -> None:
        self.closed += 1


class Mapping:
    """Gives the same point always: what must not be seen while there is no gaze."""

    def predict(self, features: np.ndarray) -> SimpleNamespace:
        n = len(features)
        names = ("x_px", "y_px", "left_x_px", "left_y_px", "right_x_px", "right_y_px", "confidence")
        return SimpleNamespace(
            **{name: np.full(n, 100.0 + k) for k, name in enumerate(names)}, valid=np.ones(n, bool)
        )


def noisy(n: int, seed: int = 0) -> list[Frame]:
    rng = np.random.default_rng(seed)
    return [Frame.from_rgb(rng.integers(0, 256, (480, 640, 3), np.uint8), i * STEP_NS, i) for i in range(n)]


def drain(source: CameraGaze, n: int) -> list:
    return [r for _ in range(n) for r in source.read()]


def test_a_sample_carries_the_frames_time_and_the_mappings_gaze(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    frames = Frames(noisy(3))
    with CameraGaze(frames, FaceReader(make=stub.make), Mapping(), clock=lambda: 5) as source:
        readings = drain(source, 5)
        assert source.state is SourceState.OK
        info = source.info
    samples = np.array([r.sample for r in readings])
    assert samples["time_ns"].tolist() == [0, STEP_NS, 2 * STEP_NS]
    assert samples["frame_index"].tolist() == [0, 1, 2]
    assert (samples["arrival_ns"] == 5).all()
    assert samples["valid"].all()
    assert not samples["blink"].any()
    assert (samples["x_px"], samples["y_px"]) == (pytest.approx(100), pytest.approx(101))
    assert readings[0].features["valid"]
    assert readings[0].frame is not None
    assert info.has_features
    assert dict(info.detail)["model_sha256"].startswith("64184e22")
    assert frames.closed == 1


def test_without_a_mapping_there_are_features_but_no_gaze(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    with CameraGaze(Frames(noisy(1)), FaceReader(make=stub.make)) as source:
        (reading,) = source.read()
    assert reading.features["valid"]
    assert not reading.sample["valid"]
    assert np.isnan(reading.sample["x_px"])
    assert reading.sample["distance_mm"] > 0


def boxed(row, *, yaw_off: float = 0.0) -> SimpleNamespace:
    """A calibration that was made with this head, or with one turned by some degrees."""
    rows = np.array([row])
    rows["yaw_deg"] += yaw_off
    return SimpleNamespace(mapping=Mapping(), head_box=HeadBox.of(rows))


def test_a_calibration_puts_mapping_and_head_box_in_force_together(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    with CameraGaze(Frames(noisy(4)), FaceReader(make=stub.make)) as source:
        (first,) = source.read()
        assert not first.sample["outside_head_box"]
        source.use(boxed(first.features))
        (inside,) = source.read()
        assert inside.sample["valid"]
        assert not inside.sample["outside_head_box"]
        source.use(boxed(first.features, yaw_off=-20.0))
        (outside,) = source.read()
        assert outside.sample["outside_head_box"]
        assert outside.sample["valid"], "flagged, not thrown away"
        source.use(None)
        (none,) = source.read()
    assert not none.sample["outside_head_box"]
    assert not none.sample["valid"]


def test_G1_the_operator_is_told_within_two_seconds_how_the_head_must_move(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    with CameraGaze(Frames(noisy(62)), FaceReader(make=stub.make)) as source:
        (first,) = source.read()
        source.use(boxed(first.features, yaw_off=-20.0))
        hints = {int(source.read()[0].sample["time_ns"]): source.head_hint for _ in range(61)}
        told = [t for t, hint in hints.items() if hint]
        source.use(None)
        assert source.head_hint == ""
    assert 1e9 <= told[0] - STEP_NS <= 1.1e9
    assert set(hints.values()) == {"", "Turn your head a little to the right."}


def test_M4_no_gaze_while_the_lids_are_shut(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]], blink=0.9)
    with CameraGaze(Frames(noisy(2)), FaceReader(make=stub.make), Mapping()) as source:
        readings = drain(source, 2)
    for reading in readings:
        assert eyes_closed(reading.features).all()
        assert np.isfinite(reading.features["iris"]).all(), "the landmarker goes on giving iris points"
        assert reading.sample["blink"]
        assert not reading.sample["valid"]
        assert np.isnan([reading.sample[n] for n in ("x_px", "y_px", "left_x_px", "right_y_px")]).all()


def test_M16_no_face_is_a_lost_sample_and_no_error(stub_landmarker):
    stub = stub_landmarker([[]])
    with CameraGaze(Frames(noisy(1)), FaceReader(make=stub.make), Mapping()) as source:
        (reading,) = source.read()
        assert source.state is SourceState.OK
    assert not reading.sample["valid"]
    assert not reading.sample["blink"]
    assert np.isnan(reading.sample["x_px"])
    assert reading.features["n_faces"] == 0


def test_C2_a_frozen_video_is_lost_within_a_second_and_gives_no_gaze(cases, stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]], size=(320, 240))
    video = VideoFile(cases / "frozen_last_60_frames.mp4", clock=lambda: 0)
    states, readings = [], []
    with CameraGaze(video, FaceReader(make=stub.make), Mapping(), clock=lambda: 0) as source:
        for _ in range(119):
            got = source.read()
            states.append(source.state)
            readings.append(got[0].sample if got else None)
        assert "repeats the same picture" in source.reason
    first_lost = states.index(SourceState.LOST)
    frozen_from = 59
    assert 0 < (first_lost - frozen_from) / 30 < 1
    assert all(s is SourceState.LOST for s in states[first_lost:])
    assert all(r["valid"] for r in readings[:frozen_from])
    assert all(r is None or not r["valid"] for r in readings[frozen_from + 1 :])


def test_C2_a_camera_that_repeats_one_array_is_lost_and_recovers(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    good = noisy(3)
    stuck = [Frame(good[-1].rgb, i * STEP_NS, i * STEP_NS, i) for i in range(3, 30)]
    after = [Frame(f.rgb, (30 + f.index) * STEP_NS, 0, 30 + f.index) for f in noisy(2, seed=1)]
    with CameraGaze(Frames(good + stuck + after), FaceReader(make=stub.make), Mapping()) as source:
        drain(source, 3)
        lost = drain(source, 27)
        assert source.state is SourceState.LOST
        assert not any(r.sample["valid"] for r in lost)
        back = drain(source, 2)
        assert source.state is SourceState.OK
    assert [bool(r.sample["valid"]) for r in back] == [True, True]


def test_C2_silence_is_lost_by_the_clock(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    now = 0
    with CameraGaze(Frames(noisy(1)), FaceReader(make=stub.make), Mapping(), clock=lambda: now) as source:
        source.read()
        now = 500_000_000
        assert source.read() == []
        assert source.state is SourceState.OK
        now = 1_000_000_000
        assert source.read() == []
        assert source.state is SourceState.LOST
        assert "plugged in" in source.reason


def test_black_pictures_are_a_state_with_a_sentence(stub_landmarker):
    rng = np.random.default_rng(0)
    dark = [Frame.from_rgb(rng.integers(0, 5, (480, 640, 3), np.uint8), i * STEP_NS, i) for i in range(3)]
    stub = stub_landmarker([[]])
    with CameraGaze(Frames(dark), FaceReader(make=stub.make), Mapping()) as source:
        readings = drain(source, 3)
        assert source.state is SourceState.LOST
        assert "black pictures" in source.reason
    assert not any(r.sample["valid"] for r in readings)


def test_M15_mirroring_the_preview_does_not_reach_the_gaze(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    with CameraGaze(Frames(noisy(1)), FaceReader(make=stub.make), Mapping()) as source:
        (reading,) = source.read()
    mirrored = reading.frame.rgb[:, ::-1]
    assert not np.array_equal(stub.seen[0], mirrored)
    np.testing.assert_array_equal(stub.seen[0], reading.frame.rgb)
    with pytest.raises((ValueError, AttributeError, TypeError)):
        reading.frame.rgb = mirrored


def test_distance_by_the_iris(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    with CameraGaze(Frames(noisy(1)), FaceReader(make=stub.make)) as source:
        (reading,) = source.read()
    row = reading.features.copy()
    row["iris_px"] = 11.7
    assert distance_mm(row, 640, 600.0) == pytest.approx(600)
    assert distance_mm(row, 640) == pytest.approx(554, abs=1)


def test_a_source_that_does_not_open_is_closed(stub_landmarker):
    class Refuses(Frames):
        def open(self) -> None:
            raise CameraError("no camera")

    frames = Refuses([])
    with pytest.raises(CameraError), CameraGaze(frames, FaceReader(make=stub_landmarker([[]]).make)):
        pass
    assert frames.closed == 1


def test_half_blinks_are_the_only_ones_in_a_real_video(shared_data):
    """655 real frames; two half-blinks near 497 and 584 may be reported, nothing else."""
    video = VideoFile(shared_data / "gaze" / "video" / "lokeye_crop.mpg", clock=lambda: 0)
    with CameraGaze(video, FaceReader(), Mapping()) as source:
        readings = drain(source, 655)
        assert source.state is SourceState.ENDED
    samples = np.array([r.sample for r in readings])
    features = np.array([r.features for r in readings])
    assert len(samples) == 655
    assert features["valid"].all()
    blinks = np.nonzero(samples["blink"])[0]
    assert all(min(abs(i - 497), abs(i - 584)) <= 3 for i in blinks), blinks
    assert (samples["valid"] == ~samples["blink"]).all()
    np.testing.assert_allclose(np.diff(samples["time_ns"]) / 1e6, 1000 / 24, atol=0.01)
