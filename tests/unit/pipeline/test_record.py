from __future__ import annotations

import pytest

from gazelab.calibration.profile import SourceBinding
from gazelab.core.errors import CameraError
from gazelab.core.gaze import SourceState
from gazelab.pipeline.calibrate import binding_of
from gazelab.pipeline.record import header_for, record_for
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import SourceInfo

from .scripted import SCREEN, STEP_NS, ScriptedSource


def recorded(tmp_path, source, seconds=1.0):
    source.open()
    with SessionWriter.create(tmp_path, "s", header_for(source, SCREEN, "P1"), clock=source.clock) as writer:
        return record_for(source, writer, SCREEN, seconds, source.clock)


def test_it_records_for_the_time_asked_on_the_samples_clock(tmp_path):
    done = recorded(tmp_path, ScriptedSource(), seconds=1.0)
    gaze = Session.open(done.path).gaze()
    assert len(gaze) == done.n_samples == -(-1_000_000_000 // STEP_NS)
    assert done.n_valid == done.n_samples


def test_a_source_that_ends_early_is_kept_and_told(tmp_path):
    class Short(ScriptedSource):
        def read(self, timeout_s=0.0):
            if self.now_ns >= 10 * STEP_NS:
                self.state = SourceState.ENDED
            return super().read(timeout_s)

    done = recorded(tmp_path, Short(), seconds=60.0)
    assert (done.n_samples, done.final_state) == (10, SourceState.ENDED)
    states = [m["state"] for m in Session.open(done.path).markers() if m["kind"] == "source_state"]
    assert states == ["ok", "ended"]


def test_a_source_that_gives_nothing_is_an_error_with_what_to_do(tmp_path):
    class Silent(ScriptedSource):
        def read(self, timeout_s=0.0):
            self.now_ns += 50_000_000
            return []

    with pytest.raises(CameraError, match="gave no sample") as fault:
        recorded(tmp_path, Silent(), seconds=1.0)
    assert "plugged in" in str(fault.value)
    assert Session.open(tmp_path / "sessions" / "s").header.closed


@pytest.mark.parametrize(
    ("name", "has_features", "calibrated", "kept"),
    [
        ("webcam", True, True, True),
        ("webcam", True, False, False),
        ("lsl", False, False, True),
        ("pointer", False, False, False),
        ("synthetic", True, True, False),
        ("recorded", True, True, False),
    ],
)
def test_G14_only_gaze_that_was_measured_and_calibrated_is_for_datasets(name, has_features, calibrated, kept):
    source = ScriptedSource()
    source.info = SourceInfo(name, "a test", has_features=has_features)
    assert header_for(source, SCREEN, "P1", calibrated=calibrated).for_dataset is kept
    assert not header_for(source, SCREEN, "P1", calibrated=calibrated, for_dataset=False).for_dataset


def test_a_recorded_session_keeps_the_versions_that_its_features_were_made_with():
    source = ScriptedSource()
    detail = (
        ("recorded_with", "webcam"),
        ("recorded_device", "front"),
        ("feature_version", "0"),
        ("model_sha256", "ab"),
    )
    source.info = SourceInfo("recorded", "session 1", has_features=True, detail=detail)
    header = header_for(source, SCREEN, "P1")
    assert (header.feature_version, header.model_files) == ("0", {"model_sha256": "ab"})
    assert binding_of(source) == SourceBinding("webcam", "front", "0", "ab")


def test_C9_a_file_read_faster_than_life_has_its_markers_on_its_own_time(tmp_path):
    class Fast(ScriptedSource):
        def read(self, timeout_s=0.0):
            if self.now_ns >= 30 * STEP_NS:
                self.state = SourceState.ENDED
            return super().read(timeout_s)

    source = Fast()
    source.open()
    header = header_for(source, SCREEN, "P1", clock="virtual")
    with SessionWriter.create(tmp_path, "s", header, clock=lambda: 0) as writer:
        done = record_for(source, writer, SCREEN, 60.0, lambda: 0)
    session = Session.open(done.path)
    ended = [m["time_ns"] for m in session.markers() if m.get("state") == "ended"]
    assert ended == [int(session.gaze()["time_ns"][-1])]
