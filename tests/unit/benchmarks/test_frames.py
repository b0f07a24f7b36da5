"""The frame loop's benchmark, and that the loop holds no more after many samples than after few."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

import frames
import numpy as np
import pytest

from gazelab.calibration.mapping import fit
from gazelab.core.gaze import SourceState, empty_features, empty_gaze
from gazelab.pipeline.live import RING_SIZE, Acquisition
from gazelab.sources.base import Reading, SourceInfo

STEP_NS = 33_333_333


def held_bytes(root: object) -> int:
    """Bytes of all that can be reached from `root`, code and modules left out."""
    passed_over = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    seen, todo, total = set(), [root], 0
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, passed_over):
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing)
        todo += gc.get_referents(thing)
    return total


def calibration_rows(n: int = 54) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of a made-up eye that looks at nine places."""
    rng = np.random.default_rng(5)
    target = np.arange(n) % 9
    places = np.column_stack([target % 3 * 800.0 + 160, target // 3 * 450.0 + 90])
    rows = empty_features(n)
    for name in rows.dtype.names:
        if rows.dtype[name].base.kind == "f":
            rows[name] = rng.normal(0.3, 0.001, rows[name].shape)
    rows["patches"] = rng.integers(60, 200, rows["patches"].shape[1:])
    rows["iris"] += (places[:, None, :] - (960, 540)) / 5_000
    rows["valid"] = True
    return rows, places, target


class Cheap:
    """A gaze source that maps the same few features again and again, a hundred readings at a time."""

    info = SourceInfo("synthetic", "cheap", has_features=True)
    state = SourceState.OK

    def __init__(self, mapping: Any, rows: np.ndarray) -> None:
        self.mapping, self._rows, self.n = mapping, rows, 0

    def open(self) -> None: ...

    def close(self) -> None: ...

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        gaze, number = empty_gaze(100), np.arange(self.n, self.n + 100)
        self.n += 100
        gaze["time_ns"] = number * STEP_NS
        features = self._rows[number // 9 % len(self._rows)]
        predicted = self.mapping.predict(features)
        gaze["x_px"], gaze["y_px"], gaze["valid"] = predicted.x_px, predicted.y_px, predicted.valid
        return [Reading(sample, row) for sample, row in zip(gaze, features, strict=True)]


def test_G15_what_the_loop_holds_does_not_grow_over_100_000_samples():
    """The store that a prediction reads, the ring and the online detector are as large at the end."""
    rows, places, target = calibration_rows()
    mapping = fit(rows, places, target, frames.SCREEN)
    before = {name: array.shape for name, array in mapping.to_arrays().items()}
    acquisition = Acquisition(Cheap(mapping, rows), frames.SCREEN)
    held = []
    for k in range(1000):
        if k % 18 == 0:  # a trial a minute
            acquisition.begin_trial(None, k * 100 * STEP_NS)
        acquisition.pump()
        if k in (107, 197, 989):  # at the end of a trial
            held.append(held_bytes(acquisition))
    assert acquisition.count == 100_000
    assert acquisition.n_valid > 99_000
    assert len(acquisition.snapshot().fixations) > 100
    assert len(acquisition._ring) == RING_SIZE
    assert {name: array.shape for name, array in mapping.to_arrays().items()} == before
    assert held[1] < 1.02 * held[0]
    assert held[2] < 1.02 * held[0]


def test_the_capture_stub_never_gives_a_picture_twice_in_a_row():
    order = [frames.turn(k, 4) for k in range(13)]
    assert order == [0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0]
    camera = frames.Camera([np.full((2, 2, 3), k, np.uint8) for k in range(3)])
    got = [camera.read() for _ in range(4)]
    assert [int(f.rgb[0, 0, 0]) for f in got] == [0, 1, 2, 1]
    assert [f.index for f in got] == [0, 1, 2, 3]
    assert got[3].time_ns == 3 * frames.STEP_NS


def test_the_figures_are_medians_over_blocks_of_ratios_within_a_block():
    """Two blocks at the machine's pace and one at half of it: the ratio is as if it had not happened."""
    bare = [(1.0, 1.0), (2.0, 1.0), (1.0, 1.0)]
    own = [(1.25, 2.0), (2.5, 2.0), (1.25, 2.0)]
    figures = frames._figures(own, bare, 10)
    assert figures["rate_ratio"] == pytest.approx(0.8)
    assert figures["cpu_ratio"] == pytest.approx(0.5)
    assert figures["wall_ms"] == pytest.approx(125.0)


def test_a_few_frames_go_through_the_whole_loop_and_every_step_is_told(capsys):
    result = frames.compare((640, 480), 2, 3)
    assert result["share_with_gaze"] == 1.0
    frames.tell(result)
    out = capsys.readouterr().out
    for step in ("bare landmarker call", "landmarker + features", "whole loop", "BGR to RGB"):
        assert step in out


def test_a_soak_tells_the_memory_once_a_minute(monkeypatch):
    monkeypatch.setattr(frames, "TRIAL_FRAMES", 30)
    seen = frames.soak((320, 240), 0.05)
    assert [k for k, _ in seen] == [0, 30, 60, 90]
    assert all(mb > 10 for _, mb in seen)
