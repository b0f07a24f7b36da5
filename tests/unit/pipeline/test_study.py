from __future__ import annotations

import pytest

from gazelab.charts.item import ChartItem
from gazelab.core.errors import PictureError, SessionError
from gazelab.core.geometry import Placement
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter

from .scripted import MS, SCREEN, ScriptedSource, chart

PLACE = Placement(10, 20, 400, 300, 40, 30)


@pytest.fixture
def started(tmp_path):
    """A study of two charts and its writer; closed after the test."""
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    with SessionWriter.create(tmp_path, "s", header_for(source, SCREEN, "P1"), clock=source.clock) as writer:
        acquisition.add_sink(writer)
        yield RecordingStudy([chart("a"), chart("b", 90)], writer, acquisition), writer


def kinds(writer: SessionWriter) -> list[str]:
    writer.close()
    return [m["kind"] for m in Session.open(writer.path).markers()]


def test_a_study_goes_from_chart_to_chart_and_writes_each_step(started):
    study, writer = started
    for k in range(2):
        assert study.state is StudyState.READY
        study.show(PLACE, k * 100 * MS)
        study.answer("12", (k * 100 + 50) * MS)
    assert study.state is StudyState.DONE
    assert study.current is None
    steps = ["stimulus_on", "answer", "stimulus_off"]
    assert kinds(writer) == ["session_start", *steps, *steps, "session_end"]


def test_an_answer_without_a_chart_on_is_refused(started):
    study, _ = started
    with pytest.raises(SessionError, match="ready, not showing"):
        study.answer("12", 0)


def test_a_skipped_chart_stays_in_the_session_with_the_reason(started):
    study, writer = started
    study.show(PLACE, 0)
    study.skip(5 * MS, "the participant asked to")
    writer.close()
    off = [m for m in Session.open(writer.path).markers() if m["kind"] == "stimulus_off"]
    assert off[0]["reason"] == "the participant asked to"
    assert off[0]["skipped"] is True


def test_abort_while_a_chart_is_on_takes_it_off_and_is_harmless_twice(started):
    study, writer = started
    study.show(PLACE, 0)
    study.abort(5 * MS)
    study.abort(6 * MS)
    assert study.state is StudyState.ABORTED
    assert kinds(writer) == ["session_start", "stimulus_on", "stimulus_off", "note", "session_end"]


def test_a_moved_chart_keeps_both_rectangles(started):
    study, writer = started
    study.show(PLACE, 0)
    moved = Placement(0, 0, 200, 150, 40, 30)
    study.moved(moved, 20 * MS)
    study.answer("1", 50 * MS)
    writer.close()
    trial = Session.open(writer.path).trials()[0]
    assert trial.placement_at(10 * MS) == PLACE
    assert trial.placement_at(30 * MS) == moved


def test_a_chart_that_is_no_picture_is_skipped_and_the_study_goes_on(tmp_path):
    source = ScriptedSource()
    broken = ChartItem("x", "x.png", b"no picture", "How high?", "1")
    with SessionWriter.create(tmp_path, "s", header_for(source, SCREEN, "P1"), clock=source.clock) as writer:
        study = RecordingStudy([broken, chart("b")], writer, Acquisition(source, SCREEN))
        with pytest.raises(PictureError, match=r"x\.png") as fault:
            study.prepare()
        study.skip_broken(0, str(fault.value))
        assert study.current is not None
        assert study.current.chart_id == "b"
        study.show(PLACE, 10)
        study.answer("1", 20)
    assert [t.chart_id for t in Session.open(writer.path).trials()] == ["b"]


def test_a_study_without_charts_is_refused(started):
    study, writer = started
    with pytest.raises(SessionError, match="no chart"):
        RecordingStudy([], writer, study.acquisition)
