"""The app on a real X server, moved by xdotool: what the offscreen platform cannot show."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gazelab.sessions.reader import Session

ROOT = Path(__file__).resolve().parents[2]
N_CHARTS = 6

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs Xvfb (Debian's package xvfb)"),
]


@pytest.fixture
def display() -> Iterator[str]:
    """A screen of 1280 x 800 of its own."""
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=[writer], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writer)
    with os.fdopen(reader) as told:
        number = told.readline().strip()
    assert number, "Xvfb did not start"
    yield f":{number}"
    server.terminate()
    server.wait(10)


def start(display: str, code: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    return subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code)],
        env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def xdotool(display: str, *words: str) -> None:
    subprocess.run(["xdotool", *words], env={**os.environ, "DISPLAY": display}, check=True, timeout=30)


def test_C19_the_window_opens_on_x11_after_opencv_was_imported(display, tmp_path):
    code = f"""
        from gazelab.core.opencv import cv2
        import os
        from PyQt6.QtCore import QTimer
        from PyQt6.QtGui import QGuiApplication
        from gazelab import app
        from gazelab.ui.main_window import MainWindow
        shown = MainWindow.showEvent
        def show_event(self, event):
            print(QGuiApplication.platformName(), "cv2" in os.environ.get("QT_QPA_PLATFORM_PLUGIN_PATH", ""))
            QTimer.singleShot(0, self.close)
        MainWindow.showEvent = show_event
        raise SystemExit(app.main(["--data", {str(tmp_path)!r}]))
    """
    process = start(display, code)
    out, fault = process.communicate(timeout=60)
    assert process.returncode == 0, fault
    assert out.split() == ["xcb", "False"]


READING = """
    import json
    from dataclasses import replace
    from pathlib import Path
    from PyQt6.QtCore import QTimer
    from PyQt6.QtWidgets import QApplication
    from gazelab.app import make_application
    from gazelab.settings import Settings
    from gazelab.ui.live_sources import SourceKind
    from gazelab.ui.main_window import RECORD, MainWindow
    from gazelab.ui.theme import Theme
    from gazelab.ui.workspace import Workspace

    app = make_application(Settings(), Theme.LIGHT)
    work = Workspace(Path({root!r}))
    window = MainWindow(work)
    window.show()
    work.set_participant("P01")
    work.set_size(replace(work.screen, width_mm=310.0, height_mm=194.0, size_source="user"))
    work.set_distance(600.0)
    window.setup.source_form.choose(SourceKind.POINTER)
    window.setup.source_form.start()
    window.record.charts.loaded.connect(lambda: QTimer.singleShot(0, begin))
    window.record.charts.add(Path({charts!r}))

    def begin():
        if work.acquisition is None:
            QTimer.singleShot(50, begin)
            return
        window.go(RECORD)
        window.record.set_trials({n})
        window.record.begin()
        stimulus = window.record.stimulus
        poll = QTimer(stimulus)
        seen = [None]
        def look():
            now = (stimulus.phase.value, window.record.study.index if window.record.study else -1)
            if stimulus._armed and now != seen[0]:
                seen[0] = now
                p = stimulus.placement
                place = [p.left_px, p.top_px, p.width_px, p.height_px] if p and now[0] == "reading" else None
                print(json.dumps([*now, place]), flush=True)
        poll.timeout.connect(look)
        poll.start(10)
        stimulus.ended.connect(lambda why: print(json.dumps(["over", why, None]), flush=True))

    window.record.recorded.connect(lambda _path: QTimer.singleShot(0, window.close))
    code = app.exec()
    work.close()
    raise SystemExit(code)
"""


@pytest.mark.skipif(not shutil.which("xdotool"), reason="needs xdotool")
def test_six_real_charts_are_read_with_the_mouse(display, tmp_path, shared_data):
    """The mouse goes to three places of each chart; they are found as fixations where the chart lay."""
    places = ((0.25, 0.3), (0.7, 0.4), (0.5, 0.8))
    answers = ["23", "no", "Yes", "0.57", "12", "14%"]
    code = READING.format(root=str(tmp_path), charts=str(shared_data / "chartqa"), n=N_CHARTS)
    process = start(display, code)
    assert process.stdout is not None
    for line in process.stdout:
        phase, index, placed = json.loads(line)
        if phase == "ready":
            xdotool(display, "key", "space")
        elif phase == "reading":
            left, top, width, height = placed
            for x, y in places:
                spot = [str(round(left + x * width)), str(round(top + y * height))]
                xdotool(display, "mousemove", *spot, "sleep", "0.4")
            xdotool(display, "type", "--delay", "20", answers[index])
            xdotool(display, "key", "Return")
        else:
            assert index == ""
            break
    _, fault = process.communicate(timeout=60)
    assert process.returncode == 0, fault
    [path] = (tmp_path / "sessions").iterdir()
    trials = Session.open(path).trials()
    assert [t.given for t in trials] == answers

    from gazelab.pipeline.replay import Replay

    replay = Replay.open(path)
    for trial in replay.trials:
        xy, duration_ms = replay.fixations_on_picture(trial)
        size = [trial.placement.picture_width_px, trial.placement.picture_height_px]
        for x, y in places:
            distance = np.linalg.norm(xy / size - (x, y), axis=1)
            assert distance.min() < 0.01
            assert duration_ms[distance.argmin()] > 200
