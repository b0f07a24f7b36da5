from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.geometry import PatchGrid
from gazelab.ui.colours import DARK_NUMBER_MAP, GAZE_MAP, MODEL_MAP, NUMBER_MAP, contrast, lightness
from gazelab.ui.heat_image import heat_image, spread


@pytest.mark.parametrize("colours", [GAZE_MAP, MODEL_MAP], ids=lambda m: m.name)
def test_the_ramps_are_ordered_in_lightness_and_opacity(colours):
    assert (np.diff(lightness(colours.rgba[:, :3])) <= 1e-9).all()
    assert (np.diff(colours.rgba[:, 3].astype(int)) >= 0).all()
    assert colours.rgba[0, 3] == 0
    assert colours.rgba[-1, 3] < 230


def test_the_two_ramps_differ_in_blue_against_red_which_colour_blindness_keeps():
    people, model = GAZE_MAP.rgba[200].astype(int), MODEL_MAP.rgba[200].astype(int)
    assert people[2] - people[0] > 60
    assert model[0] - model[2] > 60


def test_contrast_of_black_and_white_is_21():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((9, 9, 9), (9, 9, 9)) == 1


def test_nan_cells_are_clear():
    image = heat_image(np.array([[np.nan, 1.0]]), GAZE_MAP)
    assert image.pixelColor(0, 0).alpha() == 0
    assert image.pixelColor(1, 0).alpha() > 0


@pytest.mark.parametrize("scaled", [0.0, 0.4, 1.0])
def test_a_heat_pixel_has_the_colour_of_its_ramp(scaled):
    image = heat_image(np.array([[scaled]]), MODEL_MAP)
    want = MODEL_MAP.rgba[round(scaled * 255)].astype(int)
    got = image.pixelColor(0, 0).getRgb()
    assert got[3] == want[3]
    # Premultiplied colours are rounded once more, the more so the clearer they are.
    assert np.abs(np.array(got[:3]) - want[:3]).max() <= 2 + 255 / max(want[3], 1) or want[3] == 0


@pytest.mark.parametrize("colours", [NUMBER_MAP, DARK_NUMBER_MAP], ids=lambda m: m.name)
def test_the_ramps_of_numbers_are_ordered_in_lightness(colours):
    steps = np.diff(lightness(colours.rgba[:, :3]))
    assert (steps <= 1e-3).all() or (steps >= -1e-3).all()


def test_a_map_is_spread_over_a_raster_as_the_grid_paints_it():
    grid = PatchGrid(np.array([-10.0, 20, 50, 90]), np.array([0.0, 30, 70]), 80, 60)
    maps = np.arange(12, dtype=float).reshape(2, 2, 3)
    for got, values in zip(spread(grid, maps, 6, 8), maps, strict=True):
        assert got == pytest.approx(grid.paint(values, 6, 8))
