"""What a replayed moment costs: looking it up and painting it, against Qt's bare drawImage of the same chart.

Run: python benchmarks/replay.py [--fixations 500] [--repeats 200]

A made-up session of one long trial at 60 Hz is played to its end at 60 frames a second, when all its
fixations are on the chart; the canvas paints each moment, heat map and all, into a 1280 x 720 image.
Scrubbing back draws the scan path anew. The bare call is timed between the others, so that a busy machine
slows all alike: trust the ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.pipeline.replay import Replay
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

SCREEN = Screen("benchmark", 1920, 1080, 344.0, 194.0, 600.0)
RATE_HZ, FIXATION_S, SACCADE_S = 60, 0.30, 0.05


def write_session(root: Path, picture: Picture, n_fixations: int) -> Path:
    """Record one trial with that many looks at places drawn at random."""
    rng = np.random.default_rng(3)
    step_s = 1 / RATE_HZ
    per_look = round((FIXATION_S + SACCADE_S) / step_s)
    places = rng.uniform((200, 250), (1700, 1000), (n_fixations, 2))
    rows = empty_gaze(n_fixations * per_look)
    rows["time_ns"] = (np.arange(len(rows)) * step_s * 1e9).astype(np.int64)
    where = np.repeat(places, per_look, 0) + rng.normal(0, 5, (len(rows), 2))
    rows["x_px"], rows["y_px"], rows["valid"] = where[:, 0], where[:, 1], True
    header = SessionHeader("B1", SCREEN, SourceRecord("benchmark", "made up", RATE_HZ))
    end_ns = int(rows["time_ns"][-1]) + 1
    with SessionWriter.create(root, "replayed", header) as writer:
        writer.stimulus(picture)
        writer.gaze(rows)
        asked = {
            "chart_id": "c",
            "question": "?",
            "answer": None,
            "picture_sha256": picture.sha256,
            "order": 0,
        }
        place = Placement(320.0, 200.0, 1280.0, 800.0, picture.width_px, picture.height_px)
        writer.marker({"kind": "stimulus_on", "time_ns": 0, "placement": place, **asked})
        writer.marker({"kind": "stimulus_off", "time_ns": end_ns})
    return root / "sessions" / "replayed"


def median_ms(steps: dict[str, Callable[[int], None]], repeats: int) -> dict[str, float]:
    """Time the steps in turns."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for k in range(repeats):
        for name, step in steps.items():
            start = time.perf_counter_ns()
            step(k)
            taken[name].append((time.perf_counter_ns() - start) / 1e6)
    return {name: statistics.median(ms) for name, ms in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fixations", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=200)
    given = parser.parse_args()

    from PyQt6.QtCore import QRect
    from PyQt6.QtGui import QImage, QPainter
    from PyQt6.QtWidgets import QApplication

    from gazelab.ui.canvas import ChartCanvas, Heat, rgb_image

    app = QApplication([])
    rng = np.random.default_rng(1)
    picture = Picture.from_rgb(rng.integers(0, 256, (800, 1280, 3), np.uint8))
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay.open(write_session(Path(folder), picture, given.fixations))
        trial = replay.trials[0]
        start = time.perf_counter_ns()
        n_found = len(replay.online_fixations(trial))
        detected_s = (time.perf_counter_ns() - start) / 1e9
        moments = [trial.offset_ns - k * round(1e9 / RATE_HZ) for k in range(given.repeats, 0, -1)]
        canvas = ChartCanvas()
        canvas.resize(1280, 720)
        canvas.set_picture(picture)
        canvas.set_heat(Heat(rng.random((160, 256))))
        target = QImage(1280, 720, QImage.Format.Format_RGB32)
        bare = rgb_image(picture.rgb)

        def draw_bare(_: int) -> None:
            with QPainter(target) as painter:
                painter.drawImage(QRect(0, 0, 1280, 720), bare)

        def look_up(k: int) -> None:
            replay.view_at(trial, moments[k])

        def paint(k: int) -> None:
            canvas.set_view(replay.view_at(trial, moments[k]))
            canvas.render(target)

        def scrub_back(k: int) -> None:
            canvas.set_view(replay.view_at(trial, moments[-1] - k * 10**9))
            canvas.render(target)

        paint(0)
        steps = {"bare drawImage": draw_bare, "view_at": look_up, "view_at + paint": paint}
        cost = median_ms(steps, given.repeats)
        cost |= median_ms({"scrub back": scrub_back}, 10)
    print(f"{n_found} fixations found online in {detected_s:.2f} s ({trial.offset_ns / 1e9:.0f} s of gaze)")
    for name, ms in cost.items():
        print(f"{name:16} {ms:7.2f} ms   x {ms / cost['bare drawImage']:.2f}")
    del app


if __name__ == "__main__":
    main()
