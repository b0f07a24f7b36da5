from __future__ import annotations

import csv
import hashlib
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.errors import CameraError
from gazelab.core.gaze import SourceState
from gazelab.core.opencv import cv2
from gazelab.sources.video import VideoFile

VFR = "vfr_20_10_30_20fps_100_frames_each"
CORNERS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}


def read_all(video: VideoFile) -> list:
    frames = []
    while (frame := video.read()) is not None:
        frames.append(frame)
    return frames


def write_video(path: Path, n: int = 8, rate: float = 25.0) -> Path:
    """320 x 240, a corner each in red, green, blue and white; a bar that moves from frame to frame."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), rate, (320, 240))
    for i in range(n):
        rgb = np.full((240, 320, 3), 90, np.uint8)
        rgb[:80, :80], rgb[:80, -80:], rgb[-80:, :80], rgb[-80:, -80:] = CORNERS.values()
        rgb[100:140, 20 * i : 20 * i + 30] = 0
        writer.write(rgb[..., ::-1])
    writer.release()
    return path


def test_C9_times_are_the_containers_own(cases):
    with (cases / f"{VFR}_truth.csv").open() as file:
        truth_s = np.array([float(r["t_s"]) for r in csv.DictReader(file)])
    with VideoFile(cases / f"{VFR}.mp4", clock=lambda: 7_000_000_000) as video:
        frames = read_all(video)
        assert video.state is SourceState.ENDED
        assert video.n_bad_stamps == 0
    assert len(frames) == len(truth_s) == 400
    seconds = np.array([f.time_ns - 7_000_000_000 for f in frames]) / 1e9
    assert np.abs(seconds - truth_s).max() < 0.005
    by_index = np.arange(400) / 17.14310204431492
    assert np.abs(by_index - truth_s).max() > 1, "index over frame rate, the wrong way, must fail this"


def test_C20_the_rate_is_measured_never_read(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.mp4", n=30, rate=25.0)
    real = cv2.VideoCapture

    for nonsense in (0, -1, float("nan"), float("inf"), 90000, 180000):

        class Lies:
            def __init__(self, name, nonsense=nonsense):
                self.inner, self.nonsense = real(name), nonsense

            def get(self, key):
                return self.nonsense if key == cv2.CAP_PROP_FPS else self.inner.get(key)

            def __getattr__(self, name):
                return getattr(self.inner, name)

        monkeypatch.setattr(cv2, "VideoCapture", Lies)
        with VideoFile(path) as video:
            assert np.isnan(video.rate_hz)
            assert len(read_all(video)) == 30
            assert video.rate_hz == pytest.approx(25.0, rel=0.05)
            assert np.isnan(video.info.nominal_rate_hz)


def test_C9_stamps_that_do_not_grow_are_mended_and_counted(tmp_path, monkeypatch):
    path = write_video(tmp_path / "a.mp4")
    stamps = iter([0.0, 40.0, 80.0, 80.0, float("nan"), 0.0, 240.0, -1.0])
    real = cv2.VideoCapture

    class Broken:
        def __init__(self, name):
            self.inner = real(name)

        def get(self, key):
            return next(stamps) if key == cv2.CAP_PROP_POS_MSEC else self.inner.get(key)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    monkeypatch.setattr(cv2, "VideoCapture", Broken)
    with VideoFile(path, clock=lambda: 0) as video:
        times = [f.time_ns // 1_000_000 for f in read_all(video)]
        assert video.n_bad_stamps == 4
    assert times == [0, 40, 80, 120, 160, 200, 240, 280]


def test_C10_a_second_linear_pass_gives_the_same_frames_at_the_same_times(cases):
    """There is no seeking by frame number; whoever wants a moment reads up to it."""

    def fingerprints() -> list[tuple[int, str]]:
        with VideoFile(cases / f"{VFR}.mp4", clock=lambda: 0) as video:
            return [(f.time_ns, hashlib.sha256(f.rgb).hexdigest()) for f in read_all(video)]

    first, second = fingerprints(), fingerprints()
    assert first == second
    assert len({digest for _, digest in first}) == 300, "its last hundred pictures are those of its first"


def turn_90(path: Path) -> None:
    """Write a quarter turn clockwise into the track header's display matrix (ISO/IEC 14496-12)."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4
    matrix = at + (52 if data[at] == 1 else 40)
    one = 0x10000
    struct.pack_into(">9i", data, matrix, 0, one, 0, -one, 0, 0, 240 * one, 0, 0x40000000)
    path.write_bytes(bytes(data))


def test_C11_a_rotation_tag_is_applied_once(tmp_path):
    path = write_video(tmp_path / "phone.mp4")
    with VideoFile(path) as video:
        plain = video.read()
        assert dict(video.info.detail)["rotation_deg"] == "0"
    turn_90(path)
    with VideoFile(path) as video:
        turned = video.read()
        assert dict(video.info.detail)["rotation_deg"] == "90"
        assert dict(video.info.detail)["width_px"] == "240"
    assert plain is not None
    assert turned is not None
    assert turned.rgb.shape == (320, 240, 3)
    expect = np.rot90(plain.rgb, -1)
    for corner in ((20, 20), (20, -20), (-20, 20), (-20, -20)):
        assert np.abs(turned.rgb[corner].astype(int) - expect[corner].astype(int)).max() < 40


def test_a_file_cut_off_while_recording_is_refused_with_what_to_do(cases):
    video = VideoFile(cases / "mp4_killed_no_moov.mp4")
    with pytest.raises(CameraError, match="cut off") as fault:
        video.open()
    assert "mp4_killed_no_moov" in str(fault.value)
    assert video.state is SourceState.IDLE
    video.close()


@pytest.mark.parametrize("name", ["missing.mp4", "text.mp4", "empty.mp4", "."])
def test_what_is_no_video_is_refused(tmp_path, name):
    (tmp_path / "text.mp4").write_text("no video")
    (tmp_path / "empty.mp4").touch()
    with pytest.raises(CameraError):
        VideoFile(tmp_path / name).open()


def test_paced_frames_come_in_their_own_time_and_late_ones_are_skipped(tmp_path):
    path = write_video(tmp_path / "a.mp4", n=8, rate=25.0)
    now = 1_000_000_000

    def wait(seconds: float) -> None:
        nonlocal now
        now += round(seconds * 1e9)

    with VideoFile(path, paced=True, clock=lambda: now, wait=wait) as video:
        first = video.read()
        assert first is not None
        assert first.index == 0
        assert video.read() is None, "the second frame is due in 40 ms"
        second = video.read(timeout_s=0.1)
        assert second is not None
        assert (second.index, now) == (1, 1_040_000_000)
        now += 165_000_000
        third = video.read()
        assert third is not None
        assert third.index == 5, "three late frames are dropped, the newest is given"
        now += 10_000_000_000
        assert video.read().index == 7
        assert video.state is SourceState.ENDED
        assert video.read(1.0) is None


def test_C19_the_first_import_of_opencv_leaves_qt_alone():
    code = (
        "import os, gazelab.sources.video, gazelab.sources.camera_gaze; from gazelab.core.opencv import cv2;"
        "left = [v for k, v in os.environ.items() if k.startswith('QT_QPA') and 'cv2' in v];"
        "assert not left, left; assert os.environ['OPENCV_VIDEOIO_MSMF_ENABLE_HW_TRANSFORMS'] == '0'"
    )
    root = str(Path(__file__).resolve().parents[3])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QT_QPA")} | {"PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
