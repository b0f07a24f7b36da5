"""The grab thread: on a stand-in for what can't be had, and on a real stream that OpenCV reads."""

from __future__ import annotations

import http.server
import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gazelab.core.errors import CameraError, Cancelled
from gazelab.core.gaze import SourceState
from gazelab.core.opencv import cv2
from gazelab.sources import webcam
from gazelab.sources.base import CameraAsk
from gazelab.sources.webcam import Webcam

MS = 1_000_000


class FakeCapture:
    """A camera whose pictures, delays and failures are scripted; each grab waits for `allow`."""

    def __init__(self, *, opens=True, pictures=10**6, fps=30.0, black=False):
        self.opens, self.pictures, self.fps = opens, pictures, fps
        self.allow = threading.Semaphore(0)
        self.grabbed = 0
        self.set_calls: list[tuple[int, float]] = []
        self.released = threading.Event()
        self.position_ms = 0.0
        self.values = {cv2.CAP_PROP_FRAME_WIDTH: 1280.0}

    def isOpened(self):
        return self.opens

    def get(self, key):
        if key == cv2.CAP_PROP_FPS:
            return self.fps
        if key == cv2.CAP_PROP_POS_MSEC:
            return self.position_ms
        return self.values.get(key, 0.0)

    def set(self, key, value):
        self.set_calls.append((key, value))
        return True

    def grab(self):
        if not self.allow.acquire(timeout=0.005):
            return False
        if self.grabbed >= self.pictures:
            return False
        self.grabbed += 1
        return True

    def retrieve(self):
        return True, np.full((48, 64, 3), self.grabbed % 256, np.uint8)

    def release(self):
        self.released.set()


def picture(camera: Webcam, fake: FakeCapture):
    fake.allow.release()
    return camera.read(timeout_s=5)


def opened(fake: FakeCapture, **more) -> Webcam:
    fake.allow.release()
    return Webcam(0, make=lambda device: fake, **more)


def test_gives_pictures_with_the_size_that_arrived():
    fake = FakeCapture()
    with opened(fake) as camera:
        assert camera.state is SourceState.OK
        frame = camera.read()
        assert frame.rgb.shape == (48, 64, 3)
        assert camera.read() is None
        assert picture(camera, fake).index == 1
        detail = dict(camera.info.detail)
        assert (detail["width_px"], detail["height_px"], detail["asked_px"]) == ("64", "48", "1280x720")
    assert fake.released.is_set()
    assert camera.state is SourceState.IDLE


def test_C1_only_settings_that_differ_are_asked_for():
    fake = FakeCapture(fps=30.0)
    with opened(fake):
        pass
    asked = dict(fake.set_calls)
    assert asked[cv2.CAP_PROP_FOURCC] == cv2.VideoWriter.fourcc(*"MJPG")
    assert asked[cv2.CAP_PROP_FRAME_HEIGHT] == 720
    assert cv2.CAP_PROP_FRAME_WIDTH not in asked
    assert cv2.CAP_PROP_FPS not in asked


def test_only_the_newest_picture_is_kept():
    fake = FakeCapture()
    with opened(fake) as camera:
        for _ in range(4):
            fake.allow.release()
        done = threading.Event()
        for _ in range(1000):
            if fake.grabbed == 5 and camera.n_dropped == 4:
                break
            done.wait(0.005)
        frame = camera.read()
        assert frame.index == 4
        assert camera.n_dropped == 4


def test_C1_opening_can_be_cancelled_while_the_driver_is_busy():
    busy, release = threading.Event(), threading.Event()

    def slow(device):
        busy.set()
        release.wait()
        return FakeCapture(opens=False)

    camera = Webcam(0, make=slow)
    got: list[BaseException] = []

    def opening():
        try:
            camera.open()
        except Cancelled as fault:
            got.append(fault)

    caller = threading.Thread(target=opening)
    caller.start()
    assert busy.wait(5)
    assert camera.state is SourceState.OPENING
    assert camera.read() is None
    camera.close()
    caller.join(1)
    assert not caller.is_alive()
    assert len(got) == 1
    release.set()


def test_C1_opening_has_a_deadline():
    release = threading.Event()

    def slow(device):
        release.wait()
        return FakeCapture(opens=False)

    camera = Webcam(0, make=slow, open_deadline_s=0.05)
    with pytest.raises(CameraError, match="no picture within"):
        camera.open()
    assert camera.state is SourceState.IDLE
    release.set()


def test_C1_begin_returns_at_once_and_read_tells_of_a_failure():
    camera = Webcam(0, make=lambda device: FakeCapture(opens=False))
    camera.begin()
    with pytest.raises(CameraError):
        camera.read(timeout_s=10)
    assert camera.state is SourceState.ERROR
    camera.close()


def test_C3_close_returns_though_a_read_never_does():
    release = threading.Event()

    class Stuck(FakeCapture):
        def grab(self):
            if self.grabbed:
                release.wait()
            return super().grab()

    fake = Stuck()
    camera = opened(fake)
    camera.open()
    before = time.monotonic()
    camera.close()
    assert time.monotonic() - before < 2, "the promise under test is a time"
    assert camera.state is SourceState.IDLE
    assert not fake.released.is_set(), "the capture still belongs to the stuck driver"
    release.set()
    assert fake.released.wait(5)


def test_C2_no_new_picture_for_a_second_is_lost_and_comes_back():
    fake = FakeCapture()
    now = 0
    with opened(fake, clock=lambda: now) as camera:
        camera.read()
        now += 900 * MS
        assert camera.state is SourceState.OK
        now += 200 * MS
        assert camera.state is SourceState.LOST
        assert camera.read() is None
        assert picture(camera, fake).time_ns == now
        assert camera.state is SourceState.OK


def test_C2_a_camera_that_is_plugged_in_again_is_opened_again(monkeypatch):
    monkeypatch.setattr(webcam, "RETRY_S", 0.01)
    first, gone, second = FakeCapture(), FakeCapture(opens=False), FakeCapture()
    fakes = iter([first, gone, second])
    now = 0
    first.allow.release()
    second.allow.release()
    with Webcam(0, make=lambda device: next(fakes), clock=lambda: now) as camera:
        assert camera.read().index == 0
        now += 3000 * MS
        assert first.released.wait(5)
        again = camera.read(timeout_s=5)
        assert again.index == 1
        assert again.time_ns == now


@pytest.mark.parametrize("nonsense", [0, -1, float("nan"), float("inf"), 90000, 180000])
def test_C20_the_rate_is_measured_never_asked(nonsense):
    fake = FakeCapture(fps=nonsense)
    now = 0
    with opened(fake, clock=lambda: now) as camera:
        assert camera.read().index == 0
        assert np.isnan(camera.rate_hz)
        for _ in range(20):
            now += 50 * MS
            assert picture(camera, fake) is not None
        assert camera.rate_hz == pytest.approx(20, rel=0.05)
        assert np.isnan(camera.info.nominal_rate_hz)


@pytest.mark.parametrize(
    ("position_ms", "expect_ms"), [(0.0, 10_000), (9_960.0, 9_960), (10_500.0, 10_000), (1e9, 10_000)]
)
def test_the_drivers_stamp_is_used_only_where_it_is_on_our_clock(monkeypatch, position_ms, expect_ms):
    monkeypatch.setattr(webcam, "sys", SimpleNamespace(platform="linux"))
    fake = FakeCapture()
    fake.position_ms = position_ms
    with opened(fake, clock=lambda: 10_000 * MS, ask=CameraAsk(latency_ns=7 * MS)) as camera:
        frame = camera.read()
    assert frame.time_ns == (expect_ms - 7) * MS
    assert frame.device_ns == expect_ms * MS
    assert camera.info.latency_ns == 7 * MS


def test_no_camera_says_so():
    camera = Webcam(63)
    with pytest.raises(CameraError) as fault:
        camera.open()
    assert "camera 63" in str(fault.value)
    assert fault.value.todo
    with pytest.raises(CameraError, match="no such camera"):
        Webcam("No Such Camera In The World")


def test_a_picture_sequence_is_a_device(tmp_path):
    for i in range(5):
        cv2.imwrite(str(tmp_path / f"f_{i:03d}.png"), np.full((48, 64, 3), (0, 0, 40 * i), np.uint8))
    with Webcam(str(tmp_path / "f_%03d.png")) as camera:
        frame = camera.read(timeout_s=5)
        assert frame.rgb.shape == (48, 64, 3)
        assert frame.rgb[0, 0].tolist() == [40 * frame.index, 0, 0], "red in, red out"


class Motion(http.server.BaseHTTPRequestHandler):
    """A network camera: JPEGs one after another, each greyer than the last."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        try:
            for i in range(400):
                if self.server.over.is_set():
                    break
                ok, jpeg = cv2.imencode(".jpg", np.full((120, 160, 3), i % 250, np.uint8))
                assert ok
                head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
                self.wfile.write(head.encode() + jpeg.tobytes() + b"\r\n")
                self.server.over.wait(0.01)
        except OSError:
            return

    def log_message(self, *args):
        pass


def test_a_motion_jpeg_server_on_loopback_is_read_newest_first():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Motion)
    server.over = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with Webcam(f"http://127.0.0.1:{server.server_address[1]}/stream.mjpg") as camera:
            frames = [camera.read(timeout_s=5) for _ in range(3)]
            server.over.wait(0.2)
            late = camera.read(timeout_s=5)
            assert camera.n_dropped > 2
            assert camera.rate_hz > 10
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
    assert all(f.rgb.shape == (120, 160, 3) for f in frames)
    assert all(b.time_ns > a.time_ns for a, b in itertools.pairwise(frames))
    assert late.index - frames[-1].index > 2, "a slow reader gets the newest picture, not a queue of old ones"
