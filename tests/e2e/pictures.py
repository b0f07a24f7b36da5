"""Videos and cameras made for a test."""

from __future__ import annotations

import contextlib
import io
import itertools
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gazelab.core.geometry import Screen
from gazelab.core.opencv import cv2
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_script import GazeScript

SCREEN = Screen("laptop", 1920, 1080, 345.0, 194.0, 600.0, "user")
FRAME_S = 1 / 30
POLL_S = 0.05


def face_video(path: Path, n_frames: int) -> Path:
    """Write a video of the synthetic participant, who looks at the screen's centre, at 30 frames a second."""
    script = GazeScript(SCREEN)
    script.look_at(SCREEN.width_px / 2, SCREEN.height_px / 2, 0)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 30.0, (640, 480))
    with SyntheticParticipant(script, SCREEN, start_ns=0) as participant:
        for _ in range(n_frames):
            frame = participant.read()
            assert frame is not None
            writer.write(cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2BGR))
    writer.release()
    return path


def black_pictures() -> Iterator[bytes]:
    """JPEG after JPEG of black, as behind a shut cover."""
    return itertools.repeat(_jpeg(np.zeros((240, 320, 3), np.uint8)))


def noisy_pictures(n: int) -> Iterator[bytes]:
    """So many JPEGs, each another one."""
    rng = np.random.default_rng(0)
    return (_jpeg(rng.integers(90, 160, (240, 320, 3), np.uint8)) for _ in range(n))


@contextlib.contextmanager
def network_camera(pictures: Iterator[bytes]) -> Iterator[str]:
    """Serve JPEGs as a network camera does (MJPEG over HTTP) on this machine; gives the address.

    When there are no more, the line stays open and silent.
    """
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=picture")
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                for jpeg in pictures:
                    head = f"--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
                    self.wfile.write(head.encode() + jpeg + b"\r\n")
                    if stop.wait(FRAME_S):
                        return
                stop.wait()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, args=(POLL_S,), name="camera")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/video.mjpg"
        finally:
            stop.set()
            server.shutdown()
            thread.join()


def _jpeg(rgb: NDArray[np.uint8]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(rgb).save(out, "JPEG")
    return out.getvalue()
