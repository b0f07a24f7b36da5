from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gazelab.core.errors import SessionError
from gazelab.core.gaze import SourceState, empty_features, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.sessions.reader import Session
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.recorded import Recorded

MS = 1_000_000
SCREEN = Screen("test", 1920, 1080, 344, 194, 600)


@pytest.fixture
def session(tmp_path) -> Session:
    """Ten samples 33 ms apart, every second with features; one stamp goes back."""
    rows, features = empty_gaze(10), empty_features(5)
    rows["time_ns"] = 1_000 * MS + np.arange(10) * 33 * MS
    rows["time_ns"][6] = rows["time_ns"][4]
    rows["frame_index"] = np.arange(10)
    rows["x_px"], rows["y_px"], rows["valid"] = np.arange(10) * 100.0, 7.0, np.arange(10) != 3
    rows["x_px"][3] = np.nan
    features["frame_index"], features["time_ns"] = np.arange(0, 10, 2), rows["time_ns"][::2]
    features["openness"] = 0.3
    header = SessionHeader(
        "P01",
        SCREEN,
        SourceRecord("webcam", "test camera"),
        feature_version="1",
        model_files={"model_sha256": "ab"},
    )
    with SessionWriter.create(tmp_path, "2026-01-01T00-00-00_test", header) as writer:
        writer.gaze(rows)
        writer.features(features)
    return Session.open(writer.path)


def test_plays_every_number_as_recorded_with_the_times_moved_together(session):
    with Recorded(session, paced=False, clock=lambda: 77_000 * MS) as source:
        readings = []
        while source.state is SourceState.OK:
            readings += source.read()
        assert source.state is SourceState.ENDED
        assert source.read() == []
    played, recorded = np.array([r.sample for r in readings]), session.gaze()
    for name in recorded.dtype.names:
        if name not in ("time_ns", "arrival_ns"):
            np.testing.assert_array_equal(played[name], recorded[name])
    shift = played["time_ns"] - recorded["time_ns"]
    assert (shift == 76_000 * MS).all(), "bad stamps are moved too, not mended"
    assert [r.features is not None for r in readings] == [True, False] * 5
    assert readings[2].features["openness"][0] == np.float32(0.3)
    assert readings[2].features["time_ns"] == readings[2].sample["time_ns"]


def test_keeps_the_pace(session):
    now = 0

    def wait(seconds: float) -> None:
        nonlocal now
        now += round(seconds * 1e9)

    with Recorded(session.path, clock=lambda: now, wait=wait) as source:
        assert len(source.read()) == 1
        assert source.read() == []
        assert len(source.read(timeout_s=0.1)) == 1
        assert now == 33 * MS
        now = 70 * MS
        assert [r.sample["x_px"] for r in source.read()] == [200.0]
        now = 10_000 * MS
        assert len(source.read()) == 7


def test_says_what_it_was_recorded_with(session):
    info = Recorded(session).info
    detail = dict(info.detail)
    assert (info.name, info.device) == ("recorded", "2026-01-01T00-00-00_test")
    assert info.has_features
    assert detail["recorded_with"] == "webcam"
    assert detail["recorded_device"] == "test camera"
    assert detail["model_sha256"] == "ab"
    assert detail["feature_version"] == "1"


def test_no_session_there(tmp_path):
    with pytest.raises(SessionError):
        Recorded(tmp_path / "missing")


class RightBy:
    """A mapping that says 10 px to the right of the frame's number."""

    def predict(self, rows):
        x = rows["frame_index"].astype(float) + 10.0
        names = ("x_px", "y_px", "left_x_px", "left_y_px", "right_x_px", "right_y_px", "confidence")
        return SimpleNamespace(**dict.fromkeys(names, x), valid=np.ones(len(rows), bool))


def test_a_session_is_calibrated_anew_from_its_features(tmp_path, session):
    features = session.features().copy()
    features["valid"], features["openness"] = True, 0.3
    features["openness"][2] = 0.0  # frame 4: lids shut
    with SessionWriter.create(tmp_path, "again", session.header) as writer:
        writer.gaze(session.gaze())
        writer.features(features)
    with Recorded(writer.path, paced=False, mapping=RightBy()) as source:
        readings = []
        while source.state is SourceState.OK:
            readings += source.read()
    played = np.array([r.sample for r in readings])
    assert played["valid"].tolist() == [True, False, True, False, False, False, True, False, True, False]
    np.testing.assert_array_equal(played["x_px"][[0, 2, 6, 8]], [10, 12, 16, 18])
    assert np.isnan(played["x_px"][~played["valid"]]).all(), "no gaze of the old calibration is left"
    assert played["blink"].tolist() == [False] * 4 + [True] + [False] * 5


def test_a_session_without_features_cannot_be_calibrated_anew(tmp_path):
    header = SessionHeader("P01", SCREEN, SourceRecord("pointer", "mouse"))
    with SessionWriter.create(tmp_path, "mouse", header) as writer:
        writer.gaze(empty_gaze(3))
    with pytest.raises(SessionError, match="no eye features"):
        Recorded(writer.path, mapping=RightBy())
