from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.errors import CameraError
from gazelab.core.gaze import Frame
from gazelab.core.picture import encode_png, load_picture
from gazelab.sources import face
from gazelab.sources.face import MODEL_PATH, FaceReader, load_model

MS = 1_000_000
BLANK = np.zeros((480, 640, 3), np.uint8)


def frame(index: int, time_ms: int, rgb: np.ndarray = BLANK) -> Frame:
    return Frame.from_rgb(rgb, time_ms * MS, index)


def test_finds_the_face_in_a_real_picture(face_rgb):
    with FaceReader() as reader:
        got = [reader.read(frame(i, 33 * i, face_rgb)) for i in range(3)]
    for reading in got:
        assert reading.features["valid"]
        assert reading.features["n_faces"] == 1
        assert reading.landmarks_px.shape == (478, 3)
    row = got[-1].features
    # Read off the picture by hand: the subject's left eye lies on the picture's right.
    np.testing.assert_allclose(row["eye_centre_px"], [[246, 104], [204, 102]], atol=3)
    np.testing.assert_allclose(row["eye_width_px"], 19, atol=2)
    np.testing.assert_allclose(row["iris_px"], 8.5, atol=1)


def test_still_needs_no_stream_and_takes_a_low_confidence(face_rgb):
    strip = face_rgb[92:135, 165:285]
    padded = np.pad(np.repeat(np.repeat(strip, 3, 0), 3, 1), ((100, 243), (170, 170), (0, 0)), mode="edge")
    with FaceReader() as reader:
        whole = reader.still(face_rgb)
        blank = reader.still(BLANK)
        low = reader.still(padded, min_confidence=0.05)
    assert whole.features["valid"]
    assert not blank.features["valid"]
    assert blank.features["n_faces"] == 0
    assert low.features["valid"], "an eye strip, padded, is found at confidence 0.05"


@pytest.mark.parametrize(
    "stamps", [(10, 10, 9, 11), (0, 33, 66, 0, 33), (5, 5, 5, 5)], ids=["step", "loop", "same"]
)
def test_M1_stamps_that_do_not_grow_reach_nobody(stub_landmarker, face_points, stamps):
    stub = stub_landmarker([[face_points]])
    with FaceReader(make=stub.make) as reader:
        rows = [reader.read(frame(i, t)).features for i, t in enumerate(stamps)]
    assert stub.made == 1
    assert all(b > a for a, b in zip(stub.stamps, stub.stamps[1:], strict=False))
    assert [int(r["time_ns"]) for r in rows] == [t * MS for t in stamps]
    assert all(r["valid"] for r in rows)


def test_M1_the_real_landmarker_survives_stamps_that_go_back(face_rgb):
    with FaceReader() as reader:
        rows = [reader.read(frame(i, t, face_rgb)).features for i, t in enumerate((10, 10, 9, 11, 0))]
    assert all(r["valid"] for r in rows)


def test_M1_one_failed_frame_starts_a_new_landmarker(stub_landmarker, face_points, caplog):
    stub = stub_landmarker([[face_points]], fail_at=(2,))
    with FaceReader(make=stub.make) as reader:
        rows = [reader.read(frame(i, 33 * i)).features for i in range(5)]
    assert stub.made == 2
    assert stub.closed == 2
    assert all(r["valid"] for r in rows)
    assert "landmarker failed" in caplog.text


def test_M1_a_landmarker_that_always_fails_is_a_camera_error(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]], fail_at=())

    def broken(image, stamp_ms):
        raise RuntimeError("graph has errors")

    stub.detect_for_video = broken
    with FaceReader(make=stub.make) as reader, pytest.raises(CameraError, match="graph has errors"):
        reader.read(frame(0, 0))


def test_M7_the_same_person_is_followed_when_faces_change_their_order(stub_landmarker, face_points):
    participant = face_points * (0.8, 0.8, 0.8)
    visitor = face_points * (1.2, 1.2, 1.2) + (150, 0, 0)
    alone = [[participant]] * 10
    together = [[participant, visitor]] * 10 + [[visitor, participant]] * 10
    stub = stub_landmarker(alone + together)
    with FaceReader(make=stub.make) as reader:
        rows = np.array([reader.read(frame(i, 33 * i)).features for i in range(30)])
    expect = participant[[362, 263], :2].mean(0)
    assert rows["valid"].all()
    np.testing.assert_allclose(rows["eye_centre_px"][:, 0], np.tile(expect, (30, 1)), atol=0.1)
    assert rows["n_faces"].tolist() == [1] * 10 + [2] * 20


def test_M7_a_visitor_alone_is_not_taken_for_the_participant_until_two_seconds_have_passed(
    stub_landmarker, face_points
):
    visitor = face_points + np.float32([300, 0, 0])
    stub = stub_landmarker([[face_points]] + [[visitor]] * 200)
    with FaceReader(make=stub.make) as reader:
        reader.read(frame(0, 0))
        soon = reader.read(frame(1, 1900))
        late = reader.read(frame(2, 4000))
    assert not soon.features["valid"]
    assert soon.ambiguous
    assert soon.landmarks_px is None
    assert late.features["valid"]


def test_M7_two_faces_at_equal_distance_are_ambiguous(stub_landmarker, face_points):
    shift = np.float32([60, 0, 0])
    two = [face_points + shift, face_points - shift]
    stub = stub_landmarker([[face_points], two])
    with FaceReader(make=stub.make) as reader:
        reader.read(frame(0, 0))
        both = reader.read(frame(1, 33))
    assert both.ambiguous
    assert not both.features["valid"]
    assert both.features["n_faces"] == 2


def test_M7_an_anchored_face_is_found_again_beside_a_larger_one(stub_landmarker, face_points):
    larger = face_points * 1.2 + (250, 0, 0)
    stub = stub_landmarker([[larger, face_points]])
    with FaceReader(make=stub.make) as reader:
        reader.follow(face_points)
        row = reader.read(frame(0, 10_000)).features
    np.testing.assert_allclose(row["eye_centre_px"][0], face_points[[362, 263], :2].mean(0), atol=0.1)


@pytest.mark.parametrize("spoil", ["zeros", "468 points", "no irises", "NaN"])
def test_M16_a_masked_face_gives_no_gaze(stub_landmarker, face_points, spoil):
    points = face_points.copy()
    if spoil == "zeros":
        points[:] = 0
    elif spoil == "468 points":
        points = points[:468]
    elif spoil == "no irises":
        points[468:] = 0
    else:
        points[473] = np.nan
    stub = stub_landmarker([[points]])
    with FaceReader(make=stub.make) as reader:
        got = reader.read(frame(0, 0))
    assert not got.features["valid"]
    assert np.isnan(got.features["iris"]).all()
    assert got.landmarks_px is None


def test_M14_red_stays_red_from_the_camera_to_the_landmarker_and_the_saved_picture(stub_landmarker):
    bgr = np.zeros((48, 64, 3), np.uint8)
    bgr[..., 2] = 255
    stub = stub_landmarker([[]])
    seen = Frame.from_bgr(bgr, 0, 0)
    with FaceReader(make=stub.make) as reader:
        reader.read(seen)
    assert (stub.seen[0] == (255, 0, 0)).all()
    assert (load_picture(encode_png(seen.rgb)).rgb == (255, 0, 0)).all()


@pytest.mark.parametrize("view", ["plain", "flipped", "bgr", "crop", "853 wide"])
def test_M13_every_view_of_an_array_reaches_the_landmarker_pixel_for_pixel(stub_landmarker, view):
    rng = np.random.default_rng(0)
    base = rng.integers(0, 256, (60, 853 if view == "853 wide" else 80, 3), np.uint8)
    pixels = {"flipped": base[:, ::-1], "bgr": base[..., ::-1], "crop": base[5:40, 3:70]}.get(view, base)
    stub = stub_landmarker([[]])
    with FaceReader(make=stub.make) as reader:
        reader.read(Frame.from_rgb(pixels, 0, 0))
    np.testing.assert_array_equal(stub.seen[0], pixels)


@pytest.mark.parametrize(
    "pixels", [np.zeros((4, 4)), np.zeros((4, 4, 3), float), np.zeros((4, 4, 4), np.uint8)]
)
def test_M13_other_arrays_are_refused(pixels):
    with pytest.raises(TypeError, match="uint8 RGB"):
        Frame.from_rgb(pixels, 0, 0)


def test_M8_missing_empty_and_foreign_model_files_are_told_apart(tmp_path):
    folder = tmp_path / "Pfad – путь 路径"
    folder.mkdir()
    path = folder / "face_landmarker.task"
    with pytest.raises(CameraError, match="missing") as missing:
        load_model(path)
    path.write_bytes(b"")
    with pytest.raises(CameraError, match="empty") as empty:
        load_model(path)
    path.write_bytes(MODEL_PATH.read_bytes()[:-1] + b"!")
    with pytest.raises(CameraError, match="another file") as foreign:
        load_model(path)
    assert len({e.value.what for e in (missing, empty, foreign)}) == 3
    for fault in (missing, empty, foreign):
        assert str(path) in str(fault.value)
        assert fault.value.todo


def test_M8_the_landmarker_gets_bytes_whatever_the_path(tmp_path, face_rgb):
    path = tmp_path / "Пользователь é" / "face.task"
    path.parent.mkdir()
    path.write_bytes(MODEL_PATH.read_bytes())
    with FaceReader(path) as reader:
        assert reader.still(face_rgb).features["valid"]
        assert reader.model_sha256 == face.MODEL_SHA256


def test_the_file_of_checksums_is_right():
    import hashlib

    lines = (MODEL_PATH.parent / "SHA256SUMS.txt").read_text(encoding="utf-8").split()
    for digest, name in zip(lines[::2], lines[1::2], strict=True):
        assert hashlib.sha256((MODEL_PATH.parent / name).read_bytes()).hexdigest() == digest
    assert face.MODEL_SHA256 in lines


def test_M9_only_the_tasks_api_is_used():
    root = Path(face.__file__).resolve().parents[1]
    named = [p for p in root.rglob("*.py") if "mp.solutions" in p.read_text(encoding="utf-8")]
    named += [p for p in root.rglob("*.py") if "mediapipe.solutions" in p.read_text(encoding="utf-8")]
    assert named == []


def test_close_twice_and_read_again(stub_landmarker, face_points):
    stub = stub_landmarker([[face_points]])
    reader = FaceReader(make=stub.make)
    reader.read(frame(0, 0))
    reader.close()
    reader.close()
    assert stub.closed == 1
    reader.restart()
    assert reader.read(frame(1, 0)).features["valid"]
    reader.close()


NO_INTERNET = Path(__file__).with_name("no_internet.py")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's socket filter is Linux only")
def test_a_run_of_the_landmarker_opens_no_internet_socket():
    def run(what: str) -> subprocess.CompletedProcess[str]:
        root = str(Path(face.__file__).resolve().parents[2])
        environment = {**os.environ, "PYTHONPATH": root}
        command = [sys.executable, str(NO_INTERNET), what]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    control = run("socket")
    if control.returncode == 77:
        pytest.skip(control.stdout)
    assert control.returncode == -31, "the filter must kill (SIGSYS) whoever opens an internet socket"
    done = run("landmarker")
    assert done.returncode == 0, done.stderr
    assert "frames with a face: 30" in done.stdout
