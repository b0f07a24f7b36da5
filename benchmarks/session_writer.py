"""What a row costs in the session writer, against a bare write of the same bytes in the same run.

    python benchmarks/session_writer.py [--rows N] [--repeats N]

Two costs count: the caller's (the acquisition thread hands the row over and goes on) and the whole (until the
writer's thread has given every row to the kernel). Trust the ratios, not the microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gazelab.core.gaze import FEATURE_DTYPE, GAZE_DTYPE, empty_features, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.sessions.reader import Session
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter

HEADER = SessionHeader("p1", Screen("bench", 1920, 1080), SourceRecord("synthetic"))


def bare(folder: Path, batches: list[np.ndarray], buffering: int) -> tuple[float, float]:
    start = time.perf_counter()
    with (folder / "bare").open("wb", buffering=buffering) as file:
        for batch in batches:
            file.write(batch.tobytes())
        handed = time.perf_counter()
    (folder / "bare").unlink()
    return handed - start, time.perf_counter() - start


def ours(folder: Path, batches: list[np.ndarray], put: str) -> tuple[float, float]:
    n_rows = sum(len(batch) for batch in batches)
    with SessionWriter.create(folder, "bench", HEADER, queue_bytes=2**31) as writer:
        hand_over = getattr(writer, put)
        start = time.perf_counter()
        for batch in batches:
            hand_over(batch)
        handed = time.perf_counter()
        stream = getattr(writer._streams, put)
        while stream.n_out < n_rows:
            time.sleep(0.0005)
        done = time.perf_counter()
    session = Session.open(writer.path)
    assert len(getattr(session, put)()) == n_rows
    for file in sorted(writer.path.rglob("*")):
        file.unlink()
    writer.path.rmdir()
    return handed - start, done - start


def median_us(run: Callable[[], tuple[float, float]], n_rows: int, repeats: int) -> tuple[float, float]:
    costs = [run() for _ in range(repeats)]
    caller = statistics.median(c for c, _ in costs)
    whole = statistics.median(w for _, w in costs)
    return caller / n_rows * 1e6, whole / n_rows * 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=60_000)
    arguments.add_argument("--repeats", type=int, default=5)
    options = arguments.parse_args()
    print(f"{'rows':34} {'writer':28} {'caller µs/row':>14} {'whole µs/row':>13} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as name:
        for put, rows, step in (
            ("gaze", empty_gaze(options.rows), 1),
            ("gaze", empty_gaze(options.rows), 12),
            ("features", empty_features(options.rows // 10), 1),
        ):
            rows["time_ns"] = np.arange(len(rows)) * 833_333
            batches = [rows[i : i + step] for i in range(0, len(rows), step)]
            size = (GAZE_DTYPE if put == "gaze" else FEATURE_DTYPE).itemsize
            label = f"{len(rows)} {put} of {size} B, {step} a call"
            contestants: dict[str, Callable[[], tuple[float, float]]] = {
                "bare write, unbuffered": lambda b=batches: bare(Path(name), b, 0),
                "bare write, 8 kB buffer": lambda b=batches: bare(Path(name), b, -1),
                "SessionWriter, 10 ms flush": lambda b=batches, p=put: ours(Path(name), b, p),
            }
            base = None
            for who, run in contestants.items():
                caller, whole = median_us(run, len(rows), options.repeats)
                base = base or whole
                print(f"{label:34} {who:28} {caller:14.2f} {whole:13.2f} {whole / base:6.2f}")


if __name__ == "__main__":
    main()
