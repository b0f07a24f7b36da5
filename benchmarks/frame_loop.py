"""What a camera frame costs: features and gaze against the bare landmarker call on the same frames.

Run: python benchmarks/frame_loop.py [--frames 150]

Each step is timed on every frame, in one process and in an order that rotates, so that a busy machine slows
all alike: trust the ratios. The frames are the synthetic participant's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from gazelab.calibration.mapping import GazeMapping, fit
from gazelab.core.gaze import Frame, SourceState
from gazelab.core.geometry import Screen
from gazelab.sources.base import SourceInfo
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.face import FaceReader, load_model, make_landmarker
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_script import GazeScript, Look

SCREEN = Screen("benchmark", 1920, 1080, 344, 194, 600)
WARM_UP = 10
CALIBRATION_FRAMES = 110


class Given:
    """A frame source that gives the one frame it holds."""

    state = SourceState.OK
    info = SourceInfo("given", "given")

    def __init__(self) -> None:
        self.frame: Frame | None = None

    def open(self) -> None:
        """Nothing to do."""

    def read(self, timeout_s: float = 0.0) -> Frame | None:
        """Give it."""
        return self.frame

    def close(self) -> None:
        """Nothing to do."""


def participant(frame_px: tuple[int, int]) -> SyntheticParticipant:
    places = [(x, y) for y in (60, 540, 1020) for x in (80, 960, 1840)]
    looks = [Look(k * 400_000_000, k * 400_000_000 + 330_000_000, *at) for k, at in enumerate(places * 10)]
    return SyntheticParticipant(GazeScript(SCREEN, looks), SCREEN, frame_px=frame_px, start_ns=0)


def calibrated(source: SyntheticParticipant, reader: FaceReader) -> GazeMapping:
    """Fit on one round of the nine places."""
    frames = [source.read() for _ in range(CALIBRATION_FRAMES)]
    rows = np.array([reader.read(f).features for f in frames])
    places = np.array([source.script.position(int(t)) for t in rows["time_ns"]])
    _, index = np.unique(places.round(), axis=0, return_inverse=True)
    return fit(rows, places, index, SCREEN)


def measure(frame_px: tuple[int, int], n: int) -> dict[str, float]:
    """Median ms of each step; the steps take turns in being first on a frame."""
    import mediapipe

    bare = make_landmarker(load_model(), "VIDEO", 0.5)
    given = Given()
    spent: dict[str, list[float]] = {}
    with participant(frame_px) as source, CameraGaze(given, FaceReader()) as gaze, FaceReader() as faces:
        gaze.mapping = calibrated(source, faces)
        for k in range(n + WARM_UP):
            start = time.perf_counter()
            given.frame = frame = source.read()
            assert frame is not None
            spent.setdefault("render the synthetic face", []).append(time.perf_counter() - start)
            image = mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=frame.rgb)
            steps: list[tuple[str, Callable[[], object]]] = [
                ("landmarker alone", partial(bare.detect_for_video, image, 33 * k)),
                ("landmarker + features", partial(faces.read, frame)),
                ("whole loop to gaze", gaze.read),
            ]
            for name, step in steps[k % 3 :] + steps[: k % 3]:
                start = time.perf_counter()
                step()
                spent.setdefault(name, []).append(time.perf_counter() - start)
    bare.close()
    return {name: float(np.median(times[WARM_UP:])) * 1e3 for name, times in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=150)
    n = parser.parse_args().frames
    for frame_px in ((640, 480), (1280, 720)):
        steps = measure(frame_px, n)
        alone = steps["landmarker alone"]
        print(f"\n{frame_px[0]} x {frame_px[1]} px, median of {n} frames")
        print(f"{'step':<28}{'ms':>8}{'ratio to the landmarker':>26}")
        for name, ms in sorted(steps.items(), key=lambda item: item[1]):
            print(f"{name:<28}{ms:>8.2f}{ms / alone:>26.2f}")


if __name__ == "__main__":
    main()
