"""Work with the model beside an answer: tokens live, methods that need it, the causal check; and stopping."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from PyQt6.QtCore import Qt, QTimer

from gazelab.attention.causal import CausalCheck, CheckPlan, Curve, Curves, Effect
from gazelab.attention.methods import METHODS, Offer
from gazelab.core.attention import AttentionMap
from gazelab.core.errors import AttentionError
from gazelab.pipeline.map_choice import MapChoice
from gazelab.ui.explore_page import ExplorePage
from gazelab.ui.look_sums import sums_of_step
from gazelab.ui.replay_page import ReplayPage


@pytest.fixture
def page(qtbot, workspace, model):
    """Explore with a chart."""
    made = ExplorePage(workspace)
    qtbot.addWidget(made)
    made.resize(1300, 760)
    with qtbot.waitExposed(made):
        made.show()
    made.enter()
    qtbot.waitUntil(lambda: made.pair.person.picture is not None)
    yield made
    made.leave()


@pytest.fixture
def answered(qtbot, page):
    """And with a complete answer: the second token is shown."""
    page.ask()
    qtbot.waitUntil(lambda: page.asking._whole is not None)
    for _ in range(3):
        page.asking.show_next()
    assert page.asking.looking.complete
    return page


@pytest.fixture
def replay(qtbot, workspace, model, session_path):
    made = ReplayPage(workspace)
    qtbot.addWidget(made)
    made.resize(1300, 760)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.leave()


def one_hot(trace, row, col, **how) -> AttentionMap:
    values = np.zeros((trace.grid.rows, trace.grid.cols))
    values[row, col] = 1.0
    return AttentionMap(values, trace.grid, how)


@pytest.fixture
def method(monkeypatch):
    """A stand-in for every method that needs the model: all of its map is at (5, 7)."""

    class Method:
        def __init__(self) -> None:
            self.let_go = threading.Event()
            self.let_go.set()
            self.asked, self.fault = [], None
            self.stopped = threading.Event()

        def of_model(self, choice, model, picture, question, trace=None, *, progress, check):
            self.asked.append((choice.method, question))
            progress(1, 2)
            try:
                while not self.let_go.wait(0.005):
                    check()
            finally:
                self.stopped.set()
            if self.fault is not None:
                raise self.fault
            return one_hot(trace, 5, 7, method=choice.method)

    made = Method()
    monkeypatch.setattr(
        MapChoice, "of_model", lambda choice, *args, **more: made.of_model(choice, *args, **more)
    )
    return made


def peak(page):
    values = page.pair.model.heat.values
    return tuple(int(v) for v in np.unravel_index(values.argmax(), values.shape))


def test_a_method_that_needs_the_model_is_computed_when_asked_and_kept(qtbot, answered, method):
    choice, looking = answered.panel.controls.method, answered.asking.looking
    choice.choose("rollout")
    assert peak(answered) == (2, 2), "the mean is shown until then"
    assert "Until then: mean attention" in choice._note.text()
    assert answered.pair._model_title.text() == "Model: attention weights"
    qtbot.mouseClick(choice._run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: peak(answered) == (5, 7))
    assert answered.pair._model_title.text() == "Model: Attention rollout"
    assert not choice._run.isVisible()
    answered.pair.strip.choose(0)
    answered.pair.strip.chosen.emit(0)
    assert peak(answered) == (1, 2), "of another token it has not been computed"
    answered.pair.strip.chosen.emit(1)
    assert peak(answered) == (5, 7)
    assert [name for name, _ in method.asked] == ["rollout"]
    assert looking.pick.choice().method == "rollout"


def test_a_method_can_be_stopped_and_the_window_lives_meanwhile(qtbot, answered, method):
    method.let_go.clear()
    choice = answered.panel.controls.method
    choice.choose("relevance")
    choice._run.click()
    qtbot.waitUntil(lambda: bool(method.asked) and choice._progress.maximum() == 2)
    assert choice._run.text() == "Stop"
    ticks: list[int] = []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(1))
    timer.start(2)
    qtbot.waitUntil(lambda: len(ticks) > 10)
    timer.stop()
    choice._run.click()
    assert method.stopped.wait(5)
    qtbot.waitUntil(lambda: not answered.tools.errand.running)
    assert choice._run.text() == "Compute"
    assert peak(answered) == (2, 2)


def test_a_method_that_fails_is_told_and_can_be_tried_again(qtbot, answered, method, workspace):
    method.fault = AttentionError("no room for its gradients.", todo="Ask a shorter question.")
    told: list[str] = []
    workspace.told.connect(lambda text, _role: told.append(text))
    choice = answered.panel.controls.method
    choice.choose("ag_cam")
    choice._run.click()
    qtbot.waitUntil(lambda: bool(told))
    assert "no room for its gradients" in told[0].lower()
    assert choice._run.isEnabled()
    assert answered.pair.strip.tokens == ("4", "2"), "the answer stays"


def test_another_question_drops_the_work_on_the_last(qtbot, answered, method):
    method.let_go.clear()
    choice = answered.panel.controls.method
    choice.choose("rollout")
    choice._run.click()
    qtbot.waitUntil(lambda: bool(method.asked))
    answered.ask()
    assert method.stopped.wait(5)
    assert not answered.tools.errand.running
    assert choice._run.text() == "Compute"
    qtbot.waitUntil(lambda: answered.asking._whole is not None)


def test_methods_that_a_model_cannot_do_are_greyed_with_the_reason(qtbot, page, monkeypatch):
    why = "it is defined for decoder-only models only."
    monkeypatch.setattr("gazelab.ui.asking.offers", lambda model: (Offer(METHODS["rollout"], why),))
    page.ask()
    qtbot.waitUntil(lambda: page.asking._whole is not None)
    for _ in range(3):
        page.asking.show_next()
    box = page.panel.controls.method._box
    index = box.findData("rollout")
    assert not box.model().item(index).isEnabled()
    assert why in box.itemData(index, Qt.ItemDataRole.ToolTipRole)
    assert box.model().item(box.findData("mean")).isEnabled()


def checked(made: AttentionMap, plan: CheckPlan) -> CausalCheck:
    sure, unsure = Effect(0.9, 0.9, 0.9, True), Effect(0.1, 0.1, 0.1, False)
    down = Curve((0.0, 0.5, 1.0), (0.9, 0.1, 0.0))
    up = Curve((0.0, 0.5, 1.0), (0.0, 0.8, 0.9))
    curves = Curves(down, up, (up,), (down,)) if plan.curves else None
    row, col = np.unravel_index(made.values.argmax(), made.values.shape)
    patches = ((int(row), int(col)),)
    return CausalCheck("42", 2, sure, unsure, "17", (sure, sure), patches, 1, 0.02, 0.02, 1, curves, plan)


@pytest.fixture
def causal(monkeypatch):
    """A stand-in for the check, which blanks the map's highest patch."""
    asked: list[AttentionMap] = []

    def check(model, picture, question, made, plan, *, max_tokens, progress, check):
        asked.append(made)
        progress(3, plan.n_passes)
        return checked(made, plan)

    monkeypatch.setattr("gazelab.ui.causal_run.causal_check", check)
    return asked


def test_the_check_says_what_blanking_did_and_shows_the_blanked_chart(qtbot, answered, causal):
    panel = answered.tools.check
    panel.set_curves(True)
    qtbot.mouseClick(answered.panel._honest, Qt.MouseButton.LeftButton)
    assert panel.isVisible()
    panel._run.click()
    qtbot.waitUntil(lambda: panel._sentence.text() != "")
    assert "lowers the probability of “42” from .90 to .10" in panel._sentence.text()
    assert np.array_equal(causal[0].values, answered.asking.looking.shown.values)
    assert panel._deletion.isVisible()
    assert "area" in panel._deletion.toolTip()
    whole = answered.pair.model.picture
    panel._picture.setChecked(True)
    blank = answered.pair.model.instead
    assert blank is not None
    changed = np.argwhere((blank.rgb != whole.rgb).any(-1))
    grid = answered.asking.trace.grid
    assert changed[:, 0].min() >= grid.y_edges_px[2] - 1
    assert changed[:, 0].max() <= grid.y_edges_px[3] + 1
    panel._picture.setChecked(False)
    assert answered.pair.model.instead is None
    assert answered.pair.model.show_heat


def test_the_check_is_of_the_map_it_was_made_for(qtbot, answered, causal):
    panel = answered.tools.check
    panel._run.click()
    qtbot.waitUntil(lambda: panel._sentence.text() != "")
    panel._picture.setChecked(True)
    answered.pair.strip.choose(0)
    answered.pair.strip.chosen.emit(0)
    assert panel._sentence.text() == ""
    assert answered.pair.model.instead is None
    answered.pair.strip.chosen.emit(1)
    assert panel._sentence.text() != ""


def test_the_check_without_curves_is_fewer_runs_and_shows_none(qtbot, answered, causal):
    panel = answered.tools.check
    panel.set_curves(True)
    many = panel._state.text()
    panel.set_curves(False)
    assert panel._state.text() != many
    panel._run.click()
    qtbot.waitUntil(lambda: panel._sentence.text() != "")
    assert not panel._deletion.isVisible()


def test_nothing_can_be_checked_before_there_is_an_answer(page):
    assert not page.tools.check._run.isEnabled()
    page.tools.check.run_asked.emit()
    assert not page.tools.errand.running


def test_stop_ends_within_a_token_and_keeps_what_came(qtbot, page, model):
    let_go = threading.Event()
    begun = threading.Event()
    plain = model.stream

    def stream(picture, question, max_tokens=32):
        for k, step in enumerate(plain(picture, question)):
            if k == 1:
                begun.set()
                assert let_go.wait(10)
            yield step

    model.stream = stream
    page.ask()
    qtbot.waitUntil(lambda: len(page.asking._waiting) == 1 and begun.is_set())
    page.asking.show_next()
    qtbot.mouseClick(page.pair._stop, Qt.MouseButton.LeftButton)
    let_go.set()
    qtbot.waitUntil(lambda: not page._work.models.busy)
    assert page.pair.strip.tokens == ("4",)
    assert page.pair._model_note._whole == "Stopped."
    assert not page.asking.running
    assert peak(page) == (1, 2)


def test_replay_shows_each_token_as_it_comes_and_scores_the_whole(qtbot, replay, model, session_path):
    let_go = threading.Event()
    plain = model.stream

    def stream(picture, question, max_tokens=32):
        for k, step in enumerate(plain(picture, question)):
            if k == 1:
                assert let_go.wait(10)
            yield step

    model.stream = stream
    replay.open_session(session_path)
    qtbot.waitUntil(lambda: replay.pair.strip.tokens == ("4",))
    assert replay.trace is None
    assert replay.scores.rowCount() == 0
    replay.seek(0.5)  # the participant's side goes on meanwhile
    assert len(replay.pair.person.view.samples) > 0
    let_go.set()
    qtbot.waitUntil(lambda: replay.scores.rowCount() > 0)
    assert replay.pair.strip.tokens == ("4", "2")
    assert replay._model.looking.pick.token == -1
    assert "NSS" in replay.attention._agreement.text()


def test_a_stored_trace_is_shown_without_asking_again(qtbot, replay, model, session_path):
    replay.open_session(session_path)
    qtbot.waitUntil(lambda: replay.trace is not None)
    replay.choice.step(1)
    qtbot.waitUntil(lambda: replay.trace is not None and replay.trial.index == 1)
    asked = len(model.asked)
    replay.choice.step(-1)
    qtbot.waitUntil(lambda: replay.trace is not None and replay.trial.index == 0)
    assert len(model.asked) == asked
    assert replay.pair.strip.tokens == ("4", "2")


def test_a_map_made_with_the_model_is_what_is_scored(qtbot, replay, model, session_path, method):
    replay.open_session(session_path)
    qtbot.waitUntil(lambda: replay.scores.rowCount() > 0)
    mean = replay.scores.item(0, 1).text()
    choice = replay.attention.panel.controls.method
    choice.choose("rollout")
    assert replay.scores.rowCount() == 0, "a map that is not there has no scores"
    choice._run.click()
    qtbot.waitUntil(lambda: replay.scores.rowCount() > 0)
    assert replay.scores.item(0, 1).text() != mean
    assert peak(replay) == (5, 7)


def test_an_answer_is_still_there_when_the_page_is_left_and_shown_again(answered):
    answered.leave()
    answered.enter()
    assert answered.pair.strip.tokens == ("4", "2")
    assert answered.asking.looking.complete
    assert peak(answered) == (2, 2)


def test_leaving_the_page_stops_an_answer_that_is_on_its_way(qtbot, page, model):
    model.hold.clear()
    page.ask()
    qtbot.waitUntil(lambda: bool(model.asked))
    page.leave()
    model.hold.set()
    qtbot.waitUntil(lambda: not page._work.models.busy)
    assert not page.asking.running
    assert page.pair._model_note._whole == "Stopped."


def test_the_details_can_be_hidden_for_larger_charts(qtbot, page):
    [toggle] = [b for b in page.findChildren(type(page._ask)) if b.text() == "Details"]
    before = page.pair.model.width()
    qtbot.mouseClick(toggle, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.pair.model.width() > before + 100)
    assert not page.side.isVisible()
    qtbot.mouseClick(toggle, Qt.MouseButton.LeftButton)
    assert page.side.isVisible()


def test_the_sums_come_with_each_token_from_the_models_thread(qtbot, page, model, monkeypatch):
    where: list[str] = []

    def watched(step):
        where.append(threading.current_thread().name)
        return sums_of_step(step)

    monkeypatch.setattr("gazelab.ui.asking.sums_of_step", watched)
    page.ask()
    qtbot.waitUntil(lambda: page.asking._whole is not None)
    assert where == ["gazelab-model"] * 2


def test_work_that_another_page_stopped_does_not_seem_to_go_on(qtbot, answered, method, workspace):
    method.let_go.clear()
    choice = answered.panel.controls.method
    choice.choose("rollout")
    choice._run.click()
    qtbot.waitUntil(lambda: bool(method.asked))
    workspace.models.run("chartreader", lambda model, job: None, lambda done: None, pytest.fail)
    qtbot.waitUntil(lambda: not answered.tools.errand.running)
    assert choice._run.text() == "Compute"


def test_an_answer_that_another_page_stopped_is_asked_for_again(
    qtbot, replay, model, session_path, workspace
):
    let_go = threading.Event()
    plain = model.stream

    def stream(picture, question, max_tokens=32):
        for step in plain(picture, question):
            assert let_go.wait(10)
            yield step

    model.stream = stream
    replay.open_session(session_path)
    qtbot.waitUntil(lambda: bool(model.asked))
    replay.leave()
    workspace.models.run("chartreader", lambda model, job: None, lambda done: None, pytest.fail)
    let_go.set()
    qtbot.waitUntil(lambda: not workspace.models.busy)
    assert replay.trace is None
    replay.enter()
    qtbot.waitUntil(lambda: replay.trace is not None)


def test_the_inside_of_the_model_opens_on_the_answer_that_is_shown(qtbot, answered):
    qtbot.mouseClick(answered.panel._inside, Qt.MouseButton.LeftButton)
    window = answered.tools.inside.window
    assert window is not None
    assert window.isVisible()
    assert "wrote: 4 2" in window._about.text()
    answered.asking.stop()
    assert "Ask the model a question first" in window._about.text()
    window.close()
