"""The drift check on the participant's screen, by the keyboard alone."""

from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QWidget

from gazelab.charts.shipped import load_charts
from gazelab.config import parse_settings
from gazelab.core.gaze import SourceState, empty_gaze
from gazelab.pipeline.drift_plan import DriftLimits, DriftSchedule
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sessions.reader import Session
from gazelab.ui.drift_choice import DriftChoice
from gazelab.ui.drift_step import THANKS_NS, DriftPlan, default_every, drift_plan
from gazelab.ui.drift_text import outcome_text
from gazelab.ui.operator_view import OperatorView
from gazelab.ui.record_page import RecordPage
from gazelab.ui.stimulus_window import Phase, StimulusWindow
from gazelab.ui.workspace import Workspace

MS = 1_000_000


class Clock:
    """Stands still but for what a test adds."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * MS

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock(workspace) -> Clock:
    workspace.clock = Clock()
    return workspace.clock


@pytest.fixture
def window(qtbot, workspace, run_source, clock):
    """A study of three charts with a check before the second and the third."""
    made = open_window(qtbot, workspace, run_source, every=1)
    yield made
    made.stop("the test is over")


def open_window(qtbot, workspace, run_source, every):
    run_source()
    workspace.acquisition.stop()  # samples come from the test alone
    workspace.set_participant("P01")
    writer = workspace.start_session("reading", for_dataset=True)
    study = RecordingStudy(load_charts()[:3], writer, workspace.acquisition)
    plan = DriftPlan(DriftSchedule(every), DriftLimits())
    made = StimulusWindow(study, workspace.monitor, workspace.clock, plan)
    made.drift._timer.setInterval(1_000_000)  # so that nothing but the test ticks
    qtbot.addWidget(made)
    made.run()
    qtbot.waitUntil(lambda: made._armed)
    return made


def press(qtbot, window, key):
    qtbot.waitUntil(lambda: window._armed)
    qtbot.keyClick(window, key)


def begin_check(qtbot, window):
    press(qtbot, window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window.drift.running)


def look(workspace, window, dx_px, dy_px=0.0, seconds=2.0, sd_px=4.0, thanks=True):
    """Look so far from the target for a time, 30 samples a second, let the step see it and thank for it."""
    clock, rng = workspace.clock, np.random.default_rng(1)
    screen = workspace.acquisition.screen
    x, y = screen.width_px / 2 + dx_px, screen.height_px / 2 + dy_px
    for _ in range(round(seconds * 30)):
        clock.now_ns += 33 * MS
        row = empty_gaze(1)
        row["time_ns"], row["valid"] = clock.now_ns, np.isfinite(dx_px)
        row["x_px"], row["y_px"] = x + rng.normal(0, sd_px), y + rng.normal(0, sd_px)
        workspace.acquisition.source.waiting = [reading(row[0])]
        workspace.acquisition.source.state = SourceState.OK
        workspace.acquisition.pump()
        window.drift.tick()
        if not window.drift.looks:
            break
    if thanks and window.drift.running and not window.drift.refused:
        clock.now_ns += THANKS_NS
        window.drift.tick()


def reading(sample):
    from gazelab.sources.base import Reading

    return Reading(sample)


def marks(workspace):
    path = workspace.writer.path if workspace.writer else None
    path = workspace.end_session() or path
    return [m for m in Session.open(path).markers() if m["kind"] == "drift_check"]


def px_of(workspace, deg):
    return deg * workspace.acquisition.screen.px_per_deg()


def test_a_check_that_is_due_comes_first_and_the_chart_follows(qtbot, window, workspace):
    told = []
    window.checked.connect(told.append)
    assert "a dot appears" in window._words()
    begin_check(qtbot, window)
    assert window.phase is Phase.CHECKING
    look(workspace, window, px_of(workspace, 0.4))
    qtbot.waitUntil(lambda: window._study.state is StudyState.SHOWING)
    assert window.phase is Phase.READING
    (mark,) = marks(workspace)
    assert mark["decision"] == "fine"
    assert "nothing to correct" in outcome_text(told[0])


def test_the_participant_is_thanked_for_a_second_before_the_chart(qtbot, window, workspace, clock, pixels_of):
    begin_check(qtbot, window)
    look(workspace, window, 0.0, thanks=False)
    told = clock.now_ns
    assert (window.phase, window.drift.looks) == (Phase.CHECKING, False)

    def drawn():
        image = pixels_of(window.grab().toImage()).astype(int)
        middle = image.shape[0] // 2
        green = int((image[..., 1] - image[..., 0] > 40).sum())
        return green, int((image[middle + 50 :].max(-1) < 90).sum())

    ring, letters = drawn()
    assert ring > 50
    assert letters > 50
    press(qtbot, window, Qt.Key.Key_Space)
    clock.now_ns = told + THANKS_NS - MS
    window.drift.tick()
    assert window.phase is Phase.CHECKING, "it stands for its time, and no key cuts it short"
    assert drawn()[0] < ring, "the ring fades"
    clock.now_ns += MS
    window.drift.tick()
    assert window.phase is Phase.READING
    assert [m["decision"] for m in marks(workspace)] == ["fine"]


def test_G4_esc_while_thanked_pauses_and_what_was_found_stands(qtbot, window, workspace):
    begin_check(qtbot, window)
    look(workspace, window, 0.0, thanks=False)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.phase is Phase.PAUSED
    assert not window.drift._timer.isActive()
    press(qtbot, window, Qt.Key.Key_Space)
    assert window.phase is Phase.READING, "checked already"
    assert [m["decision"] for m in marks(workspace)] == ["fine"]


def test_U11_leaving_while_thanked_begins_no_second_check(qtbot, window, workspace):
    begin_check(qtbot, window)
    look(workspace, window, 0.0, thanks=False)
    window.focus_is(False)
    window.focus_is(True)
    assert not window.drift.looks
    assert window.drift._timer.isActive()


def test_an_offset_is_corrected_live_and_the_target_is_where_it_is_drawn(qtbot, window, workspace, pixels_of):
    begin_check(qtbot, window)
    image = pixels_of(window.grab().toImage()).mean(-1)
    ys, xs = np.nonzero(image < 100)
    screen = workspace.acquisition.screen
    assert (xs.mean() + 0.5, ys.mean() + 0.5) == pytest.approx(
        (screen.width_px / 2, screen.height_px / 2), abs=1
    )
    look(workspace, window, px_of(workspace, 2.0))
    assert workspace.acquisition.correction_px[0] == pytest.approx(-px_of(workspace, 2.0), abs=5)
    seen = workspace.acquisition.snapshot().samples
    assert seen["x_px"][-1] == pytest.approx(screen.width_px / 2 + px_of(workspace, 2.0), abs=20), (
        "not the past"
    )
    (mark,) = marks(workspace)
    assert mark["decision"] == "corrected"
    assert mark["correction_px"][0] == pytest.approx(-px_of(workspace, 2.0), abs=5)


def test_D_asks_for_a_check_between_charts_and_comes_back(qtbot, workspace, run_source, clock):
    window = open_window(qtbot, workspace, run_source, every=0)
    press(qtbot, window, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: window.drift.running)
    look(workspace, window, 0.0)
    assert window.phase is Phase.READY
    press(qtbot, window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window._study.state is StudyState.SHOWING)
    qtbot.keyClicks(window._answer, "d")
    assert (window._answer.text(), window.phase) == ("d", Phase.READING), "there it is a letter"
    window.ask_check()
    qtbot.keyClick(window._answer, Qt.Key.Key_Return)
    begin_check(qtbot, window)
    assert window.phase is Phase.CHECKING
    window.stop("over")
    assert [m["decision"] for m in marks(workspace)] == ["fine", "skipped"]


def test_the_space_bar_says_that_the_target_is_looked_at(qtbot, window, workspace, clock):
    begin_check(qtbot, window)
    clock.now_ns += 200 * MS
    started = clock.now_ns
    press(qtbot, window, Qt.Key.Key_Space)
    look(workspace, window, 0.0)
    assert window.phase is Phase.READING
    assert clock.now_ns - started - THANKS_NS < 1_000 * MS, "without settling first"


def test_a_gaze_that_is_too_far_off_asks_for_a_calibration_and_can_be_overridden(qtbot, window, workspace):
    begin_check(qtbot, window)
    look(workspace, window, px_of(workspace, 7.0))
    assert window.phase is Phase.CHECKING
    assert "no longer fits: the offset is too large" in window._words()
    press(qtbot, window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window._study.state is StudyState.SHOWING)
    assert workspace.acquisition.correction_px == (0.0, 0.0)
    assert [m["decision"] for m in marks(workspace)] == ["recalibrate", "overridden"]


def test_R_checks_once_more(qtbot, window, workspace):
    begin_check(qtbot, window)
    look(workspace, window, np.nan, seconds=9)
    assert window.drift.refused
    assert "no gaze" in window._words()
    press(qtbot, window, Qt.Key.Key_R)
    assert not window.drift.refused
    look(workspace, window, 0.0)
    assert window.phase is Phase.READING
    assert [m["decision"] for m in marks(workspace)] == ["recalibrate", "fine"]


def test_G4_esc_skips_the_check_and_pauses_and_the_study_goes_on_without_it(qtbot, window, workspace):
    begin_check(qtbot, window)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.phase is Phase.PAUSED
    assert not window.drift._timer.isActive()
    press(qtbot, window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: window._study.state is StudyState.SHOWING)
    (mark,) = marks(workspace)
    assert mark["decision"] == "skipped"
    assert mark["offset_px"] == [None, None]


def test_G4_esc_after_a_refusal_pauses_and_the_refusal_stands(qtbot, window, workspace):
    begin_check(qtbot, window)
    look(workspace, window, px_of(workspace, 7.0))
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.phase is Phase.PAUSED
    assert [m["decision"] for m in marks(workspace)] == ["recalibrate"]


def test_D_in_a_pause_ends_the_pause(qtbot, window, workspace):
    press(qtbot, window, Qt.Key.Key_Escape)
    press(qtbot, window, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: window.drift.running)
    look(workspace, window, 0.0)
    assert window.phase is Phase.READY
    kinds = [m["kind"] for m in Session.open(workspace.end_session()).markers()]
    assert kinds[1:5] == ["pause", "resume", "drift_check", "session_end"]


def test_U11_eyes_on_another_window_were_not_on_the_target(qtbot, window, workspace, clock):
    begin_check(qtbot, window)
    qtbot.waitUntil(window.isActiveWindow)
    look(workspace, window, 300.0, seconds=1.0)
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(lambda: not window.isActiveWindow())
    assert not window.drift._timer.isActive()
    clock.now_ns += 20_000 * MS
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    assert window.drift.running
    look(workspace, window, 0.0)
    assert window.phase is Phase.READING
    assert [m["decision"] for m in marks(workspace)] == ["fine"]


def test_U7_closing_the_window_in_a_check_saves_and_stops(qtbot, window, workspace):
    begin_check(qtbot, window)
    ended = []
    window.ended.connect(ended.append)
    window.close()
    assert len(ended) == 1
    assert not window.drift._timer.isActive()
    assert [m["decision"] for m in marks(workspace)] == ["skipped"]


def test_U9_an_unplugged_monitor_ends_the_check(qtbot, window, workspace):
    begin_check(qtbot, window)
    window._screen_removed(None)
    assert window.phase is Phase.PAUSED
    assert not window.drift.running


def test_where_it_is_looked_at_is_told_to_whoever_moves_synthetic_eyes(qtbot, window, workspace, clock):
    screen = workspace.acquisition.screen
    shown = []
    window.drift.target_shown.connect(
        lambda target, time_ns: shown.append((target.x_px, target.y_px, time_ns))
    )
    begin_check(qtbot, window)
    assert shown == [(screen.width_px / 2, screen.height_px / 2, clock.now_ns)]


def test_how_often_is_left_to_the_source_unless_it_is_set(qtbot, workspace, run_source, tmp_path):
    run_source()
    assert default_every(workspace) == 0
    run_source(has_features=True)
    qtbot.waitUntil(lambda: workspace.needs_calibration)
    assert default_every(workspace) == 5
    choice = DriftChoice(workspace)
    qtbot.addWidget(choice)
    assert choice.every == 5
    choice._every.setValue(2)
    choice.refresh(running=False)
    assert choice.every == 2
    set_by_hand = Workspace(tmp_path, parse_settings("[drift]\ncheck_every = 3\naccept_deg = 2"))
    assert default_every(set_by_hand) == 3
    assert drift_plan(set_by_hand, 3).limits.accept_deg == 2
    assert set_by_hand.close()


def test_without_a_calibration_there_is_no_gaze_to_check(workspace, run_source, qtbot):
    run_source(has_features=True)
    qtbot.waitUntil(lambda: workspace.needs_calibration)
    assert drift_plan(workspace, 5).schedule.every == 0


def test_the_session_says_how_drift_was_checked(qtbot, workspace, run_source):
    run_source()
    workspace.set_participant("P01")
    page = RecordPage(workspace)
    qtbot.addWidget(page)
    page.enter()
    qtbot.waitUntil(lambda: bool(page.charts.items))
    page.drift._every.setValue(4)
    page.begin()
    assert page.stimulus is not None
    page._ask_check()
    assert page.stimulus.drift.asked
    page.stimulus._armed = True
    page._ask_check()
    page.stimulus.drift.begin()
    page.stimulus.drift.skip()
    assert page.operator.drift.text() == "Drift check skipped"
    page._stop_now()
    header = Session.open(next((workspace.root / "sessions").iterdir())).header
    assert header.settings["drift_check"]["every"] == 4
    assert header.settings["drift_check"]["accept_deg"] == 1.0
    page.leave()


def test_the_operator_reads_what_a_check_came_to_until_the_chart_after_it(qtbot, window, workspace):
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    study = window._study
    view.start(study, second_screen=False)
    window.checked.connect(lambda outcome: view.tell_drift(outcome, study.index))
    window.stepped.connect(lambda: view.step(study))
    begin_check(qtbot, window)
    look(workspace, window, px_of(workspace, 0.5), sd_px=0.5)
    qtbot.waitUntil(lambda: study.state is StudyState.SHOWING)
    assert view.drift.text() == "Drift 0.5°: fine"
    qtbot.keyClicks(window._answer, "3")
    qtbot.keyClick(window._answer, Qt.Key.Key_Return)
    assert view.drift.text() == "Drift 0.5°: fine"
    window.drift.done(study.index)
    press(qtbot, window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: study.state is StudyState.SHOWING)
    assert view.drift.text() == ""
