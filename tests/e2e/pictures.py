"""Videos and cameras made for a test."""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image

from gazelab.core.geometry import Screen
from gazelab.core.opencv import cv2
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_script import GazeScript

SCREEN = Screen("laptop", 1920, 1080, 345.0, 194.0, 600.0, "user")
FRAME_S = 1 / 30


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


@contextlib.contextmanager
def black_camera() -> Iterator[str]:
    """Serve black pictures as a network camera does (MJPEG over HTTP) on this machine; gives the address."""
    jpeg = io.BytesIO()
    Image.new("RGB", (320, 240)).save(jpeg, "JPEG")
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=picture")
            self.end_headers()
            head = f"--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg.getvalue())}\r\n\r\n"
            with contextlib.suppress(ConnectionError):
                while not stop.wait(FRAME_S):
                    self.wfile.write(head.encode() + jpeg.getvalue() + b"\r\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, args=(POLL_S,), name="black camera")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/video.mjpg"
        finally:
            stop.set()
            server.shutdown()
            thread.join()


POLL_S = 0.05
