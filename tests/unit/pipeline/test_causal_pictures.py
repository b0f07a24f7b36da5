import numpy as np

from gazelab.attention.causal import CausalCheck, CheckPlan, Curve, Curves, Effect
from gazelab.core.attention import AttentionMap
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture
from gazelab.pipeline.causal_pictures import OURS, check_picture, without_attended

GRID = PatchGrid.stretched(2, 4, 80, 40)


def chart():
    rgb = np.full((40, 80, 3), 255, np.uint8)
    rgb[5:15, 25:35] = 0
    return Picture.from_rgb(rgb)


def checked(curves):
    effect = Effect(0.9, 0.9, 0.9, unchanged=True)
    counts = (1, 0.1, 0.1, 1)
    return CausalCheck("42", 1, effect, effect, None, (effect,), ((0, 1),), *counts, curves, CheckPlan())


def made():
    values = np.zeros((2, 4))
    values[0, 1] = 1
    return AttentionMap(values, GRID)


def test_the_chart_is_drawn_without_the_attended_patch():
    assert (without_attended(chart(), made(), checked(None)).rgb == 255).all()


def test_curves_are_drawn_where_they_were_measured():
    curve, flat = Curve((0.0, 0.5, 1.0), (0.9, 0.1, 0.0)), Curve((0.0, 0.5, 1.0), (0.9, 0.9, 0.0))
    without = check_picture(chart(), made(), checked(None))
    drawn = check_picture(chart(), made(), checked(Curves(curve, flat, (flat,), (curve,))))
    assert drawn.shape[1] > without.shape[1]
    assert (drawn == np.array(OURS)).all(-1).any()
    assert not (without == np.array(OURS)).all(-1).any()
