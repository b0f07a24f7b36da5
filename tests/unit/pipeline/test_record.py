import pytest

from gazelab.core.errors import CameraError
from gazelab.core.gaze import SourceState
from gazelab.pipeline.record import header_for, record_for
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter

from .scripted import SCREEN, STEP_NS, ScriptedSource


class Watched(ScriptedSource):
    """Changes its state after some readings, or gives none at all and lets time pass."""

    def __init__(self, changes: dict[int, SourceState], *, silent: bool = False) -> None:
        super().__init__()
        self.changes, self.silent, self.n_read = changes, silent, 0

    def read(self, timeout_s=0.0):
        if self.silent:
            self.now_ns += STEP_NS
            return []
        self.n_read += 1
        given = super().read() if self.state is not SourceState.LOST else self._wait()
        self.state = self.changes.get(self.n_read, self.state)
        return given

    def _wait(self):
        self.now_ns += STEP_NS
        return []


def record(source, root, seconds):
    source.open()
    writer = SessionWriter.create(root, "s", header_for(source, SCREEN, "P1"), clock=source.clock)
    with writer:
        return record_for(source, writer, SCREEN, seconds, source.clock)


def states(root):
    markers = Session.open(root / "sessions" / "s").markers()
    return [m["state"] for m in markers if m["kind"] == "source_state"]


def test_it_stops_when_the_time_is_over(tmp_path):
    done = record(Watched({}), tmp_path, 1.0)
    assert done.final_state is SourceState.OK
    assert done.n_samples == done.n_valid == len(Session.open(done.path).gaze()) == 31  # of 33 ms each
    assert states(tmp_path) == ["ok"]


def test_a_source_that_ends_ends_the_recording(tmp_path):
    done = record(Watched({5: SourceState.ENDED}), tmp_path, 60.0)
    assert done.final_state is SourceState.ENDED
    assert done.n_samples == 5
    assert states(tmp_path) == ["ok", "ended"]


def test_a_source_that_stays_lost_is_an_error_and_what_came_before_is_kept(tmp_path):
    with pytest.raises(CameraError, match=r"a test: was lost.*kept in .*s\.") as told:
        record(Watched({5: SourceState.LOST}), tmp_path, 1.0)
    session = Session.open(tmp_path / "sessions" / "s")
    assert str(session.path) in str(told.value)
    assert len(session.gaze()) == 5
    assert session.header.closed
    assert states(tmp_path) == ["ok", "lost"]


def test_a_source_that_comes_back_is_no_error(tmp_path):
    done = record(Watched({5: SourceState.LOST, 10: SourceState.OK}), tmp_path, 1.0)
    assert done.final_state is SourceState.OK
    assert states(tmp_path) == ["ok", "lost", "ok"]


def test_a_source_without_a_sample_is_an_error(tmp_path):
    with pytest.raises(CameraError, match="a test: gave no sample in 1 s"):
        record(Watched({}, silent=True), tmp_path, 1.0)
