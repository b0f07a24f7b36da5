from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, Qt
from PyQt6.QtGui import QGuiApplication, QKeyEvent
from PyQt6.QtWidgets import QApplication, QWidget

from gazelab.charts.shipped import load_charts
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sessions.reader import Session
from gazelab.ui.stimulus_window import Phase, StimulusWindow


@pytest.fixture
def window(qtbot, workspace, run_source):
    """The participant's window on a study of two charts, shown, waiting for the space bar."""
    run_source()
    workspace.set_participant("P01")
    writer = workspace.start_session("reading", for_dataset=True)
    study = RecordingStudy(load_charts()[:2], writer, workspace.acquisition)
    made = StimulusWindow(study, workspace.monitor, workspace.clock)
    qtbot.addWidget(made)
    yield made
    made.stop("the test is over")


def run(qtbot, window):
    window.run()
    qtbot.waitUntil(lambda: window._armed)


def show_chart(qtbot, window):
    qtbot.waitUntil(lambda: window._armed)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window._study.state is StudyState.SHOWING)


def type_answer(qtbot, window, text):
    qtbot.keyClicks(window._answer, text)
    qtbot.keyClick(window._answer, Qt.Key.Key_Return)


def markers(workspace):
    path = workspace.writer.path if workspace.writer else None
    path = workspace.end_session() or path
    return Session.open(path).markers()


def kinds(workspace):
    return [m["kind"] for m in markers(workspace)]


def test_two_charts_with_the_keyboard_only(qtbot, window, workspace):
    run(qtbot, window)
    ended = []
    window.ended.connect(ended.append)
    for text in ("26", "no"):
        show_chart(qtbot, window)
        type_answer(qtbot, window, text)
    assert ended == [""]
    found = Session.open(workspace.end_session()).trials()
    assert [t.given for t in found] == ["26", "no"]
    assert all(t.complete for t in found)


def test_G23_the_logged_rectangle_is_where_the_chart_is_drawn(qtbot, window, workspace, pixels_of):
    run(qtbot, window)
    show_chart(qtbot, window)
    window._answer.hide()
    image = pixels_of(window.grab().toImage())
    ys, xs = np.nonzero((image == 255).all(-1))
    placed = window.placement
    assert xs.min() == pytest.approx(placed.left_px, abs=1)
    assert xs.max() + 1 == pytest.approx(placed.left_px + placed.width_px, abs=1)
    assert ys.min() == pytest.approx(placed.top_px, abs=2)
    on = next(m for m in markers(workspace) if m["kind"] == "stimulus_on")
    assert on["placement"]["left_px"] == placed.left_px
    assert on["placement"]["width_px"] == placed.width_px


def test_G23_a_resize_in_a_trial_changes_the_logged_rectangle(qtbot, window, workspace):
    run(qtbot, window)
    show_chart(qtbot, window)
    before = window.placement
    window.showNormal()
    window.resize(500, 400)
    qtbot.waitUntil(lambda: window.placement != before)
    moved = [m for m in markers(workspace) if m["kind"] == "stimulus_moved"]
    assert moved[-1]["placement"]["width_px"] == window.placement.width_px < before.width_px


def test_G7_keys_pressed_before_a_step_do_not_skip_it(qtbot, window):
    for _ in range(5):
        qtbot.keyClick(window, Qt.Key.Key_Space)
    run(qtbot, window)
    assert window.phase is Phase.READY
    repeat = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ", True)
    QApplication.sendEvent(window, repeat)
    assert window.phase is Phase.READY


def test_G7_a_space_bar_held_since_the_step_before_does_not_count(qtbot, window):
    run(qtbot, window)
    qtbot.keyPress(window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window._study.state is StudyState.SHOWING)
    type_answer(qtbot, window, "5")
    qtbot.waitUntil(lambda: window._armed)
    qtbot.keyPress(window, Qt.Key.Key_Space)
    assert window.phase is Phase.READY
    qtbot.keyRelease(window, Qt.Key.Key_Space)
    show_chart(qtbot, window)
    assert window.phase is Phase.READING


def test_letters_typed_before_the_chart_is_on_are_not_in_the_answer(qtbot, window):
    run(qtbot, window)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert not window._armed
    qtbot.keyClicks(window._answer, "zz")
    qtbot.waitUntil(lambda: window._armed)
    assert window._answer.text() == ""


def test_U11_losing_the_keyboard_is_logged_and_esc_works_after_it(qtbot, window, workspace):
    run(qtbot, window)
    show_chart(qtbot, window)
    qtbot.waitUntil(window.isActiveWindow)
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(lambda: not window.isActiveWindow())
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window._answer, Qt.Key.Key_Escape)
    assert window.phase is Phase.PAUSED
    session = Session.open(workspace.end_session())
    seen = [m["kind"] for m in session.markers()]
    assert seen.index("stimulus_on") < seen.index("focus_lost") < seen.index("focus_back")
    assert session.trials()[0].n_focus_lost == 1


def test_U9_an_unplugged_monitor_pauses_and_marks_the_gap(qtbot, window, workspace):
    run(qtbot, window)
    show_chart(qtbot, window)
    QGuiApplication.instance().screenRemoved.emit(workspace.monitor)
    assert window.phase is Phase.PAUSED
    found = markers(workspace)
    off = next(m for m in found if m["kind"] == "stimulus_off")
    assert off["skipped"]
    assert off["reason"] == "monitor unplugged"
    assert "pause" in [m["kind"] for m in found]


def test_U9_a_monitor_that_is_gone_altogether_is_handled(qtbot, window):
    run(qtbot, window)
    window._screen_removed(None)
    assert window.phase is Phase.PAUSED


def test_G4_esc_ends_it_from_every_step(qtbot, window, workspace):
    run(qtbot, window)
    ended = []
    window.ended.connect(ended.append)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.phase is Phase.PAUSED
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert len(ended) == 1
    assert "Esc" in ended[0]
    assert window.isHidden()


def test_a_pause_goes_on_with_the_next_chart(qtbot, window, workspace):
    run(qtbot, window)
    show_chart(qtbot, window)
    qtbot.keyClick(window._answer, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window._armed)
    show_chart(qtbot, window)
    type_answer(qtbot, window, "3")
    trials = Session.open(workspace.end_session()).trials()
    assert [t.given for t in trials] == [None, "3"]


def test_a_pause_says_that_the_chart_is_skipped_and_what_the_keys_do(qtbot, window):
    run(qtbot, window)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    words = window._words()
    assert "skipped" not in words, "no chart was on"
    assert "Space bar: go on with chart 1 of 2" in words
    show_chart(qtbot, window)
    qtbot.keyClick(window._answer, Qt.Key.Key_Escape)
    words = window._words()
    assert "Chart 1 of 2 is skipped: it is not shown again." in words
    assert "Space bar: go on with chart 2 of 2" in words
    assert "Esc: stop the recording here and save" in words


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Escape])
def test_G4_esc_on_the_last_chart_pauses_and_a_second_key_ends(qtbot, window, workspace, key):
    run(qtbot, window)
    ended = []
    window.ended.connect(ended.append)
    show_chart(qtbot, window)
    type_answer(qtbot, window, "26")
    show_chart(qtbot, window)
    qtbot.keyClick(window._answer, Qt.Key.Key_Escape)
    assert (window.phase, ended) == (Phase.PAUSED, [])
    words = window._words()
    assert "Chart 2 of 2 is skipped" in words
    assert "Space bar or Esc: end the recording and save." in words
    qtbot.waitUntil(lambda: window._armed)
    qtbot.keyClick(window, Qt.Key.Key_D)
    assert window.phase is Phase.PAUSED, "nothing comes that a check could serve"
    qtbot.keyClick(window, key)
    assert ended == [""]
    found = markers(workspace)
    assert [m["kind"] for m in found][-4:] == ["stimulus_off", "pause", "resume", "session_end"]
    assert not any("stopped before its end" in m.get("text", "") for m in found)


def test_enter_without_an_answer_waits_and_shift_enter_skips(qtbot, window, workspace):
    run(qtbot, window)
    show_chart(qtbot, window)
    qtbot.keyClick(window._answer, Qt.Key.Key_Return)
    assert window._study.state is StudyState.SHOWING
    qtbot.keyClick(window._answer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert window.phase is Phase.READY
    assert "no answer" in [m.get("reason") for m in markers(workspace)]


def test_a_source_that_is_lost_is_written_into_the_session(qtbot, window, workspace):
    from gazelab.core.gaze import SourceState

    run(qtbot, window)
    workspace.source.state = SourceState.LOST
    window._watch.look()
    assert {"kind": "source_state", "state": "lost"}.items() <= markers(workspace)[-2].items()


def test_what_an_empty_answer_is_told_can_be_read_whole(qtbot, window):
    """The field takes a quarter of the screen: on a small one a longer hint would lose its keys."""
    run(qtbot, window)
    show_chart(qtbot, window)
    qtbot.keyClick(window._answer, Qt.Key.Key_Return)
    field = window._answer
    hint = field.placeholderText()
    assert "Shift+Enter" in hint
    assert field.fontMetrics().horizontalAdvance(hint) <= 0.26 * 1280 - 30
    assert window._study.state is StudyState.SHOWING
