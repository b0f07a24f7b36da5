"""What the window's tests share: pixels, screen scales, a scripted source and session, a small model."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PyQt6.QtGui import QImage
from PyQt6.QtWidgets import QWidget

from gazelab.attention.base import TokenStep, TraceHead, trace_of
from gazelab.charts.shipped import load_charts
from gazelab.core.gaze import Frame, SourceState, empty_features, empty_gaze
from gazelab.core.geometry import PatchGrid, Placement, Screen
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.study import RecordingStudy
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import Reading, SourceInfo
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.ui.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


def _pixels(image: QImage) -> NDArray[np.uint8]:
    """(height, width, 3) RGB of a Qt image, row stride undone."""
    plain = image.convertToFormat(QImage.Format.Format_RGB888)
    data = plain.constBits()
    assert data is not None
    rows = np.frombuffer(data.asarray(plain.sizeInBytes()), np.uint8)
    rows = rows.reshape(plain.height(), plain.bytesPerLine())[:, : 3 * plain.width()]
    return rows.reshape(plain.height(), plain.width(), 3).copy()


@pytest.fixture
def pixels_of() -> Callable[[QImage], NDArray[np.uint8]]:
    """Give (height, width, 3) RGB of a Qt image."""
    return _pixels


@pytest.fixture
def qtbot(qtbot):
    """Keep each widget of a test until pytest-qt has closed it.

    pytest-qt itself holds widgets weakly and paints once more after the test's own names are gone: a
    collection during that painting would take the widget away under the painter and end the process.
    """
    kept: list[QWidget] = []
    add = qtbot.addWidget

    def add_and_keep(widget: QWidget, **options) -> None:
        if not any(widget is other for other in kept):
            kept.append(widget)
            add(widget, **options)

    qtbot.addWidget = add_and_keep
    yield qtbot
    kept.clear()


@pytest.fixture
def grab(qtbot) -> Callable[[QWidget], NDArray[np.uint8]]:
    """Show a widget and give its device pixels."""

    def do(widget: QWidget) -> NDArray[np.uint8]:
        qtbot.addWidget(widget)
        with qtbot.waitExposed(widget):
            widget.show()
        return _pixels(widget.grab().toImage())

    return do


@pytest.fixture
def at_scale() -> Callable[[float, str], str]:
    """Run Python code in a process whose screen has the given scale; gives what it prints."""

    def do(scale: float, code: str) -> str:
        environment = {**os.environ, "QT_SCALE_FACTOR": str(scale), "QT_QPA_PLATFORM": "offscreen"}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return do


class ScriptedSource:
    """A `GazeSource` that gives what it was told to; `features` makes it one that needs a calibration."""

    def __init__(self, has_features: bool = False) -> None:
        self.info = SourceInfo("scripted", "test", has_features=has_features)
        self.state = SourceState.IDLE
        self.waiting: list[Reading] = []

    def open(self) -> None:
        self.state = SourceState.OK

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        if not self.waiting:
            threading.Event().wait(min(timeout_s, 0.005))
        taken, self.waiting = self.waiting, []
        return taken

    def close(self) -> None:
        self.state = SourceState.IDLE

    def look(self, time_ns: int, x_px: float, y_px: float) -> None:
        row = empty_gaze(1)[0]
        row["time_ns"] = row["device_ns"] = row["arrival_ns"] = time_ns
        row["x_px"], row["y_px"], row["valid"] = x_px, y_px, np.isfinite(x_px)
        self.waiting.append(Reading(row))


class SmallModel:
    """An `AttentionModel` of two tokens whose look is known: token k looks at cell (k + 1, 2)."""

    model_id, revision, about, kind = "small", "0" * 12, "A model for tests.", "cross"
    layers, n_heads = (0, 1), 3

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.hold.set()
        self.asked: list[str] = []

    def head(self, picture, question):
        grid = PatchGrid.stretched(6, 8, picture.width_px, picture.height_px)
        about = (self.model_id, self.revision, picture.sha256, question)
        return TraceHead(*about, grid, self.layers, self.n_heads, self.kind)

    def stream(self, picture, question, max_tokens=32):
        self.asked.append(question)
        for k, text in enumerate(("4", "2")):
            assert self.hold.wait(30)
            weights = np.full((2, 3, 6, 8), 0.1 / 48, np.float16)
            weights[:, :, k + 1, 2] += 0.9
            none = np.zeros((2, 3), np.float32)
            yield TokenStep(text, k, ((text, 0.9),), weights, none, none)

    def answer_text(self, steps):
        return "".join(s.text for s in steps)

    def trace(self, picture, question, max_tokens=32):
        steps = list(self.stream(picture, question))
        return trace_of(self.head(picture, question), steps, self.answer_text(steps))


@pytest.fixture
def model(monkeypatch) -> SmallModel:
    made = SmallModel()
    monkeypatch.setattr("gazelab.ui.model_host.open_model", lambda name: made)
    # What other methods it can do would be asked of torch, which takes seconds to load.
    monkeypatch.setattr("gazelab.ui.asking.offers", lambda model: ())
    return made


@pytest.fixture
def workspace(qtbot, tmp_path):
    """A workspace on an empty data root; everything it started is stopped."""
    made = Workspace(tmp_path)
    made.set_size(replace(made.screen, width_mm=300.0, height_mm=300.0, size_source="user"))
    made.set_distance(600.0)
    yield made
    assert made.close()


def _shot(grey: float = 120, side: float = 1.0, behind: float | None = None) -> Frame:
    """A grey picture of 640 x 480; its left half is `side` times as bright, its margins are `behind`."""
    rgb = np.full((480, 640, 3), grey, np.uint8)
    rgb[:, :320] = np.clip(grey * side, 0, 255)
    if behind is not None:
        rgb[:, :200] = rgb[:, 440:] = behind
    return Frame.from_rgb(rgb, 0, 0)


@pytest.fixture
def shot() -> Callable[..., Frame]:
    """Make a grey camera picture."""
    return _shot


def _face(x: float = 320, y: float = 215, eye_px: float = 30.0, n_faces: int = 1) -> np.void:
    """Features of a face whose eyes' middle is at (x, y)."""
    row = empty_features(1)[0]
    row["valid"], row["n_faces"] = True, n_faces
    row["eye_centre_px"] = ((x + eye_px, y), (x - eye_px, y))
    row["eye_width_px"], row["iris_px"] = eye_px, 0.4 * eye_px
    return row


@pytest.fixture
def face() -> Callable[..., np.void]:
    """Make the features of a face."""
    return _face


class StillCamera(CameraGaze):
    """A camera with one picture, whose face reader is left out."""

    def __init__(self, frame: Frame, features: np.void) -> None:
        self.frame, self.features = frame, features
        self.info = SourceInfo("webcam", "test camera", has_features=True)
        self.state_now = SourceState.OK
        self.landmarks_px = np.full((478, 3), 200, np.float32)
        self.mapping, self.head_hint = None, ""
        self._given = False

    @property
    def info(self) -> SourceInfo:
        return self._info

    @info.setter
    def info(self, value: SourceInfo) -> None:
        self._info = value

    @property
    def state(self) -> SourceState:
        return self.state_now

    @property
    def reason(self) -> str:
        return "the picture is frozen"

    def open(self) -> None:
        pass

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        if self._given:
            return []
        self._given = True
        sample = empty_gaze(1)[0]
        sample["distance_mm"] = 610.0
        return [Reading(sample, self.features, self.frame)]

    def close(self) -> None:
        pass


@pytest.fixture
def still_camera() -> Callable[[], StillCamera]:
    """Make a camera that gives one good picture."""
    return lambda: StillCamera(_shot(), _face())


@pytest.fixture
def run_source(qtbot, workspace):
    """Put a scripted source to work."""

    def do(has_features: bool = False) -> ScriptedSource:
        source = ScriptedSource(has_features)
        workspace.open_source(lambda: source, pytest.fail)
        qtbot.waitUntil(lambda: workspace.acquisition is not None)
        return source

    return do


@pytest.fixture
def session_path(tmp_path) -> Path:
    """A session of two trials on a clock of its own: three fixations each on a chart of 400 x 300 px."""
    now = [0]
    screen = Screen("screen", 800, 800, 300.0, 300.0, 600.0, "user")
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, screen)
    charts = load_charts()[:2]
    header = header_for(source, screen, "P01", calibrated=True)
    with SessionWriter.create(tmp_path, "two-trials", header, clock=lambda: now[0]) as writer:
        acquisition.add_sink(writer)
        study = RecordingStudy(charts, writer, acquisition)
        for given in ("yes", charts[1].answer):
            picture = study.prepare()
            placement = Placement.fit(picture.width_px, picture.height_px, (100, 200, 600, 450))
            study.show(placement, now[0])
            for x, y in ((0.2, 0.3), (0.7, 0.4), (0.5, 0.8)):
                place = placement.to_screen(x * picture.width_px, y * picture.height_px)
                for _ in range(30):
                    now[0] += 16_666_667
                    source.look(now[0], *(float(v) for v in place))
                acquisition.pump()
            now[0] += 16_666_667
            study.answer(given, now[0])
            source.look(now[0], np.nan, np.nan)
            acquisition.pump()
    return writer.path
