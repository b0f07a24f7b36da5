from __future__ import annotations

import pytest

from gazelab.core.errors import CameraError
from gazelab.core.gaze import SourceState
from gazelab.pipeline.record import header_for, record_for
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter

from .scripted import SCREEN, STEP_NS, ScriptedSource


def recorded(tmp_path, source, seconds=1.0):
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
