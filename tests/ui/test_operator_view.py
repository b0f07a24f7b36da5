from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PyQt6.QtCore import QPoint
from PyQt6.QtWidgets import QApplication

from gazelab.calibration.head_box import HeadBox
from gazelab.charts.shipped import load_charts
from gazelab.core.gaze import Frame, SourceState
from gazelab.core.geometry import Placement
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.study import RecordingStudy
from gazelab.sources.base import SourceInfo
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.face import FaceReading
from gazelab.ui import theme
from gazelab.ui.operator_view import OperatorView
from gazelab.ui.stimulus_window import StimulusWindow
from gazelab.ui.theme import Theme


@pytest.fixture
def study(workspace, run_source):
    run_source()
    workspace.set_participant("P01")
    writer = workspace.start_session("reading", for_dataset=True)
    return RecordingStudy(load_charts()[:2], writer, workspace.acquisition)


def show(study, workspace):
    picture = study.prepare()
    placement = Placement.fit(picture.width_px, picture.height_px, (0, 0, 800, 600))
    study.show(placement, workspace.clock())
    return placement


def test_on_one_screen_no_model_can_be_switched_on(qtbot, workspace, study, model):
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    view.start(study, second_screen=False)
    assert not view._with_model.isEnabled()
    show(study, workspace)
    view.step(study)
    assert view.pair.person.picture is not None
    assert not view.asking.running
    assert model.asked == []


def test_with_a_second_screen_the_model_answers_each_chart_once(qtbot, workspace, study, model):
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    view.start(study, second_screen=True)
    view._with_model.setChecked(True)
    show(study, workspace)
    view.step(study)
    view.step(study)
    qtbot.waitUntil(lambda: view.asking._whole is not None)
    for _ in range(3):
        view.asking.show_next()
    assert model.asked == [study.current.question]
    assert view.pair.strip.tokens == ("4", "2")
    assert view.pair.model.heat is not None
    study.answer("4", workspace.clock())
    show(study, workspace)
    view.step(study)
    assert view.pair.strip.tokens == ()
    view.end()


def test_live_gaze_lies_where_it_fell_on_the_chart(qtbot, workspace, study):
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    view.start(study, second_screen=False)
    placement = show(study, workspace)
    view.step(study)
    x, y = (float(v) for v in placement.to_screen(30, 40))
    before = workspace.acquisition.count
    workspace.source.look(workspace.clock(), x, y)
    qtbot.waitUntil(lambda: workspace.acquisition.count > before)
    view.refresh()
    drawn = view.pair.person.view
    got = drawn.placement.to_picture(drawn.samples["x_px"][-1], drawn.samples["y_px"][-1])
    assert [float(v) for v in got] == pytest.approx([30, 40], abs=0.1)
    assert "ok" in view._status.text()
    workspace.source.state = SourceState.LOST
    view.refresh()
    assert "lost" in view._status.text()
    assert view._status.property("role") == "bad"


class TurningHead:
    """Frames of 30 Hz on a clock of their own, and the features of a face that turns."""

    info = SourceInfo("webcam", "test camera", has_features=True)
    state = SourceState.OK
    model_sha256 = ""

    def __init__(self, face) -> None:
        self.face, self.yaw_deg, self.time_ns = face, 0.0, 0

    def open(self) -> None:
        pass

    close = restart = open

    def read(self, asked):
        """Give the next frame; of a frame, its face."""
        if isinstance(asked, Frame):
            row = self.face()
            row["yaw_deg"], row["openness"] = self.yaw_deg, 0.3
            return FaceReading(row)
        self.time_ns += 33_333_333
        grey = np.random.default_rng(self.time_ns).integers(90, 150, (480, 640, 3), np.uint8)
        return Frame.from_rgb(grey, self.time_ns, 0)


@pytest.fixture
def turning(workspace, face):
    """A calibrated camera that is pumped by hand: `look(yaw, seconds)`."""
    head = TurningHead(face)
    camera = CameraGaze(head, head, clock=lambda: head.time_ns)
    anywhere = (-1000.0, 1000.0)
    box = HeadBox((-8.0, 8.0), *[anywhere] * 5)
    camera.use(SimpleNamespace(mapping=None, head_box=box))
    workspace.close_source()
    workspace.source, workspace.acquisition = camera, Acquisition(camera, workspace.screen)

    def look(yaw_deg: float, seconds: float) -> None:
        head.yaw_deg = yaw_deg
        for _ in range(round(30 * seconds)):
            workspace.acquisition.pump()

    return look


def test_G1_the_operator_is_told_within_two_seconds_and_until_the_head_is_back(qtbot, workspace, turning):
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    view.show()
    turning(0.0, 1.0)
    view.refresh()
    assert view.head_notice.isHidden()
    turning(15.0, 0.3)
    view.refresh()
    assert view.head_notice.isHidden(), "a glance aside is none of the operator's business"
    turning(15.0, 1.6)
    view.refresh()
    assert view.head_notice.isVisible()
    assert "Turn your head a little to the right" in view.head_notice.text()
    assert "flagged" in view.head_notice.text()
    assert workspace.acquisition.snapshot().samples["outside_head_box"][-1]
    turning(0.0, 1.0)
    view.refresh()
    assert view.head_notice.isHidden()


def test_the_notice_moves_no_chart(qtbot, qapp, workspace, turning):
    theme.apply(qapp, Theme.LIGHT)
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    view.resize(760, 500)
    with qtbot.waitExposed(view):
        view.show()
    turning(0.0, 1.0)
    view.refresh()
    QApplication.processEvents()
    before = view.pair.person.mapTo(view, QPoint(0, 0))
    turning(15.0, 2.0)
    view.refresh()
    QApplication.processEvents()
    assert view.head_notice.isVisible()
    assert view.pair.person.mapTo(view, QPoint(0, 0)) == before


def test_U4_the_participant_sees_nothing_of_it(qtbot, workspace, study, turning, pixels_of):
    """The stimulus screen is the same with the head in and outside the box."""
    show(study, workspace)
    stimulus = StimulusWindow(study, workspace.monitor, workspace.clock)
    qtbot.addWidget(stimulus)
    stimulus.run()
    view = OperatorView(workspace)
    qtbot.addWidget(view)
    looks = []
    for yaw in (0.0, 20.0):
        turning(yaw, 2.0)
        view.refresh()
        looks.append(pixels_of(stimulus.grab().toImage()))
    assert not view.head_notice.isHidden()
    assert (looks[0] == looks[1]).all()
    stimulus.stop("")
