"""A picture of a causal check: the chart without what was looked at, and the curves beside random ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from gazelab.attention.causal import CausalCheck, Curve, Curves
from gazelab.attention.causal.blanking import blanked, filled
from gazelab.attention.causal.result import spread_of
from gazelab.core.attention import AttentionMap
from gazelab.core.picture import Picture

WIDTH_PX, PLOT_PX, GAP_PX, LINE_PX = 480, 300, 16, 18
LEFT_PX, FOOT_PX = 34, 34
INK, GREY, OURS = "black", (170, 170, 170), (178, 24, 43)
FONT_PX = 13

Pixels = NDArray[np.uint8]


def check_picture(picture: Picture, made: AttentionMap, found: CausalCheck) -> Pixels:
    """Draw what a check tried and what it came to.

    Parameters
    ----------
    picture : Picture
    made : AttentionMap
        The map that was checked.
    found : CausalCheck

    Returns
    -------
    numpy.ndarray, shape (height, width, 3), uint8
        The chart without the most attended patches; beside it, where they were measured, the answer's
        probability while patches go and while they come back, with random orders in grey.
    """
    chart = Image.fromarray(without_attended(picture, made, found).rgb)
    chart.thumbnail((WIDTH_PX, 2 * PLOT_PX), Image.Resampling.BOX)
    plots = _plots(found.curves)
    width = GAP_PX + chart.width + GAP_PX + (PLOT_PX + GAP_PX if plots else 0)
    height = max(chart.height + LINE_PX, len(plots) * PLOT_PX) + 2 * GAP_PX
    sheet = Image.new("RGB", (width, height), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(FONT_PX)
    pen.text((GAP_PX, GAP_PX), f"without the {len(found.patches)} most attended patches", INK, font)
    sheet.paste(chart, (GAP_PX, GAP_PX + LINE_PX))
    for place, plot in enumerate(plots):
        sheet.paste(plot, (2 * GAP_PX + chart.width, GAP_PX + place * PLOT_PX))
    return np.asarray(sheet, np.uint8)


def without_attended(picture: Picture, made: AttentionMap, found: CausalCheck) -> Picture:
    """Give the chart as the check blanked it."""
    mask = np.zeros(made.values.shape, bool)
    for patch in found.patches:
        mask[patch] = True
    return blanked(picture, made.grid, mask, filled(picture, made.grid, found.plan.fill))


def _plots(curves: Curves | None) -> list[Image.Image]:
    if curves is None:
        return []
    return [
        _plot("patches blanked", curves.deletion, curves.random_deletion),
        _plot("patches shown", curves.insertion, curves.random_insertion),
    ]


def _plot(what: str, ours: Curve, random: Sequence[Curve]) -> Image.Image:
    """Draw one curve over those of random orders; both axes run from 0 to 1."""
    image = Image.new("RGB", (PLOT_PX, PLOT_PX), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(FONT_PX)
    left, top, right, bottom = LEFT_PX, 2 * LINE_PX + 6, PLOT_PX - 2 * GAP_PX, PLOT_PX - FOOT_PX
    mean = spread_of([curve.auc for curve in random])["mean"]
    pen.text((left, 0), "probability of the answer", INK, font)
    areas = f"area {ours.auc:.2f}" + ("" if mean is None else f", random orders (grey) {mean:.2f}")
    pen.text((left, LINE_PX), areas, OURS, font)
    pen.line([(left, top), (left, bottom), (right, bottom)], INK)
    for value in (0, 0.5, 1):
        pen.text((2, bottom - value * (bottom - top) - FONT_PX / 2), f"{value:g}", INK, font)
        pen.text((left + value * (right - left) - 6, bottom + 2), f"{value:.0%}", INK, font)
    pen.text((left + 60, bottom + LINE_PX - 2), what, INK, font)
    for curve, colour, wide in (*((curve, GREY, 1) for curve in random), (ours, OURS, 3)):
        points = [
            (left + share * (right - left), bottom - p * (bottom - top))
            for share, p in zip(curve.shares, curve.probability, strict=True)
        ]
        pen.line(points, colour, wide)
    return image
