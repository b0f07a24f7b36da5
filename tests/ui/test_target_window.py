from __future__ import annotations

import json

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, Qt, QTranslator
from PyQt6.QtGui import QGuiApplication, QKeyEvent
from PyQt6.QtWidgets import QApplication, QWidget

from gazelab.calibration.head_phase import STEPS, head_targets
from gazelab.calibration.procedure import RUNNING, CalibrationProcedure, Part
from gazelab.calibration.pursuit import INSTRUCTION
from gazelab.calibration.result import CalibrationState
from gazelab.calibration.targets import calibration_targets
from gazelab.core.geometry import Screen
from gazelab.ui.asked import Move, in_words, move_of
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.monitors import screen_of
from gazelab.ui.target_art import TargetStyle, target_diameter_px
from gazelab.ui.target_window import TargetWindow


@pytest.fixture
def clock():
    now = [1_000_000_000]

    def read() -> int:
        return now[0]

    read.now = now
    return read


@pytest.fixture
def window(qtbot, clock):
    monitor = QGuiApplication.primaryScreen()
    made = TargetWindow(CalibrationProcedure(screen_of(monitor)), list, clock, monitor)
    qtbot.addWidget(made)
    yield made
    made.close()


def begin(qtbot, window):
    window.run(window._procedure.start)
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert window._procedure.state is CalibrationState.COLLECTING


def test_G7_space_pressed_before_the_instruction_does_not_start(qtbot, window):
    for _ in range(5):
        qtbot.keyClick(window, Qt.Key.Key_Space)
    window.run(window._procedure.start)
    assert window.waiting
    repeat = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ", True)
    QApplication.sendEvent(window, repeat)
    assert window.waiting


def test_G7_the_key_that_starts_does_not_take_the_first_target(qtbot, window, clock):
    window.run(window._procedure.start)
    qtbot.keyPress(window, Qt.Key.Key_Space)
    first = window._procedure.current_target
    clock.now[0] += 2_000_000_000
    repeat = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ", True)
    QApplication.sendEvent(window, repeat)
    window.tick()
    assert window._procedure.current_target == first


def test_esc_stops_and_leaves_no_calibration(qtbot, window):
    begin(qtbot, window)
    ended = []
    window.ended.connect(ended.append)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert len(ended) == 1
    assert "none is in force" in ended[0]
    assert window._procedure.state is CalibrationState.NONE
    assert window.isHidden()


def test_G4_a_change_of_resolution_aborts_with_a_sentence(qtbot, window, monkeypatch):
    begin(qtbot, window)
    ended = []
    window.ended.connect(ended.append)
    name = window._procedure.screen.name
    monkeypatch.setattr("gazelab.ui.target_window.screen_of", lambda _m: Screen(name, 1024, 768))
    monitor = QGuiApplication.primaryScreen()
    monitor.geometryChanged.emit(monitor.geometry())
    assert "resolution" in ended[0]
    result = window._procedure.result()
    assert result.state is CalibrationState.FAILED
    assert result.mapping is None
    assert window.isHidden()


def test_U9_an_unplugged_monitor_aborts_without_an_exception(qtbot, window):
    begin(qtbot, window)
    QGuiApplication.instance().screenRemoved.emit(QGuiApplication.primaryScreen())
    assert window._procedure.state not in RUNNING
    assert window.isHidden()


def test_U11_losing_the_keyboard_forgets_held_keys_and_esc_works(qtbot, window):
    window.run(window._procedure.start)
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyPress(window, Qt.Key.Key_Space)
    assert window._key_down
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(lambda: not window.isActiveWindow())
    assert not window._key_down
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.isHidden()


def frames(window, clock, n, step_ns=33_000_000):
    for _ in range(n):
        clock.now[0] += step_ns
        window.tick()


def test_a_target_that_is_done_says_so_and_only_for_a_moment(qtbot, window, clock, pixels_of):
    """Nobody looks, so the first target is given up after its time; a green ring fades where it was."""
    begin(qtbot, window)
    first, passed = window._procedure.current_target, 0
    while window._procedure.current_target == first:
        frames(window, clock, 1)
        passed += 1
        assert passed < 1000
    x, y = round(first.x_px), round(first.y_px)

    def green():
        seen = pixels_of(window.grab().toImage())[max(y - 40, 0) : y + 40, max(x - 40, 0) : x + 40].astype(
            int
        )
        return int((seen[..., 1] - seen[..., 0] > 40).sum())

    assert green() > 20
    frames(window, clock, 10)
    assert green() == 0


def test_no_sound_unless_it_is_asked_for(qtbot, clock, monkeypatch):
    beeps = []
    monkeypatch.setattr(QApplication, "beep", lambda: beeps.append(1))
    monitor = QGuiApplication.primaryScreen()
    for wanted in (False, True):
        made = TargetWindow(CalibrationProcedure(screen_of(monitor)), list, clock, monitor, beep=wanted)
        qtbot.addWidget(made)
        begin(qtbot, made)
        first = made._procedure.current_target
        for _ in range(1000):
            frames(made, clock, 1)
            if made._procedure.current_target != first:
                break
        made.close()
        assert len(beeps) == int(wanted)


def moving(clock, **options):
    monitor = QGuiApplication.primaryScreen()
    return TargetWindow(CalibrationProcedure(screen_of(monitor), **options), list, clock, monitor)


def middle_of_dark(image):
    """Middle of what is darker than letters' edges and greyer than a star."""
    dark = np.argwhere(image.max(-1) < 60)
    return dark.mean(0)[::-1] + 0.5, len(dark)


def test_a_moving_target_is_drawn_where_the_procedure_says(qtbot, clock, pixels_of):
    window = moving(clock, style="pursuit")
    qtbot.addWidget(window)
    begin(qtbot, window)
    places = []
    for _ in range(3):
        frames(window, clock, 60)
        wanted = window._procedure.target_at(clock())
        found, _ = middle_of_dark(pixels_of(window.grab().toImage()))
        assert found == pytest.approx(np.array(wanted), abs=1.5)
        places.append(wanted)
    assert places[0] != places[1] != places[2]
    window.close()


def test_the_head_part_says_what_to_do_beside_the_dot_and_never_on_it(qtbot, clock, pixels_of):
    window = moving(clock, points=5, head_phase=True)
    qtbot.addWidget(window)
    begin(qtbot, window)
    procedure = window._procedure
    for _ in range(3000):
        if procedure.part is Part.HEAD or procedure.state not in RUNNING:
            break
        frames(window, clock, 1, 50_000_000)
    assert procedure.part is Part.HEAD
    assert "circle with your nose" in procedure.instruction
    frames(window, clock, 20)
    image = pixels_of(window.grab().toImage())
    x, y = (round(v) for v in procedure.target_at(clock()))
    ground = (image == NEUTRAL_RGB).all(-1)
    words = ~ground[y + 60 :]
    assert words.sum() > 500, "words and a picture below the dot"
    radius = target_diameter_px(procedure.screen, procedure.progress(clock())) / 2
    ring = ground[y - 50 : y + 50, x - 50 : x + 50]
    reach = np.hypot(*np.mgrid[-50:50, -50:50])
    assert ring[(reach > radius + 3) & (reach < 48)].all(), "free ground round the dot"
    window.close()


def test_what_is_asked_is_in_the_participants_language(qapp):
    class Dutch(QTranslator):
        def translate(self, context, text, disambiguation=None, n=-1):
            return "Volg de stip." if (context, text) == ("Procedure", INSTRUCTION) else ""

    dutch = Dutch()
    qapp.installTranslator(dutch)
    assert in_words(INSTRUCTION) == "Volg de stip."
    qapp.removeTranslator(dutch)
    assert in_words(INSTRUCTION) == INSTRUCTION
    assert in_words("") == ""


def test_each_movement_of_the_head_has_its_picture():
    """In the order in which the procedure asks for them."""
    words = {Move.CIRCLE: "circle", Move.CIRCLE_BACK: "other way round", Move.LEAN: "Lean"}
    targets = head_targets(Screen("s", 800, 600))
    assert [words[move_of(t)] in step.instruction for t, step in zip(targets, STEPS, strict=True)] == [
        True
    ] * 4
    assert move_of(None) is None
    assert move_of(calibration_targets(5, Screen("s", 800, 600))[0]) is None


def test_a_star_in_a_corner_is_whole_and_about_its_target(qtbot, clock, pixels_of):
    monitor = QGuiApplication.primaryScreen()
    procedure = CalibrationProcedure(screen_of(monitor), points=5)
    window = TargetWindow(procedure, list, clock, monitor, style=TargetStyle.CHILD)
    qtbot.addWidget(window)
    begin(qtbot, window)
    screen, corners = procedure.screen, 0
    for _ in range(3000):
        target = procedure.current_target
        if procedure.state not in RUNNING or corners == 4:
            break
        edge_px = min(target.x_px, screen.width_px - target.x_px, target.y_px, screen.height_px - target.y_px)
        wide = target_diameter_px(screen, 0, TargetStyle.CHILD)
        if edge_px < wide / 2:
            corners += 1
            frames(window, clock, 20)  # the sign of the one before is gone
            image = pixels_of(window.grab().toImage()).astype(int)
            ys, xs = np.nonzero(image[..., 0] - image[..., 2] > 60)
            reach = np.hypot(xs + 0.5 - target.x_px, ys + 0.5 - target.y_px)
            assert 0.8 * edge_px < reach.max() <= edge_px + 1, "as large as fits, and no larger"
            assert (xs.mean() + 0.5, ys.mean() + 0.5) == pytest.approx((target.x_px, target.y_px), abs=2)
        while procedure.current_target == target and procedure.state in RUNNING:
            frames(window, clock, 1, 50_000_000)
    assert corners == 4
    window.close()


@pytest.mark.parametrize("scale", [1, 1.25, 1.5, 2])
def test_G5_the_target_is_drawn_at_its_place_at_every_screen_scale(at_scale, scale):
    told = at_scale(
        scale,
        """
        import json
        import numpy as np
        from PyQt6.QtCore import Qt
        from PyQt6.QtTest import QTest
        from PyQt6.QtWidgets import QApplication, QWidget
        from gazelab.calibration.procedure import CalibrationProcedure
        from gazelab.ui.monitors import screen_of
        from gazelab.ui.target_window import TargetWindow
        app = QApplication([])
        monitor = app.primaryScreen()
        procedure = CalibrationProcedure(screen_of(monitor), seed=3)
        window = TargetWindow(procedure, list, lambda: 5, monitor)
        window.run(procedure.start)
        QTest.keyClick(window, Qt.Key.Key_Space)
        app.processEvents()
        image = window.grab().toImage()
        dark = [(x + .5, y + .5) for y in range(image.height()) for x in range(image.width())
                if image.pixelColor(x, y).red() < 90]
        target = procedure.current_target
        print(json.dumps({"found": np.mean(dark, 0).tolist(), "wanted": [target.x_px, target.y_px],
                          "grab": [image.width(), image.height()],
                          "screen": [procedure.screen.width_px, procedure.screen.height_px]}))
        window.close()
        """,
    )
    out = json.loads(told)
    assert out["grab"] == out["screen"]
    assert np.array(out["found"]) == pytest.approx(np.array(out["wanted"]), abs=1)
