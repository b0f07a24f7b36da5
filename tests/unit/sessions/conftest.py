from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.sessions.schema import SessionHeader, SourceRecord


@pytest.fixture
def header() -> SessionHeader:
    screen = Screen("laptop", 1920, 1080, 344.0, 194.0, 600.0, "card")
    return SessionHeader("007", screen, SourceRecord("synthetic", "scripted", 60.0))


def gaze_rows(time_ns) -> np.ndarray:
    """Samples at these times whose x counts the rows."""
    times = np.asarray(time_ns, np.int64)
    rows = empty_gaze(len(times))
    rows["time_ns"] = times
    rows["x_px"] = np.arange(len(times))
    rows["y_px"] = 540
    rows["valid"] = True
    return rows


def picture(seed: int = 0) -> Picture:
    rng = np.random.default_rng(seed)
    return Picture.from_rgb(rng.integers(0, 256, (6, 9, 3), np.uint8))


PLACEMENT = Placement(100.0, 50.0, 900.0, 600.0, 9, 6)


def stimulus_on(time_ns: int, order: int = 0, **more):
    return {
        "time_ns": time_ns,
        "kind": "stimulus_on",
        "chart_id": f"chart{order}",
        "question": "Which bar is tallest?",
        "answer": "red",
        "picture_sha256": "0" * 64,
        "placement": PLACEMENT,
        "order": order,
        **more,
    }
