"""Our fixation detectors against plain I-VT, on the same scripted gaze in the same run.

    python benchmarks/events.py [--seconds N] [--repeats N]

The script: fixations of gamma-distributed length (mean 300 ms) with drift, saccades on the main sequence,
white noise. F1 counts a fixation as found at an overlap of one half (intersection over union). "blind" cuts
time into pieces of 300 ms without looking: the floor. Throughput is CPU time; trust the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from gazelab.core.geometry import Screen
from gazelab.processing.events import OnlineFixations, detect_fixations

SCREEN = Screen("bench", 1920, 1080, 344.0, 193.5, 600.0)
CONDITIONS = ((250, 0.05), (250, 0.5), (60, 0.05), (60, 0.5), (30, 0.05), (30, 0.5), (30, 1.0))
Recording = tuple[np.ndarray, np.ndarray, np.ndarray]


def script(seconds: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaze at 1000 Hz in degrees, and the true fixations in ns."""
    rng = np.random.default_rng(seed)
    place, pieces, truth, now = np.zeros(2), [], [], 0
    while now < seconds * 1000:
        still = max(80, int(rng.gamma(4, 75)))
        drift = np.cumsum(rng.normal(0, 0.004, (still, 2)), axis=0)
        pieces.append(place + drift)
        truth.append((now * 1_000_000, (now + still - 1) * 1_000_000))
        target = rng.uniform((-14, -8), (14, 8))
        flight = int(21 + 2.2 * np.linalg.norm(target - pieces[-1][-1]))
        share = np.linspace(0, 1, flight)[:, None]
        share = share**3 * (10 - 15 * share + 6 * share**2)
        pieces.append(pieces[-1][-1] + share * (target - pieces[-1][-1]))
        place, now = target, now + still + flight
    xy = np.concatenate(pieces)
    return xy[:, 0], xy[:, 1], np.array(truth)


def sampled(x_deg: np.ndarray, y_deg: np.ndarray, rate_hz: float, noise_deg: float) -> Recording:
    t_ms = np.round(np.arange(0, len(x_deg) - 1, 1000 / rate_hz)).astype(np.int64)
    rng = np.random.default_rng(7)
    noise = rng.normal(0, noise_deg, (2, len(t_ms)))
    x_px, y_px = SCREEN.to_px(x_deg[t_ms] + noise[0], y_deg[t_ms] + noise[1])
    return t_ms * 1_000_000, x_px, y_px


def plain_ivt(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray) -> np.ndarray:
    """Speed since the sample before, 30 degrees a second, at least 60 ms; nothing else."""
    x, y = SCREEN.to_deg(x_px, y_px)
    speed = np.hypot(np.diff(x), np.diff(y)) / (np.diff(time_ns) / 1e9)
    slow = np.concatenate([[0], np.concatenate([[False], speed < 30]).astype(np.int8), [0]])
    first, last = np.flatnonzero(np.diff(slow) == 1), np.flatnonzero(np.diff(slow) == -1) - 1
    out = np.stack([time_ns[first], time_ns[last]], -1)
    return out[out[:, 1] - out[:, 0] >= 60_000_000]


def ours(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray) -> np.ndarray:
    return detect_fixations(time_ns, x_px, y_px, SCREEN)


def ours_online(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray) -> np.ndarray:
    detector = OnlineFixations(SCREEN)
    found = []
    for row in zip(time_ns.tolist(), x_px.tolist(), y_px.tolist(), strict=True):
        found += detector.push(*row)
    return np.array(found + detector.close()).reshape(-1, 2)


def blind(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray) -> np.ndarray:
    start = np.arange(time_ns[0], time_ns[-1], 300_000_000)
    return np.stack([start, start + 299_999_999], -1)


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    hits = 0
    for onset, offset in truth:
        near = found[(found[:, 1] > onset) & (found[:, 0] < offset)]
        inter = np.minimum(near[:, 1], offset) - np.maximum(near[:, 0], onset)
        union = np.maximum(near[:, 1], offset) - np.minimum(near[:, 0], onset)
        hits += bool((inter > 0.5 * union).any())
    return 2 * hits / (len(truth) + len(found))


def cpu_us(detect: Callable[..., np.ndarray], recording: Recording, repeats: int) -> float:
    costs = []
    for _ in range(repeats):
        start = time.process_time()
        detect(*recording)
        costs.append(time.process_time() - start)
    return statistics.median(costs) / len(recording[0]) * 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=120.0)
    arguments.add_argument("--repeats", type=int, default=3)
    options = arguments.parse_args()
    x, y, truth = script(options.seconds, seed=1)
    contestants = {"plain I-VT": plain_ivt, "offline": ours, "online": ours_online, "blind": blind}
    print(f"{'rate, noise':16}{'detector':12}{'F1':>6}{'µs/sample':>11}{'ratio':>8}")
    for rate_hz, noise_deg in CONDITIONS:
        recording = sampled(x, y, rate_hz, noise_deg)
        base = None
        for name, detect in contestants.items():
            cost = cpu_us(detect, recording, options.repeats)
            base = base or cost
            label = f"{rate_hz} Hz, {noise_deg:g}°"
            print(f"{label:16}{name:12}{f1(truth, detect(*recording)):6.2f}{cost:11.2f}{cost / base:8.1f}")


if __name__ == "__main__":
    main()
