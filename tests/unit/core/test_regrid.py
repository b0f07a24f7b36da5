import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gazelab.core.geometry import PatchGrid
from gazelab.core.intervals import overlap_shares
from gazelab.core.regrid import respread


def test_shares_of_an_interval_by_hand():
    shares = overlap_shares(np.array([0.0, 10, 20]), np.array([5.0, 15, 40]))
    np.testing.assert_allclose(shares, [[0.5, 0.5], [0, 0.5]])


def test_one_coarse_patch_over_four_fine_ones():
    coarse, fine = PatchGrid.stretched(1, 1, 8, 8), PatchGrid.stretched(2, 2, 8, 8)
    laid = respread([[1.0]], coarse, fine)
    np.testing.assert_allclose(laid.values, [[0.25, 0.25], [0.25, 0.25]])
    assert (laid.beside, laid.padding) == (0, 0)


def test_a_patch_across_an_edge_is_shared_by_area():
    thirds, halves = PatchGrid.stretched(1, 3, 6, 4), PatchGrid.stretched(1, 2, 6, 4)
    np.testing.assert_allclose(respread([[0, 1, 0]], thirds, halves).values, [[0.5, 0.5]])
    np.testing.assert_allclose(respread([[1, 0, 0]], thirds, halves).values, [[1, 0]])


def test_what_the_target_does_not_see_is_beside_and_what_nobody_should_see_is_padding():
    """A target cropped to the middle half of a picture 8 px wide; a source with 4 px of padding each side."""
    cropped = PatchGrid(np.array([2.0, 4, 6]), np.array([0.0, 8]), 8, 8)
    padded = PatchGrid(np.array([-4.0, 0, 8, 12]), np.array([0.0, 8]), 8, 8)
    laid = respread([[0.1, 0.8, 0.1]], padded, cropped)
    np.testing.assert_allclose(laid.values, [[0.2, 0.2]])
    assert laid.beside == pytest.approx(0.4)
    assert laid.padding == pytest.approx(0.2)


def test_wrong_shapes_and_pictures_are_refused():
    grid = PatchGrid.stretched(2, 2, 8, 8)
    with pytest.raises(ValueError, match="shape"):
        respread(np.zeros((2, 3)), grid, grid)
    with pytest.raises(ValueError, match="different sizes"):
        respread(np.zeros((2, 2)), grid, PatchGrid.stretched(2, 2, 9, 8))


def edges(low, high):
    return st.lists(st.integers(low, high), min_size=2, max_size=6, unique=True).map(
        lambda numbers: np.array(sorted(numbers), float)
    )


@given(edges(-20, 60), edges(-20, 60), edges(-20, 60), edges(-20, 60), st.data())
def test_V11_mass_is_neither_lost_nor_doubled(sx, sy, tx, ty, data):
    source, target = PatchGrid(sx, sy, 40, 30), PatchGrid(tx, ty, 40, 30)
    values = data.draw(hnp.arrays(float, (2, source.rows, source.cols), elements=st.floats(0, 1)))
    laid = respread(values, source, target)
    assert laid.values.min() >= 0
    total = laid.values.sum((-2, -1)) + laid.beside + laid.padding
    np.testing.assert_allclose(total, values.sum((-2, -1)), atol=1e-9)


@given(edges(-20, 60), edges(-20, 60), edges(0, 40), edges(0, 30), st.data())
def test_V11_what_was_on_the_picture_stays_on_it(sx, sy, tx, ty, data):
    source, target = PatchGrid(sx, sy, 40, 30), PatchGrid(tx, ty, 40, 30)
    values = data.draw(hnp.arrays(float, (source.rows, source.cols), elements=st.floats(0, 1)))
    laid = respread(values, source, target)
    on_picture = source.paint(values, 30, 40).sum()
    assert laid.values.sum() + laid.beside == pytest.approx(on_picture, abs=1e-9)
