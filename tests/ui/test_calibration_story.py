"""An operator and a participant calibrate, with keys alone; the eyes are drawn straight into features."""

from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest

from gazelab.calibration.mapping import fit
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.profile import load_profile
from gazelab.calibration.result import CalibrationState
from gazelab.core.gaze import PATCH_COLS, PATCH_ROWS, empty_features
from gazelab.ui.calibrate_page import CalibratePage

FRAME_NS = 33_333_333
_COLS, _ROWS = np.meshgrid(np.arange(PATCH_COLS), np.arange(PATCH_ROWS))


class Eyes:
    """Look at the target that is up, 200 ms after it came; `blind` has the targets that give no face."""

    def __init__(self, page: CalibratePage) -> None:
        self.page, self.time_ns, self.blind = page, 10_000_000_000, set()
        self._target, self._since, self._place = None, 0, (0.0, 0.0)
        self._rng = np.random.default_rng(0)
        self._last_ns = self.time_ns

    def clock(self) -> int:
        return self.time_ns

    def take(self):
        """Give the frames that are due, as the queue does; what comes on now is seen in the last of them."""
        late = []
        while self._last_ns + FRAME_NS < self.time_ns:
            self._last_ns += FRAME_NS
            late.append((self._row(*self._place, self._last_ns), self._last_ns))
        self._last_ns = self.time_ns
        procedure = self.page.procedure
        target = procedure.current_target
        if target != self._target:
            self._target, self._since = target, self.time_ns
        if target is not None and self.time_ns - self._since > 200_000_000:
            at = procedure.target_at(self.time_ns - 80_000_000)
            self._place = tuple(float(v) for v in procedure.screen.to_deg(*at))
        row = self._row(*self._place, self.time_ns)
        row["valid"] = target is None or target.kind != "calibration" or target.index not in self.blind
        return [*late, (row, self.time_ns)]

    def _row(self, x_deg: float, y_deg: float, time_ns: int) -> np.void:
        row, noise = empty_features(1)[0], self._rng.normal(0, 1, 8)
        row["time_ns"], row["n_faces"], row["valid"] = time_ns, 1, True
        row["iris"] = (0.0075 * x_deg + 0.001 * noise[0], -0.0025 * y_deg + 0.001 * noise[1])
        row["openness"], row["blink_score"] = 0.3 + 0.004 * y_deg + 0.002 * noise[2], 0.05
        across, down = _COLS - (9.5 + 0.125 * x_deg), _ROWS - (4.5 - 0.125 * y_deg)
        grey = 180 * (1 - 0.7 * np.exp(-(across**2 + down**2) / 16))
        row["patches"] = np.clip(grey + self._rng.normal(0, 1, (2, PATCH_ROWS, PATCH_COLS)), 0, 255)
        row["look"] = 0.3 + 0.02 * np.array([-y_deg, -y_deg, x_deg, -x_deg, -x_deg, x_deg, y_deg, y_deg])
        row["yaw_deg"], row["pitch_deg"], row["roll_deg"] = 0.2 * noise[3], 0.2 * noise[4], 0.0
        row["head_mm"] = 0.0, 0.0, 550.0
        row["eye_width_px"], row["iris_px"] = 45.0, 17.0
        row["eye_centre_px"] = (360.0, 240.0), (280.0, 240.0)
        return row

    def look_until_done(self) -> list:
        """Let frames pass until the targets are gone; gives the targets that were up."""
        QTest.keyClick(self.page.window_, Qt.Key.Key_Space)
        seen = []
        for _ in range(5000):
            window = self.page.window_
            if window is None:
                return seen
            self.time_ns += FRAME_NS
            window.tick()
            target = self.page.procedure.current_target
            if target is not None and target not in seen:
                seen.append(target)
        raise AssertionError("the targets never went away")


@pytest.fixture
def page(qtbot, workspace, run_source):
    run_source(has_features=True)
    workspace.set_participant("P01")
    made = CalibratePage(workspace)
    qtbot.addWidget(made)
    made.resize(1100, 700)
    made.show()
    return made


@pytest.fixture
def eyes(page, workspace, monkeypatch):
    made = Eyes(page)
    monkeypatch.setattr(workspace, "clock", made.clock)
    monkeypatch.setattr(workspace.queue, "take", made.take)
    return made


def press(qtbot, widget, *keys):
    for key in keys:
        qtbot.keyClick(widget, key)


def test_calibrated_at_once_and_pictured_beside_the_profile(qtbot, page, workspace, eyes):
    page._start.setFocus()
    press(qtbot, page._start, Qt.Key.Key_Space)
    shown = eyes.look_until_done()
    assert [t.kind for t in shown] == ["calibration"] * 9 + ["validation"] * 5
    assert page.procedure.state is CalibrationState.VALID, page.words.concerns
    assert page.words.state == "Calibrated, for participant P01."
    assert workspace.may_record() == ""
    [folder] = workspace.saved_calibrations()
    assert (folder / "validation.png").stat().st_size > 1000
    assert load_profile(folder).validation == page.procedure.result().validation
    assert len(page.card.table.texts()) == 6
    assert page.card.table.texts()[-1][-1].endswith(", 30 Hz")


def test_a_point_without_data_is_redone_by_arrow_keys_and_R_alone(qtbot, page, workspace, eyes):
    """The fifth of nine gives no face: a concern, a cross in the picture, and only that point again."""
    eyes.blind = {4}
    page._start.setFocus()
    press(qtbot, page._start, Qt.Key.Key_Space)
    eyes.look_until_done()
    assert page.procedure.state is CalibrationState.REVIEW
    assert "No data on target 5" in page.words.concerns
    assert [t.index for t in page.card.view.shown.targets if t.redo] == [4]
    assert workspace.may_record() != ""
    keys = Qt.Key
    press(qtbot, page.card.view, keys.Key_Right, keys.Key_Right, keys.Key_Down)
    assert page.card.view.current == 4
    eyes.blind = set()
    press(qtbot, page.card.view, keys.Key_R)
    shown = eyes.look_until_done()
    assert [(t.kind, t.index) for t in shown[:1]] == [("calibration", 4)]
    assert {t.kind for t in shown[1:]} <= {"validation"}
    assert page.procedure.state is CalibrationState.VALID, page.words.concerns
    assert workspace.may_record() == ""


def test_concerns_are_accepted_with_a_reason_that_is_kept(qtbot, page, workspace, eyes, monkeypatch):
    eyes.blind = {4}
    page.start()
    eyes.look_until_done()
    asked = []
    monkeypatch.setattr(
        "gazelab.ui.calibrate_page.QInputDialog.getText", lambda *a: asked.append(a) or ("a pilot", True)
    )
    page.card._accept.setFocus()
    press(qtbot, page.card._accept, Qt.Key.Key_Space)
    assert len(asked) == 1
    assert workspace.may_record() == ""
    [folder] = workspace.saved_calibrations()
    assert load_profile(folder).record["note"] == "a pilot"


def test_validating_again_shows_validation_targets_alone(qtbot, page, workspace, eyes):
    page.start()
    eyes.look_until_done()
    page.card._validate.setFocus()
    press(qtbot, page.card._validate, Qt.Key.Key_Space)
    assert {t.kind for t in eyes.look_until_done()} == {"validation"}
    assert workspace.may_record() == ""


def test_a_saved_calibration_is_shown_with_its_numbers_when_it_is_used_again(qtbot, page, workspace, eyes):
    page.start()
    eyes.look_until_done()
    before = page.card.table.texts()
    workspace.begin_calibration()
    page.card.show_overview(None)
    page._use_saved.setFocus()
    press(qtbot, page._use_saved, Qt.Key.Key_Space)
    assert page.card.table.texts() == before
    assert len(page.card.view.shown.targets) == 9
    assert workspace.may_record() == ""


def test_a_child_follows_a_star_that_moves_and_then_moves_the_head(qtbot, page, workspace, eyes):
    """All options at once; these eyes hold their head still, and that is told."""
    press(qtbot, page.form.points, Qt.Key.Key_End)
    press(qtbot, page.form.looks, Qt.Key.Key_End)
    press(qtbot, page.form.head, Qt.Key.Key_Space)
    page.start()
    shown = eyes.look_until_done()
    kinds = [t.kind for t in shown]
    assert kinds[0] == "pursuit"
    assert kinds.count("head") == 4
    assert kinds[-5:] == ["validation"] * 5
    assert page.procedure.state is CalibrationState.REVIEW
    assert "The head hardly moved" in page.words.concerns
    assert page.card.minimumSizeHint().width() <= 550, "all buttons at once fit the smallest window"
    assert not page.card._head.isHidden()
    page.card._head.setFocus()
    press(qtbot, page.card._head, Qt.Key.Key_Space)
    assert [t.kind for t in eyes.look_until_done()] == ["head"] * 4


def test_what_was_seen_while_a_fit_held_the_screen_up_is_no_look_at_the_next_target(
    qtbot, page, eyes, workspace, monkeypatch
):
    """Four seconds pass in the fit; the eyes are on the last target until the next is really drawn."""

    def slow_fit(*given):
        made = fit(*given)
        eyes.time_ns += 4_000_000_000
        return made

    screen = workspace.screen
    monkeypatch.setattr(page.form, "procedure", lambda _s: CalibrationProcedure(screen, fit_mapping=slow_fit))
    page.start()
    eyes.look_until_done()
    accuracy = [t.accuracy_deg for t in page.procedure.result().validation.targets]
    assert len(accuracy) == 5
    assert max(accuracy) < 1.0
