"""Looking inside the embedded model: next token, words, vectors, positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QPointF, Qt

from gazelab.attention.study.records import PositionPicture, TextStudy, TokenCloud
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.ui.study_cloud import CloudView, place_colours, rotation
from gazelab.ui.study_next import NextTokenView
from gazelab.ui.study_window import StudyWindow
from gazelab.ui.study_words import WordsView

PICTURE = Picture.from_rgb(np.full((60, 80, 3), 255, np.uint8))


def a_trace(top=((("4", 0.5), ("5", 0.25)),)):
    weights = np.full((1, 2, 3, 2, 4), 1 / 8, np.float16)
    none = np.zeros((1, 2, 3), np.float32)
    grid = PatchGrid.stretched(2, 4, 80, 60)
    return AttentionTrace("m", "r", "s", "How many?", ("4",), grid, weights, (0, 1), none, none, top=top)


def a_study():
    weights = np.zeros((2, 3, 3, 3), np.float16)
    weights[:] = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    weights[1, 2, 2] = [0.5, 0.25, 0.25]
    return TextStudy(("How", "many", "?"), 2, 0, (4, 7), weights, np.zeros((2, 3, 3), np.float32), "a note")


def a_cloud():
    points = np.array([[[1, 0, 0], [-1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, -1], [0, 1, 0]]], np.float32)
    patch = np.array([[0, 0], [1, 3], [-1, -1]])
    return TokenCloud(("input", "layer 0"), points, np.array([0.5, 0.9], np.float32), ("", "", "many"), patch)


class Models:
    """Runs the work at once, on what `give` says."""

    def __init__(self, give):
        self.give, self.asked = give, []

    def run(self, name, work, done, failed, report=None):
        self.asked.append(name)
        assert callable(work)
        outcome = self.give(len(self.asked))
        failed(outcome) if isinstance(outcome, AttentionError) else done(outcome)


@pytest.fixture
def window(qtbot):
    def make(give):
        class Work:
            models = Models(give)

        made = StudyWindow(Work())
        qtbot.addWidget(made)
        return made

    return make


def test_temperature_and_top_k_change_the_bars_and_not_the_ticks(qtbot):
    view = NextTokenView()
    qtbot.addWidget(view)
    view.set_trace(a_trace())
    assert [row[0] for row in view.bars.rows] == ["4", "5"]
    np.testing.assert_allclose([row[2] for row in view.bars.rows], [2 / 3, 1 / 3])
    view.temperature.setValue(0.5)
    np.testing.assert_allclose([row[2] for row in view.bars.rows], [0.8, 0.2])
    view.top_k.setValue(1)
    assert [row[2] for row in view.bars.rows] == [1, 0]
    assert [row[1] for row in view.bars.rows] == [0.5, 0.25]


def test_without_an_answer_nothing_is_shown(qtbot):
    view = NextTokenView()
    qtbot.addWidget(view)
    view.set_trace(a_trace())
    view.set_trace(None)
    assert view.bars.rows == []
    assert not view.isEnabled()


def test_a_cell_is_told_in_words_and_the_causal_mask_too(qtbot):
    view = WordsView()
    qtbot.addWidget(view)
    view.set_study(a_study())
    view.layer.setCurrentIndex(view.layer.findData(7))
    view.head.setCurrentIndex(view.head.findData(2))
    view.matrix.point((2, 0))
    assert view._told.text() == "“?” gives “How” 50.0% of its attention."
    view.matrix.point((0, 2))
    assert "comes later" in view._told.text()


def test_the_arrows_go_through_the_matrix_and_stop_at_its_edge(qtbot):
    view = WordsView()
    qtbot.addWidget(view)
    view.set_study(a_study())
    qtbot.keyClick(view.matrix, Qt.Key.Key_Right)
    assert view.matrix.cursor_cell == (2, 1)
    for _ in range(5):
        qtbot.keyClick(view.matrix, Qt.Key.Key_Up)
    assert view.matrix.cursor_cell == (0, 1)


def test_the_mouse_finds_the_cell_under_it(qtbot):
    view = WordsView()
    qtbot.addWidget(view)
    view.resize(600, 600)
    view.show()
    view.set_study(a_study())
    square = view.matrix._square()
    third = square.width() / 3
    assert view.matrix.cell_at(QPointF(square.left() + 2.5 * third, square.top() + 0.5 * third)) == (0, 2)
    assert view.matrix.cell_at(QPointF(1, 1)) is None


def test_scores_are_asked_for_once_and_shown(qtbot):
    view = WordsView()
    qtbot.addWidget(view)
    view.set_study(a_study())
    with qtbot.waitSignal(view.scores_wanted) as wanted:
        view.before.setChecked(True)
    assert wanted.args == [7, 0]  # the last layer, where none was chosen
    scores = np.array([[1, -np.inf, -np.inf], [2, 3, -np.inf], [-1.5, 0, 4]], np.float32)
    view.set_scores(7, 0, scores)
    view.matrix.point((2, 0))
    assert view._told.text() == "“?” and “How”: a score of -1.50 before the softmax."


def test_each_view_is_computed_when_it_is_first_looked_at(window):
    made = window(
        lambda n: (a_study(), a_cloud(), PositionPicture("learned", np.eye(3, dtype=np.float32), "So."))[
            n - 1
        ]
    )
    made.open_on("chartreader", PICTURE, a_trace())
    assert made._work.models.asked == []
    for tab in (1, 2, 3, 1, 2, 3):
        made.tabs.setCurrentIndex(tab)
    assert made._work.models.asked == ["chartreader"] * 3
    assert made.words.matrix._words == ("How", "many", "?")
    assert made.vectors.depth_slider.maximum() == 1
    assert made.positions.image.image.shape == (3, 3)
    made.grab()


def test_the_look_is_taken_at_the_embedded_model_itself(window):
    from gazelab.attention.base import open_model

    model = open_model("chartreader")

    class Real(Models):
        def run(self, name, work, done, failed, report=None):
            self.asked.append(name)
            done(work(model, None))

    made = window(None)
    made._work.models = Real(None)
    made.open_on("chartreader", PICTURE, model.trace(PICTURE, "How many?", 2))
    for tab in (1, 2, 3):
        made.tabs.setCurrentIndex(tab)
    assert "how" in made.words.matrix._words
    made.tabs.setCurrentIndex(1)
    made.words.before.setChecked(True)
    made.words.matrix.point((1, 0))
    assert "before the softmax" in made.words._told.text()
    assert made.vectors.depth_slider.maximum() == 4
    assert len(made._work.models.asked) == 4


def test_a_checkpoint_is_named_by_its_folder(window):
    made = window(None)
    made.open_on("x", PICTURE, replace(a_trace(), model_id="/home/me/models/SmolVLM-256M"))
    assert made._about.text().startswith("SmolVLM-256M was asked")


def test_a_fault_is_told_in_the_window_and_can_be_tried_again(window):
    made = window(lambda n: AttentionError("this model cannot be looked into.") if n == 1 else a_study())
    made.open_on("other", PICTURE, a_trace())
    made.tabs.setCurrentIndex(1)
    assert "This model cannot be looked into" in made._state.text()
    made.tabs.setCurrentIndex(0)
    made.tabs.setCurrentIndex(1)
    assert made._state.text() == ""
    assert made.words.isEnabled()


def test_the_depth_says_how_much_is_seen(window):
    made = window(lambda n: a_cloud())
    made.open_on("m", PICTURE, a_trace())
    made.tabs.setCurrentIndex(2)
    assert made.vectors._named.text() == "layer 0: 90% of the variance is seen"
    made.vectors.depth_slider.setValue(0)
    assert made.vectors._named.text() == "input: 50% of the variance is seen"


def test_pointing_at_a_patch_frames_it_on_the_chart(window):
    made = window(lambda n: a_cloud())
    made.open_on("m", PICTURE, a_trace())
    made.tabs.setCurrentIndex(2)
    made.vectors.cloud.pointed.emit(1)
    assert made.vectors.place._patch == (1, 3)
    made.vectors.cloud.pointed.emit(2)
    assert made.vectors.place._patch is None
    assert "many" in made.vectors._told.text()


def test_a_quarter_turn_about_the_axis_up_brings_what_is_far_to_the_side():
    np.testing.assert_allclose(rotation(0, np.pi / 2) @ [0, 0, 1], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(rotation(np.pi / 2, 0) @ [0, 1, 0], [0, 0, 1], atol=1e-12)


def test_turning_and_zooming_keep_the_cloud_in_view(qtbot):
    view = CloudView()
    qtbot.addWidget(view)
    view.resize(300, 200)
    view.set_cloud(a_cloud())
    for _ in range(7):
        qtbot.keyClick(view, Qt.Key.Key_Left)
        placed = view.placed()
        assert ((placed[:, 0] >= 0) & (placed[:, 0] <= 300)).all()
        assert ((placed[:, 1] >= 0) & (placed[:, 1] <= 200)).all()
    before = np.ptp(view.placed()[:, 1])
    qtbot.keyClicks(view, "+")
    assert np.ptp(view.placed()[:, 1]) > before


def test_patches_are_coloured_by_place_blue_at_the_left_orange_at_the_right_darker_below():
    left, right, below = place_colours(np.array([[0, 0], [0, 3], [1, 0]])).astype(int)
    assert left[2] > left[0]
    assert right[0] > right[2]
    assert below.sum() < left.sum()
