"""What a camera frame costs in gazelab, beside the bare FaceLandmarker call on the same frames.

    python benchmarks/frames.py [--size 1280x720] [--blocks 60] [--frames 15] [--json FILE]
    python benchmarks/frames.py --minutes 30 [--size 640x480]

The whole loop: a capture stub that hands over pictures as the camera's thread does, the face landmarker,
features, mapping, ring of samples, online fixations and a session on disk (`Acquisition.pump`, as when
recording). The bare call: the same landmarker with the same options, its own result, on the same pictures.
The camera's thread turns a driver's BGR into RGB before either; what that takes is told beside them. All take
turns in short blocks, so that a busy machine slows all alike: trust the ratios. CPU time counts all threads.

With --minutes it runs that many minutes of a 30 Hz camera through the whole loop as fast as they go and tells
how much memory the process holds on the way; it fails if the second half adds more than a few MB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gazelab.calibration.head_box import HeadBox
from gazelab.calibration.mapping import GazeMapping, fit
from gazelab.core.gaze import Frame, SourceState
from gazelab.core.geometry import Screen
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import SourceInfo
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.face import FaceReader, load_model
from gazelab.sources.landmarker import make_task
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_script import GazeScript, Look

SCREEN = Screen("benchmark", 1920, 1080, 344, 194, 600)
STEP_NS = 33_333_333
N_PICTURES = 120
TRIAL_FRAMES = 1800
GROWTH_LIMIT_MB = 4.0


class Camera:
    """A capture stub: its pictures forth and back for ever, 30 a second."""

    state = SourceState.OK
    info = SourceInfo("synthetic", "capture stub", 30.0)

    def __init__(self, pictures: list[np.ndarray]) -> None:
        self._pictures, self._index = pictures, 0

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def read(self, timeout_s: float = 0.0) -> Frame:
        index, self._index = self._index, self._index + 1
        return frame_of(self._pictures, index)


def turn(index: int, n: int) -> int:
    """Count 0 … n-1 … 0 … for ever; no picture comes twice in a row."""
    place = index % (2 * n - 2)
    return min(place, 2 * n - 2 - place)


def frame_of(pictures: list[np.ndarray], index: int) -> Frame:
    time_ns = index * STEP_NS
    return Frame(pictures[turn(index, len(pictures))], time_ns, time_ns, index)


def rendered(size_px: tuple[int, int]) -> tuple[list[np.ndarray], GazeMapping, HeadBox | None]:
    """Give pictures of the synthetic participant looking at nine places, and the calibration they make."""
    places = [(x, y) for y in (60, 540, 1020) for x in (80, 960, 1840)]
    looks = [Look(k * 400_000_000, k * 400_000_000 + 330_000_000, *at) for k, at in enumerate(places * 2)]
    script = GazeScript(SCREEN, looks)
    with SyntheticParticipant(script, SCREEN, frame_px=size_px, start_ns=0) as person, FaceReader() as reader:
        frames = [person.read() for _ in range(N_PICTURES)]
        rows = np.array([reader.read(frame).features for frame in frames])
    at = np.array([script.position(int(t)) for t in rows["time_ns"]])
    target = np.unique(at.round(), axis=0, return_inverse=True)[1].reshape(-1)
    return [frame.rgb for frame in frames], fit(rows, at, target, SCREEN), HeadBox.of(rows)


@contextmanager
def whole_loop(
    pictures: list[np.ndarray], mapping: GazeMapping, head_box: HeadBox | None
) -> Iterator[Acquisition]:
    """Give everything that takes part in recording, with a trial running."""
    with (
        tempfile.TemporaryDirectory() as root,
        CameraGaze(Camera(pictures), FaceReader(), mapping, head_box) as gaze,
    ):
        header = header_for(gaze, SCREEN, "BENCHMARK", calibrated=True, for_dataset=False)
        with SessionWriter.create(Path(root), "frames", header) as writer:
            acquisition = Acquisition(gaze, SCREEN)
            acquisition.add_sink(writer)
            acquisition.begin_trial(None, 0)
            yield acquisition


def cost(step: Callable[[int], object], frames: range) -> tuple[float, float]:
    """Wall and CPU seconds of a block."""
    wall, cpu = time.perf_counter(), time.process_time()
    for k in frames:
        step(k)
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(size_px: tuple[int, int], n_blocks: int, n_frames: int) -> dict[str, Any]:
    """Measure bare call, landmarker with features, and whole loop, in blocks that take turns."""
    import mediapipe

    pictures, *calibration = rendered(size_px)
    bgr = [np.ascontiguousarray(picture[..., ::-1]) for picture in pictures]
    bare = make_task(load_model(), "VIDEO", 0.5)

    def call(k: int) -> object:
        rgb = pictures[turn(k, len(pictures))]
        image = mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=rgb)
        return bare.detect_for_video(image, k * STEP_NS // 1_000_000)

    with whole_loop(pictures, *calibration) as acquisition, FaceReader() as reader:
        steps: dict[str, Callable[[int], object]] = {
            "bare landmarker call": call,
            "landmarker + features": lambda k: reader.read(frame_of(pictures, k)),
            "whole loop": lambda k: acquisition.pump(),
            "BGR to RGB": lambda k: Frame.from_bgr(bgr[turn(k, len(bgr))], 0, 0),
        }
        names = list(steps)
        costs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for block in range(n_blocks + 1):  # the first warms up
            frames = range(block * n_frames, (block + 1) * n_frames)
            for name in names[block % 4 :] + names[: block % 4]:
                costs[name].append(cost(steps[name], frames))
        n_valid, n_seen = acquisition.n_valid, acquisition.count
    bare.close()
    assert n_seen == (n_blocks + 1) * n_frames
    return {
        "size_px": size_px,
        "blocks": n_blocks,
        "frames_a_block": n_frames,
        "share_with_gaze": n_valid / n_seen,
        "steps": {name: _figures(costs[name][1:], costs[names[0]][1:], n_frames) for name in names},
    }


def _figures(own: list[tuple[float, float]], bare: list[tuple[float, float]], n: int) -> dict[str, float]:
    """Medians over blocks; `rate_ratio` and its quartiles: frames a second over the bare call's."""
    rates = [b[0] / o[0] for o, b in zip(own, bare, strict=True)]
    quarters = statistics.quantiles(rates, n=4) if len(rates) > 1 else [rates[0]] * 3
    return {
        "wall_ms": statistics.median(o[0] for o in own) / n * 1e3,
        "cpu_ms": statistics.median(o[1] for o in own) / n * 1e3,
        "rate_ratio": quarters[1],
        "rate_ratio_q1": quarters[0],
        "rate_ratio_q3": quarters[2],
        "cpu_ratio": statistics.median(b[1] / o[1] for o, b in zip(own, bare, strict=True)),
    }


def rss_mb() -> float:
    """Give what the process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def soak(size_px: tuple[int, int], minutes: float) -> list[tuple[int, float]]:
    """Run a camera's minutes through the whole loop; frames so far and MB, once each camera minute."""
    pictures, *calibration = rendered(size_px)
    seen = []
    with whole_loop(pictures, *calibration) as acquisition:
        for k in range(round(minutes * 1800) + 1):
            if k % TRIAL_FRAMES == 0:
                seen.append((k, rss_mb()))
                print(f"minute {k // 1800:3}: {seen[-1][1]:8.1f} MB", file=sys.stderr)
                acquisition.begin_trial(None, k * STEP_NS)
            acquisition.pump()
            if k % 30 == 0:
                acquisition.snapshot()
    return seen


def tell(result: dict[str, Any]) -> None:
    width, height = result["size_px"]
    print(f"{width} x {height} px, {result['blocks']} blocks of {result['frames_a_block']} frames, medians")
    print(f"{'step':<24}{'ms':>8}{'CPU ms':>8}{'rate / bare':>13}{'quartiles':>14}{'CPU bare / own':>16}")
    for name, f in result["steps"].items():
        quartiles = f"{f['rate_ratio_q1']:.2f}–{f['rate_ratio_q3']:.2f}"
        print(
            f"{name:<24}{f['wall_ms']:>8.2f}{f['cpu_ms']:>8.2f}{f['rate_ratio']:>13.3f}{quartiles:>14}"
            f"{f['cpu_ratio']:>16.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--frames", type=int, default=15)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    if options.minutes is None:
        result = compare((width, height), options.blocks, options.frames)
        tell(result)
    else:
        seen = soak((width, height), options.minutes)
        warm, half, end = seen[min(1, len(seen) - 1)], seen[len(seen) // 2], seen[-1]
        growth = end[1] - half[1]
        print(f"start {seen[0][1]:.1f} MB, after {warm[0]} frames {warm[1]:.1f} MB, after {half[0]} frames")
        print(f"{half[1]:.1f} MB, after {end[0]} frames {end[1]:.1f} MB: {growth:+.2f} MB in the second half")
        result = {"size_px": (width, height), "frames_and_mb": seen, "second_half_mb": growth}
        if growth > GROWTH_LIMIT_MB:
            sys.exit(f"memory grew by {growth:.1f} MB, more than {GROWTH_LIMIT_MB:g} MB")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
