"""Sessions made of given samples: one chart shown from 0 to the end, on the screen's middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.pipeline.measure_trial import measure_trial
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.quality_verdict import Judgement, judge
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.trial_quality import TrialQuality
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter

from .scripted import SCREEN

MS = 1_000_000
CHART = Placement(460.0, 140.0, 1000.0, 800.0, 100, 80)
PICTURE = Picture.from_rgb(np.full((80, 100, 3), 200, np.uint8))
LOOKS = ((700.0, 300.0), (1200.0, 500.0), (800.0, 800.0), (1100.0, 250.0))
"""Four looks on the chart, well apart."""


def reading(n: int = 240, step_ms: float = 20.0, looks: Sequence[tuple[float, float]] = LOOKS) -> np.ndarray:
    """Samples of steady looks, `n` in all, with a jitter of exactly +-1 px so that the noise is known."""
    rows = empty_gaze(n)
    rows["time_ns"] = (np.arange(n) * step_ms * MS).astype(np.int64)
    which = np.arange(n) * len(looks) // n
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    rows["x_px"] = np.array(looks)[which, 0] + sign
    rows["y_px"] = np.array(looks)[which, 1]
    rows["valid"], rows["confidence"] = True, 1.0
    return rows


def lose(rows: np.ndarray, where: slice | np.ndarray, *, blink: bool = False) -> np.ndarray:
    """The same rows without gaze somewhere."""
    out = rows.copy()
    for name in ("x_px", "y_px"):
        out[name][where] = np.nan
    out["valid"][where] = False
    out["blink"][where] = blink
    return out


def session_of(
    root: Path,
    rows: np.ndarray,
    *,
    end_ns: int | None = None,
    markers: Sequence[dict[str, Any]] = (),
    features: np.ndarray | None = None,
    screen: Screen = SCREEN,
    header: dict[str, Any] | None = None,
    answered: bool = True,
    session_id: str = "s",
) -> Path:
    """Write a session with one trial over all the rows."""
    made = SessionHeader("P1", screen, SourceRecord("scripted", "a test", 50.0))
    made = replace(made, **(header or {}))
    end = int(rows["time_ns"].max()) + 20 * MS if end_ns is None else end_ns
    with SessionWriter.create(root, session_id, made, clock=lambda: 0) as writer:
        sha = writer.stimulus(PICTURE)
        assert sha in (None, PICTURE.sha256) or PICTURE.sha256 in str(sha)
        facts = {"chart_id": "c", "question": "How high?", "answer": "12", "picture_sha256": PICTURE.sha256}
        before = [m for m in markers if m["time_ns"] < 0]
        for marker in before:
            writer.marker(marker)
        writer.marker({"kind": "stimulus_on", "time_ns": 0, "order": 0, "placement": CHART, **facts})
        for marker in markers:
            if 0 <= marker["time_ns"] < end:
                writer.marker(marker)
        if answered:
            writer.marker({"kind": "answer", "time_ns": end, "given": "12"})
        writer.marker({"kind": "stimulus_off", "time_ns": end, **({} if answered else {"skipped": True})})
        for marker in markers:
            if marker["time_ns"] >= end:
                writer.marker(marker)
        writer.gaze(rows)
        if features is not None:
            writer.features(features)
    return writer.path


def measured(root: Path, rows: np.ndarray, **more: Any) -> TrialQuality:
    replay = Replay.open(session_of(root, rows, **more))
    return measure_trial(replay, replay.trials[0], QualityLimits().low_confidence)


def judged(root: Path, rows: np.ndarray, **more: Any) -> Judgement:
    return judge(measured(root, rows, **more), QualityLimits())
