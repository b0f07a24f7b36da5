import numpy as np
import pytest

from gazelab.attention.causal.blanking import background_of, blanked, filled, pixels_of, shows_something
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture

CREAM, RED = (250, 245, 230), (200, 30, 30)


def chart():
    """Cream, 40 x 20 px, a red bar over the left half's lower patch."""
    rgb = np.full((20, 40, 3), CREAM, np.uint8)
    rgb[12:18, 4:16] = RED
    return Picture.from_rgb(rgb)


GRID = PatchGrid.stretched(2, 2, 40, 20)


def test_the_background_is_the_commonest_colour():
    assert tuple(background_of(chart())) == CREAM


def test_only_patches_with_ink_show_something():
    assert shows_something(chart(), GRID).tolist() == [[False, False], [True, False]]


def test_a_patch_becomes_background_and_the_rest_stays():
    picture = chart()
    without = blanked(picture, GRID, np.array([[0, 0], [1, 0]], bool), filled(picture, GRID, "background"))
    assert (without.rgb == CREAM).all()
    kept = blanked(picture, GRID, np.array([[1, 1], [0, 1]], bool), filled(picture, GRID, "background"))
    np.testing.assert_array_equal(kept.rgb, picture.rgb)
    assert kept.sha256 == picture.sha256


def test_V7_a_pixel_belongs_to_the_patch_that_its_centre_lies_in():
    """Three patches over 10 px: edges at 3.33 and 6.67, so pixels 0-2, 3-6 and 7-9."""
    grid = PatchGrid.stretched(1, 3, 10, 2)
    marked = pixels_of(grid, np.array([[False, True, False]]))
    assert marked[0].tolist() == [False] * 3 + [True] * 4 + [False] * 3


def test_V11_padding_and_what_a_crop_left_out_are_never_blanked():
    grid = PatchGrid(np.array([-10.0, 10, 30]), np.array([5.0, 15]), 40, 20)
    marked = pixels_of(grid, np.array([[True, False]]))
    assert marked[:5].sum() == marked[15:].sum() == 0
    assert marked[5:15, :10].all()
    assert not marked[:, 10:].any()
    assert shows_something(chart(), grid).shape == (1, 2)


def test_the_fills():
    picture = chart()
    assert tuple(filled(picture, GRID, "median")[0, 0]) == CREAM
    blurred = filled(picture, GRID, "blur")
    assert blurred.shape == picture.rgb.shape
    assert blurred.astype(int).std() < picture.rgb.astype(int).std()
    with pytest.raises(AttentionError, match='fill = "lilac"'):
        filled(picture, GRID, "lilac")


def test_a_picture_of_one_colour_shows_nothing():
    plain = Picture.from_rgb(np.full((20, 40, 3), 77, np.uint8))
    assert not shows_something(plain, GRID).any()
