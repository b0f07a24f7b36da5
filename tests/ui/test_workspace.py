from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gazelab.config import parse_settings
from gazelab.core.errors import ConfigError, SessionError
from gazelab.ui.live_sources import SourceKind, factory
from gazelab.ui.main_window import MainWindow
from gazelab.ui.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


def test_settings_choose_what_the_window_begins_with(qtbot, tmp_path, model):
    text = """
        [source]
        name = "pointer"
        [screen]
        width_mm = 310
        height_mm = 310
        distance_mm = 550
        [calibration]
        points = 13
        [model]
        name = "/models/some-checkpoint"
    """
    work = Workspace(tmp_path, parse_settings(textwrap.dedent(text)))
    window = MainWindow(work)
    qtbot.addWidget(window)
    assert window.setup.source_form.kind is SourceKind.POINTER
    assert work.screen.width_mm == 310
    assert work.screen.distance_mm == 550
    assert window.calibrate.form.settings.points == 13
    assert window.replay.model_choice.name == "/models/some-checkpoint"
    window.close()


def test_G13_an_impossible_distance_is_refused_and_leaves_the_old_one(workspace):
    with pytest.raises(ConfigError, match="millimetres"):
        workspace.set_distance(60.0)
    assert workspace.screen.distance_mm == 600.0


def test_a_new_distance_reaches_the_running_detector(workspace, run_source):
    run_source()
    workspace.set_distance(700.0)
    assert workspace.acquisition.screen.distance_mm == 700.0


def test_a_session_that_cannot_be_created_is_a_sentence(workspace, run_source):
    run_source()
    workspace.set_participant("P01")
    with pytest.raises(SessionError, match="cannot name a session"):
        workspace.start_session("a/b", for_dataset=True)
    assert workspace.writer is None


def test_nothing_is_changed_under_a_running_recording(workspace, run_source):
    run_source()
    workspace.set_participant("P01")
    workspace.start_session("reading", for_dataset=True)
    for spoil in (
        lambda: workspace.set_participant("P02"),
        lambda: workspace.set_monitor(workspace.monitor),
        lambda: workspace.open_source(lambda: None, pytest.fail),
    ):
        with pytest.raises(SessionError, match="recording is running"):
            spoil()
    workspace.set_participant("P01")
    workspace.end_session()
    workspace.set_participant("P02")


def test_the_synthetic_participant_needs_millimetres(workspace):
    from dataclasses import replace

    screen = replace(workspace.screen, width_mm=math.nan)
    with pytest.raises(ConfigError, match="size and distance"):
        factory(SourceKind.SYNTHETIC, "", screen, workspace.clock, None)


def test_a_missing_video_is_told_with_its_name(workspace):
    from gazelab.core.errors import CameraError

    with pytest.raises(CameraError, match="no-such"):
        factory(SourceKind.VIDEO, "no-such.mp4", workspace.screen, workspace.clock, None)


def test_G3_a_monitor_left_of_the_primary_one_has_its_own_px(tmp_path):
    """Two monitors of different scale, the second at negative places: everything stays screen-local."""
    screens = {
        "screens": [
            {"name": "right", "x": 0, "y": 0, "width": 1280, "height": 720, "logicalDpi": 96},
            {"name": "left", "x": -1600, "y": -100, "width": 1600, "height": 1200, "logicalDpi": 96},
        ]
    }
    path = tmp_path / "screens.json"
    path.write_text(json.dumps(screens))
    code = """
        import json
        import numpy as np
        from PyQt6.QtCore import QPointF, Qt
        from PyQt6.QtTest import QTest
        from PyQt6.QtWidgets import QApplication
        from gazelab.calibration.procedure import CalibrationProcedure
        from gazelab.core.picture import Picture
        from gazelab.ui.canvas import ChartCanvas
        from gazelab.ui.monitors import find_monitor, screen_of
        from gazelab.ui.target_window import TargetWindow
        app = QApplication([])
        left = find_monitor("left")
        screen = screen_of(left)
        procedure = CalibrationProcedure(screen, seed=3)
        window = TargetWindow(procedure, list, lambda: 5, left)
        window.run(procedure.start)
        QTest.keyClick(window, Qt.Key.Key_Space)
        app.processEvents()
        image = window.grab().toImage()
        dark = [(x + .5, y + .5) for y in range(image.height()) for x in range(image.width())
                if image.pixelColor(x, y).red() < 90]
        target = procedure.current_target
        window.close()
        canvas = ChartCanvas()
        canvas.set_picture(Picture.from_rgb(np.full((300, 400, 3), 255, np.uint8)))
        canvas.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        canvas.setScreen(left)
        canvas.setGeometry(left.geometry().x() + 100, left.geometry().y() + 50, 400, 300)
        canvas.show()
        app.processEvents()
        placed = canvas.screen_placement(left)
        print(json.dumps({
            "screen": [screen.name, screen.width_px, screen.height_px],
            "grab": [image.width(), image.height()],
            "found": np.mean(dark, 0).tolist(), "wanted": [target.x_px, target.y_px],
            "placed": [placed.left_px, placed.top_px, placed.width_px, placed.height_px],
            "dpr": canvas.devicePixelRatioF(),
        }))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={
            **os.environ,
            "QT_QPA_PLATFORM": f"offscreen:configfile={path}",
            "QT_SCREEN_SCALE_FACTORS": "left=2;right=1",
        },
        cwd=ROOT,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["screen"] == ["left", 1600, 1200]
    assert out["grab"] == [1600, 1200]
    assert out["found"] == pytest.approx(out["wanted"], abs=1)
    assert out["dpr"] == 2
    assert out["placed"] == pytest.approx([200, 100, 800, 600], abs=1)


def test_the_window_opens_without_the_heavy_packages():
    heavy = ("torch", "transformers", "mediapipe")
    code = f"import sys, gazelab.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
