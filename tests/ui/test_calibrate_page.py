from __future__ import annotations

import json
import re
from dataclasses import asdict, replace

import pytest
from PyQt6.QtCore import QEvent, Qt
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QApplication, QWidget

from gazelab.calibration.findings import Code, Finding
from gazelab.calibration.overview import Overview
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.calibration.targets import calibration_targets
from gazelab.calibration.validation import TargetValidation, Validation
from gazelab.core.geometry import Screen
from gazelab.ui.calibrate_page import CalibratePage
from gazelab.ui.choices import load_choices
from gazelab.ui.position_check import PositionCheck
from gazelab.ui.result_picture import NONE, Layout
from gazelab.ui.result_view import ResultView
from gazelab.ui.result_words import in_numbers, in_sentences


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
    assert "participant code" in page.words.state


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
    assert page._saved.currentText() == "2026-01-01 00:00:00"
    page._use_saved.click()
    assert "profile.json" in told[-1]
    assert workspace.profile is None


def result_with(screen: Screen, **changes) -> CalibrationResult:
    seen = (
        TargetValidation(0, 200, 200, 260.0, 200.0, 60.0, 1.5),
        TargetValidation(1, 600, 600),
    )
    nan = float("nan")
    validation = Validation(seen, 1, 60.0, 1.5, 5.0, 0.1, 8.0, 0.2, 0.0, 30.0, 1.0, 1.0, nan, nan, 300.0, 800)
    made = CalibrationResult(CalibrationState.FAILED, None, validation, (), (4,), (), (), {}, "")
    return replace(made, **changes)


SCREEN = Screen("s", 800, 800, 300, 300, 600)
TARGETS = calibration_targets(9, SCREEN)


@pytest.fixture
def view(qtbot):
    """A view of nine targets without a result, shown and with the keys."""
    made = ResultView()
    qtbot.addWidget(made)
    made.resize(600, 600)
    made.show_overview(Overview.of(SCREEN, TARGETS, None))
    made.show()
    return made


def test_G10_the_result_marks_a_target_without_data_and_draws_the_arrows_there_are(qtbot, grab):
    view = ResultView()
    view.resize(804, 804 + 58)
    view.show_overview(Overview.of(SCREEN, TARGETS, None))
    plain = grab(view)
    view.show_overview(Overview.of(SCREEN, TARGETS, result_with(SCREEN)))
    drawn = grab(view)
    layout = Layout.of(SCREEN, view.rect().toRectF())
    arrow = layout.place(230, 200)
    x, y = round(arrow.x()), round(arrow.y())
    blue = drawn[y - 2 : y + 3, x].astype(int)
    assert (blue[:, 2] - blue[:, 0] > 80).any(), "from (200, 200) to (260, 200)"
    centre = view.place(TARGETS[4])
    x, y = round(centre.x()), round(centre.y())
    red = drawn[y - 5 : y + 6, x - 5 : x + 6].astype(int)
    assert (red[..., 0] - red[..., 2] > 80).any(), "a cross on the fifth target"
    assert (plain != drawn).any()


def test_G10_a_region_without_data_is_hatched_and_never_0(qtbot, grab):
    """The only known error lies in the upper left region; the lower right one has a target without data."""
    view = ResultView()
    view.resize(804, 804 + 58)
    shown = Overview.of(SCREEN, TARGETS, result_with(SCREEN))
    assert shown.error_map().n.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    view.show_overview(shown)
    drawn = grab(view)
    known, unknown = drawn[150:170, 100:180], drawn[700:740, 600:680]
    assert len({tuple(p) for p in known.reshape(-1, 3)}) == 1, "one even colour"
    assert len({tuple(p) for p in unknown.reshape(-1, 3)}) > 1, "hatched"


def test_a_target_is_chosen_by_click_and_given_back_by_another(qtbot, view):
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.place(TARGETS[4]).toPoint())
    assert view.current == 4
    between = (view.place(TARGETS[4]) + view.place(TARGETS[0])) / 2
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=between.toPoint())
    assert view.current == NONE


def test_arrow_keys_go_from_target_to_target_as_they_lie(qtbot, view):
    keys = Qt.Key
    went = []
    for key in (keys.Key_Right, keys.Key_Right, keys.Key_Down, keys.Key_Right, keys.Key_Right, keys.Key_Up,
                keys.Key_Left):  # fmt: skip
        qtbot.keyClick(view, key)
        went.append(view.current)
    assert went == [0, 1, 4, 5, 5, 2, 1]
    qtbot.keyClick(view, keys.Key_Escape)
    assert view.current == NONE


def test_R_redoes_the_chosen_target_and_nothing_without_one(qtbot, view):
    with qtbot.assertNotEmitted(view.redo_asked):
        qtbot.keyClick(view, Qt.Key.Key_R)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    with qtbot.waitSignal(view.redo_asked) as asked:
        qtbot.keyClick(view, Qt.Key.Key_R)
    assert asked.args == [0]


def test_concerns_are_listed_in_words_with_the_reason_of_an_acceptance():
    slope = Finding(Code.SHRINK, "Gaze is pulled to the centre vertically.", False)
    loss = Finding(Code.LOSS, "40% of the samples were lost.", False)
    made = result_with(SCREEN, findings=(slope, loss), note="pilot")
    assert in_sentences(made).splitlines() == [
        f"• {slope.message}",
        f"• {loss.message}",
        "Accepted because: pilot",
    ]
    assert in_sentences(None) == ""


def test_G2_the_figures_name_the_edges_and_what_is_unknown_is_no_number():
    made = result_with(SCREEN)
    known = replace(made.validation, edge_accuracy_px=80.0, edge_accuracy_deg=2.0)
    assert in_numbers(replace(made, validation=known)).splitlines() == [
        "Accuracy 1.50° (60 px)", "Near the edges 2.00° (80 px)"
    ]  # fmt: skip
    nan = float("nan")
    unknown = replace(made.validation, accuracy_px=nan, accuracy_deg=nan)
    assert in_numbers(replace(made, validation=unknown)) == "Accuracy: no data"
    assert in_numbers(replace(made, validation=None)) == ""


def test_every_control_is_reached_by_tab(qtbot, page):
    """One round of Tab goes over all that can be used, from options to results to the next step."""
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.form.points.setFocus()
    order = []
    for _ in range(20):
        order.append(QApplication.focusWidget())
        qtbot.keyClick(order[-1], Qt.Key.Key_Tab)
        if QApplication.focusWidget() is page.form.points:
            break
    usable = [w for w in (*page.form.controls(), page._start, page.card.view) if w.isEnabled()]
    assert [w for w in order if w in usable] == usable


def test_no_two_controls_have_the_same_letter(page):
    letters = [
        match[1].lower()
        for w in page.findChildren(QWidget)
        if hasattr(w, "text") and (match := re.search("&([a-zA-Z])", w.text()))
    ]
    assert len(letters) >= 10
    assert len(letters) == len(set(letters))
    assert not set(letters) & set("fvh"), "those of the menus"


def test_how_to_calibrate_is_chosen_by_keys_and_remembered(qtbot, page, workspace):
    form = page.form
    for box in (form.points, form.looks, form.advance):
        assert box.count() >= 2
    qtbot.keyClick(form.points, Qt.Key.Key_End)
    qtbot.keyClick(form.looks, Qt.Key.Key_End)
    qtbot.keyClick(form.head, Qt.Key.Key_Space)
    chosen = form.settings
    assert (chosen.style, chosen.target, chosen.head_phase, chosen.beep) == ("pursuit", "child", True, False)
    again = CalibratePage(workspace)
    qtbot.addWidget(again)
    assert again.form.settings == chosen
    assert again.form.points.currentIndex() == form.points.count() - 1
    made = again.form.procedure(workspace.screen)
    assert made.style == "pursuit"
    assert made.n_to_show() > 1 + 5, "the head's part is there"


def test_what_is_told_on_the_command_line_wins_over_what_was_chosen_before(qtbot, page, workspace):
    qtbot.keyClick(page.form.points, Qt.Key.Key_End)
    told = replace(workspace.settings.calibration, points=5)
    workspace.settings = replace(workspace.settings, calibration=told)
    again = CalibratePage(workspace)
    qtbot.addWidget(again)
    assert (again.form.settings.points, again.form.settings.style) == (5, "points")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"told": 1}', '{"told": {}, "chosen": 3}'])
def test_broken_choices_are_like_none(text, workspace, qtbot):
    (workspace.root / "choices.json").write_text(text)
    page = CalibratePage(workspace)
    qtbot.addWidget(page)
    assert page.form.settings == workspace.settings.calibration


def test_choices_that_cannot_be_are_left_out_one_by_one(workspace):
    told = workspace.settings.calibration
    kept = {"told": asdict(told), "chosen": {"points": 8, "head_phase": 1, "target": "child"}}
    (workspace.root / "choices.json").write_text(json.dumps(kept))
    assert load_choices(workspace.root, told) == replace(told, target="child")


def test_G7_a_camera_begins_with_a_position_check_and_a_redo_does_not(qtbot, workspace, still_camera):
    workspace.set_participant("P01")
    workspace.open_source(still_camera, pytest.fail)
    qtbot.waitUntil(lambda: workspace.acquisition is not None)
    page = CalibratePage(workspace)
    qtbot.addWidget(page)
    page.start()
    check = page.window_.findChild(PositionCheck)
    assert check.isVisible()
    check.refresh()
    assert "✓ Face found" in check.board.texts
    repeat = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ", True)
    QApplication.sendEvent(page.window_, repeat)
    assert check.isVisible(), "a key that is held down since before does not begin"
    assert page.procedure.state is CalibrationState.NONE
    qtbot.keyRelease(page.window_, Qt.Key.Key_Space)
    qtbot.keyClick(page.window_, Qt.Key.Key_Space)
    assert not check.isVisible()
    assert page.procedure.state is CalibrationState.COLLECTING
    qtbot.keyClick(page.window_, Qt.Key.Key_Escape)
    page._run(page.procedure.start)
    assert page.window_.findChild(PositionCheck) is None
    page.leave()


def test_a_source_without_a_picture_begins_with_the_instruction_alone(page):
    page.start()
    assert page.window_.waiting
    assert page.window_.findChild(PositionCheck) is None
    page.leave()


def test_U7_leaving_the_page_in_a_calibration_ends_it_with_none_in_force(qtbot, page, workspace):
    page.start()
    targets = page.window_
    qtbot.keyClick(targets, Qt.Key.Key_Space)
    page.leave()
    assert page.window_ is None
    assert targets.isHidden()
    assert workspace.profile is None
