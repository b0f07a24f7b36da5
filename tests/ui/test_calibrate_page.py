from __future__ import annotations

import pytest
from PyQt6.QtCore import Qt

from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.calibration.targets import calibration_targets
from gazelab.calibration.validation import TargetValidation, Validation
from gazelab.core.geometry import Screen
from gazelab.ui.calibrate_page import CalibratePage
from gazelab.ui.result_view import NONE, ResultView


@pytest.fixture
def page(qtbot, workspace, run_source):
    run_source(has_features=True)
    workspace.set_participant("P01")
    made = CalibratePage(workspace)
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def test_without_a_participant_it_does_not_start(qtbot, workspace, run_source):
    run_source(has_features=True)
    page = CalibratePage(workspace)
    qtbot.addWidget(page)
    assert not page._start.isEnabled()
    assert "participant code" in page._state.text()


def test_a_source_that_measures_gaze_itself_has_nothing_to_calibrate(qtbot, workspace, run_source):
    run_source()
    workspace.set_participant("P01")
    page = CalibratePage(workspace)
    qtbot.addWidget(page)
    assert not page._start.isEnabled()
    assert page._next.isEnabled()


def test_G8_starting_and_stopping_leaves_nothing_in_force(qtbot, page, workspace):
    page.start()
    targets = page.window_
    qtbot.keyClick(targets, Qt.Key.Key_Space)
    assert page.procedure.state is CalibrationState.COLLECTING
    qtbot.keyClick(targets, Qt.Key.Key_Escape)
    assert page.window_ is None
    assert workspace.profile is None
    assert workspace.may_record() != ""
    assert not page._next.isEnabled()


def test_a_broken_saved_calibration_is_a_sentence(qtbot, page, workspace):
    folder = workspace.root / "calibration" / "P01_2026-01-01T00-00-00Z"
    folder.mkdir(parents=True)
    (folder / "profile.json").write_text("{")
    told = []
    workspace.told.connect(lambda text, _role: told.append(text))
    page._refresh()
    assert page._saved.currentText() == folder.name
    page._use_saved.click()
    assert "profile.json" in told[-1]
    assert workspace.profile is None


def result_with(screen: Screen) -> CalibrationResult:
    seen = (
        TargetValidation(0, 200, 200, 260.0, 200.0, 60.0, 1.5),
        TargetValidation(1, 600, 600),
    )
    nan = float("nan")
    validation = Validation(seen, 1, 60.0, 1.5, 5.0, 0.1, 8.0, 0.2, 0.0, 30.0, 1.0, 1.0, nan, nan, 300.0, 800)
    return CalibrationResult(CalibrationState.FAILED, None, validation, (), (4,), (), (), {}, "")


def test_G10_the_result_marks_a_target_without_data_and_draws_the_arrows_there_are(qtbot, grab):
    screen = Screen("s", 800, 800, 300, 300, 600)
    targets = calibration_targets(9, screen)
    view = ResultView()
    view.resize(804, 804)
    view.set_result(screen, targets, None)
    plain = grab(view)
    view.set_result(screen, targets, result_with(screen))
    drawn = grab(view)
    changed = (plain != drawn).any(-1)
    arrow = changed[192:212, 215:262]
    assert arrow.any(), "from (200, 200) to (260, 200)"
    centre = view.place(targets[4])
    x, y = round(centre.x()), round(centre.y())
    assert changed[y - 6 : y + 6, x - 6 : x + 6].any(), "a cross on the fifth target"


def test_a_target_is_chosen_by_click_and_by_keys(qtbot):
    screen = Screen("s", 800, 800)
    targets = calibration_targets(9, screen)
    view = ResultView()
    qtbot.addWidget(view)
    view.resize(404, 404)
    view.set_result(screen, targets, None)
    view.show()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.place(targets[4]).toPoint())
    assert view.current == 4
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.current == 5
    qtbot.keyClick(view, Qt.Key.Key_Left)
    assert view.current == 4
    between = (view.place(targets[4]) + view.place(targets[0])) / 2
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=between.toPoint())
    assert view.current == NONE


def test_U7_leaving_the_page_in_a_calibration_ends_it_with_none_in_force(qtbot, page, workspace):
    page.start()
    targets = page.window_
    qtbot.keyClick(targets, Qt.Key.Key_Space)
    page.leave()
    assert page.window_ is None
    assert targets.isHidden()
    assert workspace.profile is None
