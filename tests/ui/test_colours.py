from __future__ import annotations

import numpy as np
import pytest

from gazelab.ui.colours import GAZE_MAP, MODEL_MAP, contrast, lightness


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
    painted = GAZE_MAP.paint(np.array([[np.nan, 1.0]]))
    assert painted[0, 0].tolist() == [0, 0, 0, 0]
    assert painted[0, 1, 3] > 0
