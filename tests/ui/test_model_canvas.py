"""The chart under a model's map: the patch that is pointed at, and what the model cannot see."""

from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt

from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.ui.model_canvas import ModelCanvas, rect_of, unseen_of, unseen_share


def grid_of(left: float, right: float, width: int = 400, height: int = 300) -> PatchGrid:
    """3 rows over the whole height, 4 columns from `left` to `right`."""
    return PatchGrid(np.linspace(left, right, 5), np.linspace(0, height, 4), width, height)


@pytest.fixture
def canvas(qtbot):
    made = ModelCanvas()
    made.resize(400, 300)
    qtbot.addWidget(made)
    made.set_picture(Picture.from_rgb(np.full((300, 400, 3), 255, np.uint8)))
    made.set_grid(grid_of(0, 400))
    made.told = []
    made.marked.connect(made.told.append)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_the_mouse_marks_the_patch_it_is_over(qtbot, canvas):
    qtbot.mouseMove(canvas, QPoint(250, 150))
    assert canvas.mark == (1, 2)
    qtbot.mouseMove(canvas, QPoint(20, 290))
    assert canvas.told == [(1, 2), (2, 0)]


def test_a_click_keeps_the_mark_until_the_next(qtbot, canvas):
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(250, 150))
    qtbot.mouseMove(canvas, QPoint(20, 20))
    assert canvas.mark == (1, 2)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(250, 150))
    qtbot.mouseMove(canvas, QPoint(30, 30))
    assert canvas.mark == (0, 0)


def test_the_keys_move_the_mark_and_esc_takes_it_away(qtbot, canvas):
    for key, at in (
        (Qt.Key.Key_Right, (1, 1)),
        (Qt.Key.Key_Right, (1, 2)),
        (Qt.Key.Key_Up, (0, 2)),
        (Qt.Key.Key_Up, (0, 2)),
        (Qt.Key.Key_Escape, None),
    ):
        qtbot.keyClick(canvas, key)
        assert canvas.mark == at


def test_V11_the_keys_never_enter_the_padding(qtbot, canvas):
    canvas.set_grid(grid_of(-200, 400))
    inside = canvas.grid.inside() > 0
    for _ in range(6):
        qtbot.keyClick(canvas, Qt.Key.Key_Left)
        assert inside[canvas.mark]


def test_another_pictures_patches_leave_no_mark(qtbot, canvas):
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    canvas.set_grid(PatchGrid.stretched(9, 9, 400, 300))
    assert canvas.mark is None
    assert canvas.told[-1] is None


def test_V11_what_a_centre_crop_cuts_off_is_hatched_and_measured(canvas, grab):
    crop = grid_of(50, 350)
    assert unseen_of([crop]) == [(0, 0, 50, 300), (350, 0, 400, 300)]
    assert unseen_share([crop]) == pytest.approx(0.25)
    canvas.set_seen([crop])
    image = grab(canvas).astype(int)
    assert image[:, 10:40].min() < 240
    assert (image[10:290, 60:340] == 255).all()


def test_V11_padding_beside_the_picture_hides_nothing_of_it():
    assert unseen_of([grid_of(-30, 430)]) == []


def test_what_one_view_sees_is_not_hatched():
    assert unseen_of([grid_of(50, 350), grid_of(0, 400)]) == []


def test_a_patch_is_cut_at_the_pictures_edge():
    assert rect_of(grid_of(-40, 400), (0, 0)) == pytest.approx((0, 0, 70, 100))


def test_without_a_grid_there_is_no_mark(qtbot, canvas):
    canvas.set_grid(None)
    qtbot.mouseMove(canvas, QPoint(250, 150))
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.mark is None
