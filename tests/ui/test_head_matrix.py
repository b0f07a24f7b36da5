"""The layer × head matrix: what is drawn, and how a cell, a row or a column is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt

from gazelab.ui.head_matrix import ALL, HeadMatrix

LAYERS, HEADS = (4, 5, 6), 4


@pytest.fixture
def matrix(qtbot):
    made = HeadMatrix()
    made.resize(300, 200)
    qtbot.addWidget(made)
    made.set_axes(LAYERS, HEADS)
    numbers = np.zeros((3, 4), np.float32)
    numbers[1, 2] = 0.5
    made.set_numbers(numbers)
    made.picks = []
    made.picked.connect(lambda row, head: made.picks.append((row, head)))
    with qtbot.waitExposed(made):
        made.show()
    return made


def click(qtbot, matrix, row, head):
    qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=matrix.cell_rect(row, head).center())


def test_a_click_chooses_a_cell_a_layer_a_head_or_everything(qtbot, matrix):
    for at in ((1, 2), (2, ALL), (ALL, 3), (ALL, ALL)):
        click(qtbot, matrix, *at)
        assert matrix.at == at
    assert matrix.picks == [(1, 2), (2, ALL), (ALL, 3), (ALL, ALL)]


def test_a_double_click_goes_back_to_everything(qtbot, matrix):
    click(qtbot, matrix, 1, 2)
    qtbot.mouseDClick(matrix, Qt.MouseButton.LeftButton, pos=matrix.cell_rect(1, 2).center())
    assert matrix.at == (ALL, ALL)


def test_the_keys_move_through_cells_and_labels(qtbot, matrix):
    for key, at in (
        (Qt.Key.Key_Down, (0, ALL)),
        (Qt.Key.Key_Right, (0, 0)),
        (Qt.Key.Key_Right, (0, 1)),
        (Qt.Key.Key_Up, (ALL, 1)),
        (Qt.Key.Key_Up, (ALL, 1)),
        (Qt.Key.Key_Home, (ALL, ALL)),
    ):
        qtbot.keyClick(matrix, key)
        assert matrix.at == at
    assert len(matrix.picks) == 5, "a key that moves nowhere tells nothing"


def test_the_keys_stop_at_the_last_cell(qtbot, matrix):
    for _ in range(9):
        qtbot.keyClick(matrix, Qt.Key.Key_Down)
        qtbot.keyClick(matrix, Qt.Key.Key_Right)
    assert matrix.at == (2, 3)


def test_a_click_beside_the_cells_does_nothing(qtbot, matrix):
    qtbot.mouseClick(matrix, Qt.MouseButton.LeftButton, pos=QPoint(matrix.width() - 2, matrix.height() - 2))
    assert matrix.picks == []


def test_a_cell_says_its_layer_head_and_number(matrix):
    assert matrix.words(1, 2) == "Layer 5, head 2: 50.0%"
    assert matrix.words(1, ALL) == "Layer 5, all heads"
    assert matrix.words(ALL, 2) == "Head 2 of every layer"
    matrix.choose(1, 2)
    assert matrix.accessibleDescription() == "Layer 5, head 2: 50.0%"


def test_the_largest_number_is_the_darkest_cell(matrix, grab):
    image = grab(matrix)

    def grey(row, head):
        at = matrix.cell_rect(row, head).center()
        return int(image[at.y(), at.x()].sum())

    assert grey(1, 2) < min(grey(r, h) for r in range(3) for h in range(4) if (r, h) != (1, 2))


def test_U3_a_small_map_lies_in_its_cell_the_right_way_up(matrix, grab):
    maps = np.zeros((3, 4, 6, 8), np.float32)
    maps[2, 1, 0, 7] = 1.0  # the map's upper right corner
    matrix.set_maps(maps)
    image = grab(matrix).astype(int).sum(-1)
    rect = matrix.cell_rect(2, 1)
    cell = image[rect.top() : rect.bottom(), rect.left() : rect.right()]
    dark = np.argwhere(cell == cell.min())
    assert (dark[:, 0] < rect.height() / 4).all()
    assert (dark[:, 1] > rect.width() * 3 / 4).all()


def test_small_maps_of_many_heads_fit_beside_the_charts(qtbot):
    wide = HeadMatrix()
    qtbot.addWidget(wide)
    wide.resize(360, 100)
    wide.set_axes(tuple(range(36)), 16)
    wide.set_maps(np.ones((36, 16, 18, 24), np.float32))
    assert wide.cell_rect(0, 15).right() <= 360
    assert wide.height() >= wide.cell_rect(35, 0).bottom()
    assert not wide.grab().isNull()


def test_numbers_that_are_not_known_are_no_cells(qtbot, matrix):
    matrix.set_numbers(np.full((3, 4), np.nan, np.float32))
    assert matrix.words(0, 0) == "Layer 4, head 0"
    assert not matrix.grab().isNull()
