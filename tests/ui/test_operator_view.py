from __future__ import annotations

import pytest

from gazelab.charts.shipped import load_charts
from gazelab.core.gaze import SourceState
from gazelab.core.geometry import Placement
from gazelab.pipeline.study import RecordingStudy
from gazelab.ui.operator_view import OperatorView


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
