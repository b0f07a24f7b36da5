"""Looking at an answer: tokens, the matrix, patches, views, and what is said beside the map."""

from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.ui.look import ALL_TOKENS, FoundSinks
from gazelab.ui.look_panel import MAPS, LookPanel
from gazelab.ui.look_sums import sums_of_step
from gazelab.ui.looking import Looking
from gazelab.ui.pair_view import PairView

from .looks import head_of, steps_of

WIDTH, HEIGHT = 100, 80


class Page(QWidget):
    """What Explore and Replay have of a look."""

    def __init__(self) -> None:
        super().__init__()
        self.pair, self.panel = PairView("Person"), LookPanel()
        self.looking = Looking(self.pair, self.panel)
        line = QHBoxLayout(self)
        line.addWidget(self.pair, 1)
        line.addWidget(self.panel)
        self.resize(1000, 700)

    def answer(self, head: TraceHead, steps: list[TokenStep]) -> None:
        """Let an answer come, token by token, to its end."""
        size = head.grid.picture_height_px, head.grid.picture_width_px
        self.pair.set_picture(Picture.from_rgb(np.full((*size, 3), 255, np.uint8)))
        self.looking.begin(None, head)
        for step in steps:
            self.looking.add(step, sums_of_step(step))
        self.looking.finish("answer", FoundSinks.of(self.looking.trace))

    @property
    def peak(self) -> tuple[int, int]:
        """The patch that the drawn map is highest on."""
        values = self.pair.model.heat.values
        return tuple(int(v) for v in np.unravel_index(values.argmax(), values.shape))


def step_at(*cells: tuple[int, int], head: TraceHead, text: str = "t", share: float = 0.8) -> TokenStep:
    """Head k of every layer looks at `cells[k]`; the rest falls on text."""
    weights = np.zeros((len(head.layers), head.n_heads, head.grid.rows, head.grid.cols), np.float16)
    for k, cell in enumerate(cells):
        weights[:, k, cell[0], cell[1]] = share
    none = np.zeros(weights.shape[:2], np.float32)
    return TokenStep(text, 0, ((text, 0.75), ("other", 0.2)), weights, none + (1 - share), none)


@pytest.fixture
def page(qtbot):
    made = Page()
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    return made


@pytest.fixture
def two(page):
    """Two tokens: the first token's heads look at (0, 0) and (1, 1), the second's at (2, 2) and (3, 3)."""
    head = head_of()
    page.answer(head, [step_at((0, 0), (1, 1), head=head, text=" a"), step_at((2, 2), (3, 3), head=head)])
    return page


def tile_pixels(page, index, pixels_of):
    tile = page.pair.strip.tile(index)
    return pixels_of(tile.grab().toImage())


def test_each_tile_shows_its_token_its_probability_and_its_own_map(two, qtbot, pixels_of):
    strip = two.pair.strip
    assert strip.tile(0).text() == "␣a"
    assert "p = 0.75" in strip.tile(0).accessibleName()
    assert "other   20.0%" in strip.tile(0).toolTip()
    qtbot.waitUntil(lambda: not strip._stale)
    first, second = (strip.tile(k)._map for k in (0, 1))
    assert first.size() == second.size()

    def darkest(image):
        grey = pixels_of(image).astype(int).sum(-1)
        rows, _cols = np.nonzero(grey == grey.min())
        return rows.mean() / image.height()

    assert darkest(first) < 0.5 < darkest(second)


def test_the_tile_of_the_whole_answer_spells_it(two):
    tile = two.pair.strip.tile(ALL_TOKENS)
    assert tile._below == "answer"
    assert tile.toolTip().endswith(": answer")


def test_arrow_keys_on_a_tile_choose_tokens_and_the_whole_answer(two, qtbot):
    strip = two.pair.strip
    strip.tile(1).setFocus()
    qtbot.keyClick(strip.tile(1), Qt.Key.Key_Left)
    assert strip.current == 0
    assert strip.tile(0).hasFocus()
    assert two.looking.pick.token == 0
    qtbot.keyClick(strip.tile(0), Qt.Key.Key_Home)
    assert strip.current == ALL_TOKENS
    qtbot.keyClick(strip.tile(ALL_TOKENS), Qt.Key.Key_End)
    assert strip.current == 1


def test_a_cell_of_the_matrix_moves_the_map_and_all_brings_it_back(two, qtbot):
    qtbot.mouseClick(two.pair.strip.tile(1), Qt.MouseButton.LeftButton)
    matrix = two.panel.matrix
    qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=matrix.cell_rect(1, 1).center())
    assert (two.looking.pick.layer, two.looking.pick.head) == (5, 1)
    assert two.peak == (3, 3)
    assert two.pair.model.heat.values[2, 2] == 0
    qtbot.mouseClick(two.panel._all, Qt.MouseButton.LeftButton)
    assert two.pair.model.heat.values[2, 2] == pytest.approx(0.5)
    assert matrix.at == (-1, -1)


def test_the_tiles_follow_the_chosen_head(two, qtbot):
    two.panel.controls.choose(None, 0)
    assert [made.values.argmax() for made in two.looking._maps] == [0, 12]
    two.panel.controls.choose(None, 1)
    assert [made.values.argmax() for made in two.looking._maps] == [6, 18]


def test_pointing_at_a_patch_tells_which_tokens_drew_on_it(two, qtbot):
    canvas, strip = two.pair.model, two.pair.strip
    two.panel.controls.choose(None, 1)
    shown = canvas.shown()
    x, y = shown.to_screen(30, 30)  # row 1, column 1
    qtbot.mouseMove(canvas, QPoint(round(float(x)), round(float(y))))
    assert [strip.tile(k).share for k in (0, 1)] == [1, 0]
    assert two.pair._patch_note._whole.startswith("Row 1, column 1: 0.0% of the map")
    two.looking._token_chosen(0)
    assert "100.0% of the map, rank 1 of 20 (x 20–40, y 20–40 px)" in two.pair._patch_note._whole


def test_the_keyboard_asks_the_same_and_esc_ends_it(two, qtbot):
    canvas, strip = two.pair.model, two.pair.strip
    canvas.setFocus()
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert not np.isnan(strip.tile(0).share)
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert np.isnan(strip.tile(0).share)
    assert two.pair._patch_note._whole == ""


def test_the_matrix_shows_how_each_head_looks_at_the_marked_patch(two, qtbot):
    two.panel.set_measure("patch")
    assert "point at a patch" in two.panel._reading.text()
    two.pair.strip.chosen.emit(0)
    two.pair.model._set_mark((1, 1))
    assert two.panel.matrix.words(0, 1).endswith("100.0%")
    assert two.panel.matrix.words(0, 0).endswith("0.0%")


def test_what_the_matrix_shows_can_be_chosen(two):
    two.panel.set_measure("picture")
    assert two.panel.matrix.words(0, 0) == "Layer 2, head 0: 80.0%"
    two.panel.set_measure("text")
    assert two.panel.matrix.words(0, 0) == "Layer 2, head 0: 20.0%"
    two.panel.set_measure("focus")
    assert two.panel.matrix.words(0, 0) == "Layer 2, head 0: 1.00"
    two.panel.set_measure(MAPS)
    assert two.panel.matrix.words(0, 0) == "Layer 2, head 0"


def test_a_token_that_was_chosen_stays_while_others_come(page):
    head = head_of()
    page.looking.begin(None, head)
    first = step_at((0, 0), (0, 0), head=head)
    page.looking.add(first, sums_of_step(first))
    assert page.looking.pick.token == 0
    page.pair.strip.choose(0)
    page.pair.strip.chosen.emit(0)
    page.looking.add(first, sums_of_step(first))
    assert page.looking.pick.token == 0
    assert page.pair.strip.current == 0
    assert len(page.pair.strip.tokens) == 2


def test_an_answer_of_several_views_lets_one_be_chosen(page):
    head = head_of(views=True)
    page.answer(head, steps_of(head, 2))
    box = page.panel.controls._view
    assert [box.itemText(k) for k in range(box.count())] == ["all views together", "tiles", "global"]
    assert page.panel.controls._view_row.isVisible()
    page.panel.controls.choose_view("global")
    assert page.pair.model.heat.values.shape == (2, 2)
    assert page.pair.model.grid is page.looking.trace.views[1].grid
    assert "(tiles " in page.panel.shares.text
    one = head_of()
    page.answer(one, steps_of(one, 1))
    assert not page.panel.controls._view_row.isVisible()
    assert page.looking.pick.view == "all"


def test_V11_what_a_crop_hides_is_hatched_and_said(page):
    crop = PatchGrid(np.linspace(25, 75, 6), np.linspace(0, HEIGHT, 5), WIDTH, HEIGHT)
    head = TraceHead("m", "r", "s", "q", crop, (0,), 2, note="The sides are cut off.")
    page.answer(head, [step_at((0, 0), (1, 1), head=head)])
    assert len(page.pair.model.unseen) == 2
    said = page.pair._way_in._whole
    assert said == "Hatched: 50% of the chart, not seen by the model. Model input: The sides are cut off."


def test_V12_what_fell_on_text_the_first_token_and_sinks_is_said(page):
    head = head_of()
    page.answer(head, steps_of(head, 3))
    text = page.panel.shares.text
    assert "On the chart" in text
    assert "first token" in text
    assert "Most on text: “" in text


def test_V12_sink_patches_are_left_out_by_choice(page):
    head = head_of()
    rows = np.zeros((3, 2, 4, 5), np.float16)
    rows[..., 0, 0], rows[..., 2, 2] = 0.6, 0.1
    none = np.zeros((3, 2), np.float32)
    page.answer(head, [TokenStep("a", 0, (), rows, none + 0.3, none)])
    assert page.peak == (0, 0)
    assert "sink patches 86%" in page.panel.shares.text
    page.panel.controls._sinks.setChecked(True)
    assert page.peak == (2, 2)
    assert page.looking.pick.choice().sinks == "drop"


def test_an_answer_of_several_lines_stays_on_one(page):
    page.pair.set_model_note("Answer: 4\n\n2")
    assert page.pair._model_note._whole == "Answer: 4 2"


def test_attention_that_fell_on_text_only_leaves_the_chart_bare(page):
    head = head_of()
    page.answer(head, [step_at((0, 0), (1, 1), head=head, share=0.0)])
    assert page.pair.model.heat is None
    assert "On the chart 0%, text 100%" in page.panel.shares.text
    page.pair.model._set_mark((1, 1))
    assert page.pair._patch_note._whole == "Nothing of this attention fell on the chart."


def test_V18_a_quiet_line_says_what_weights_are_not_and_leads_to_the_check(two, qtbot):
    [line] = [b for b in two.panel.findChildren(QPushButton) if "not an explanation" in b.text()]
    with qtbot.waitSignal(two.panel.check_asked):
        qtbot.mouseClick(line, Qt.MouseButton.LeftButton)


def test_each_method_is_explained_with_its_source(two):
    method = two.panel.controls.method
    for name, about, source in (
        ("mean", "where the answer's tokens looked", "Vaswani et al. 2017"),
        ("rollout", "followed through all layers", "Abnar and Zuidema 2020"),
        ("relevance", "raises the token's logit", "Chefer, Gur and Wolf 2021"),
    ):
        method.choose(name)
        assert about in method._about.text()
        assert f"({source})" in method._about.text()
        assert "http" in method._about.toolTip()


def test_one_row_is_said_to_be_raw(two):
    two.panel.controls.choose(5, 1)
    two.pair.strip.chosen.emit(0)
    assert "One layer, one head, one token" in two.panel.controls.method._about.text()


def test_tiles_of_a_long_answer_are_as_wide_as_they_need_at_once(page):
    head = head_of()
    page.looking.begin(None, head)
    step = step_at((0, 0), (1, 1), head=head, text=" value")
    for _ in range(20):
        page.looking.add(step, sums_of_step(step))
        widths = [page.pair.strip.tile(k).width() for k in range(len(page.pair.strip.tokens))]
        assert min(widths) >= page.pair.strip.tile(0).sizeHint().width()


def test_the_keys_bring_a_cell_of_many_layers_into_sight(page, qtbot):
    head = TraceHead("m", "r", "s", "q", head_of().grid, tuple(range(40)), 2)
    page.answer(head, [step_at((0, 0), (1, 1), head=head)])
    matrix = page.panel.matrix
    matrix.setFocus()
    for _ in range(39):
        qtbot.keyClick(matrix, Qt.Key.Key_Down)
    assert matrix.at[0] == 38
    assert matrix.visibleRegion().contains(matrix.cell_rect(38, 0))


def test_a_new_answer_begins_without_the_last_ones_marks(two):
    two.pair.model._set_mark((1, 1))
    two.looking.clear()
    assert two.pair.strip.tokens == ()
    assert two.pair.model.heat is None
    assert two.pair.model.mark is None
    assert two.panel.shares.text == ""
    assert two.looking.trace is None


def test_every_control_beside_the_chart_has_a_name(two):
    for widget in two.findChildren(QWidget):
        can_focus = widget.isVisible() and widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        if can_focus and not isinstance(widget, QLabel):
            named = widget.accessibleName() or getattr(widget, "text", lambda: "")()
            assert named, type(widget).__name__
