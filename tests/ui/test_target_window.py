from __future__ import annotations

import json

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, Qt
from PyQt6.QtGui import QGuiApplication, QKeyEvent
from PyQt6.QtWidgets import QApplication, QWidget

from gazelab.calibration.procedure import RUNNING, CalibrationProcedure
from gazelab.calibration.result import CalibrationState
from gazelab.core.geometry import Screen
from gazelab.ui.monitors import screen_of
from gazelab.ui.target_window import TargetWindow, target_diameter_px


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


@pytest.mark.parametrize(
    "screen",
    [
        Screen("laptop", 1920, 1080, 345, 194, 600),
        Screen("phone-like", 2732, 2048, 262, 197, 400),
        Screen("television", 1920, 1080, 1210, 680, 1500),
        Screen("unknown", 1366, 768),
    ],
    ids=lambda s: s.name,
)
def test_G6_targets_are_between_a_fifth_and_two_degrees(screen):
    for progress in (0.0, 0.5, 1.0, 7.0):
        diameter = target_diameter_px(screen, progress)
        if screen.has_degrees:
            assert 0.2 <= diameter / screen.px_per_deg() <= 2
        assert 5 < diameter < min(screen.width_px, screen.height_px) / 8


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
