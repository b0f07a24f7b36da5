"""The contests of events.py: scripted gaze, cost, hand-labelled recordings; each prints a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from event_detectors import OFFLINE, ONLINE, Recording, pymovements_cost, run_online, there

from gazelab.core.errors import GazelabError
from gazelab.core.geometry import Screen

SCREEN = Screen("bench", 1920, 1080, 344.0, 193.5, 600.0)
# (rate in Hz, SD of the noise in degrees, correlation of neighbours)
CONDITIONS = (
    (500, 0.02, 0.0),
    (500, 0.3, 0.9),
    (250, 0.5, 0.0),
    (120, 0.05, 0.0),
    (60, 0.05, 0.0),
    (60, 0.5, 0.0),
    (60, 0.5, 0.7),
    (30, 0.05, 0.0),
    (30, 0.5, 0.0),
    (30, 0.5, 0.7),
    (30, 1.0, 0.0),
)
LONG_S, LONG_HZ, LONG_NOISE_DEG = 600.0, 1000.0, 0.02
LIVE_RATES_HZ = (30, 60, 1000)


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


def sampled(
    x_deg: np.ndarray, y_deg: np.ndarray, rate_hz: float, noise_deg: float, carry: float = 0.0
) -> Recording:
    """Every nearest sample of a regular grid, with noise; `carry` is the correlation of neighbours."""
    t_ms = np.round(np.arange(0, len(x_deg) - 1, 1000 / rate_hz)).astype(np.int64)
    noise = np.random.default_rng(7).normal(0, noise_deg, (2, len(t_ms)))
    for k in range(1, len(t_ms) if carry else 0):
        noise[:, k] = carry * noise[:, k - 1] + np.sqrt(1 - carry**2) * noise[:, k]
    x_px, y_px = SCREEN.to_px(x_deg[t_ms] + noise[0], y_deg[t_ms] + noise[1])
    return t_ms * 1_000_000, x_px, y_px


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    """Share of fixations found and of those found that are there; above one half, pairs are one to one."""
    hits = 0
    for onset, offset in truth:
        near = found[(found[:, 1] > onset) & (found[:, 0] < offset)]
        inter = np.minimum(near[:, 1], offset) - np.maximum(near[:, 0], onset)
        union = np.maximum(near[:, 1], offset) - np.minimum(near[:, 0], onset)
        hits += bool((inter > 0.5 * union).any())
    return 2 * hits / max(len(truth) + len(found), 1)


def scripted(seconds: float) -> dict[str, dict[str, float | None]]:
    x, y, truth = script(seconds, seed=1)
    contestants = {**there(OFFLINE), **{name: run_online(make) for name, make in ONLINE.items()}}
    labels = [f"{rate}/{noise:g}" + (f"~{carry:g}" if carry else "") for rate, noise, carry in CONDITIONS]
    print(
        f"\nScripted gaze, {seconds:g} s: F1 by rate in Hz / noise in degrees (~ correlation of neighbours)"
    )
    print(f"{'':22}" + "".join(f"{label:>11}" for label in labels))
    recordings = [sampled(x, y, *condition) for condition in CONDITIONS]
    figures: dict[str, dict[str, float | None]] = {}
    for name, detect in contestants.items():
        own = [_score(truth, detect, recording) for recording in recordings]
        figures[name] = dict(zip(labels, own, strict=True))
        print(
            f"{name:22}" + "".join(f"{'-' if v is None else format(v, '.2f'):>11}" for v in own), flush=True
        )
    return figures


def _score(truth: np.ndarray, detect: Callable[..., np.ndarray], recording: Recording) -> float | None:
    try:
        return f1(truth, np.asarray(detect(*recording, SCREEN)).reshape(-1, 2))
    except (GazelabError, ValueError):
        return None


def speed(repeats: int) -> dict[str, float]:
    """Ten minutes at 1000 Hz offline, and a sample's cost online."""
    x, y, _ = script(LONG_S, seed=2)
    recording = sampled(x, y, LONG_HZ, LONG_NOISE_DEG)
    figures: dict[str, float] = {}
    offline = there(OFFLINE)
    print(f"\nCost, {LONG_S:g} s at {LONG_HZ:g} Hz ({len(recording[0])} samples), noise {LONG_NOISE_DEG:g}°")
    for name in ("gazelab offline", "plain I-VT"):
        detect = offline[name]
        figures[name] = least_s(lambda detect=detect: detect(*recording, SCREEN), repeats)
    if "pymovements ivt" in offline:
        whole, alone = pymovements_cost(recording, SCREEN)
        figures["pymovements ivt, from px"] = least_s(whole, repeats)
        figures["pymovements ivt, velocities given"] = least_s(alone, repeats)
    ours = figures["gazelab offline"]
    for name, cost in figures.items():
        print(f"{name:36}{cost:8.3f} s   gazelab takes {ours / cost:5.2f} of it")
    print("\nCost of a sample online (mean CPU time)")
    for rate_hz in LIVE_RATES_HZ:
        rows = sampled(x[:60_000], y[:60_000], rate_hz, 0.5)
        for name, make in ONLINE.items():
            cost = least_s(lambda make=make, rows=rows: run_online(make)(*rows, SCREEN), repeats)
            figures[f"{name} {rate_hz} Hz"] = cost / len(rows[0]) * 1e6
            print(f"{name:22}{rate_hz:5} Hz{figures[f'{name} {rate_hz} Hz']:8.1f} µs")
    return figures


def least_s(work: Callable[[], Any], repeats: int) -> float:
    costs = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        costs.append(time.process_time() - start)
    return min(costs)


def labelled(bench: Any, folder: Path) -> dict[str, dict[str, list[float] | None]]:
    """Score against human coders with the given tool, set by set: kappa and F1."""
    sets: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.npz")):
        sets.setdefault(path.stem.split("_")[0], []).append(path)
    figures: dict[str, dict[str, list[float] | None]] = {}
    for name, paths in sets.items():
        print(f"\n{name}, {len(paths)} hand-labelled recordings: kappa / F1")
        print(f"{'':22}" + "".join(f"{condition:>13}" for condition in bench.CONDITIONS))
        for who, detect in there(OFFLINE).items():
            own = {c: _bench(bench, detect, paths, c) for c in bench.CONDITIONS}
            figures[f"{name} {who}"] = own
            print(_row(who, own), flush=True)
        for who, make in ONLINE.items():
            delays: list[float] = []
            own = {c: _bench(bench, make, paths, c, delays) for c in bench.CONDITIONS}
            figures[f"{name} {who}"] = own
            print(f"{_row(who, own)}   95 % are out {np.percentile(delays, 95):.0f} ms after their end")
    return figures


def _bench(
    bench: Any, detector: Any, paths: list[Path], condition: str, delays: list[float] | None = None
) -> list[float] | None:
    try:
        return [float(v) for v in bench.score(detector, paths, condition, delays is not None, delays)]
    except (GazelabError, ValueError):
        return None


def _row(name: str, figures: dict[str, list[float] | None]) -> str:
    cells = ("-" if v is None else f"{v[0]:.2f} / {v[1]:.2f}" for v in figures.values())
    return f"{name:22}" + "".join(f"{cell:>13}" for cell in cells)
