from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QPointF
from PyQt6.QtGui import QColor, QImage, QPainter

from gazelab.core.geometry import Screen
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.target_art import (
    DOT_DEG,
    Looks,
    TargetStyle,
    draw_done,
    draw_target,
    px_per_deg,
    target_diameter_px,
)

SCREENS = [
    Screen("laptop", 1920, 1080, 345, 194, 600),
    Screen("phone-like", 2732, 2048, 262, 197, 400),
    Screen("television", 1920, 1080, 1210, 680, 1500),
    Screen("unknown", 1366, 768),
]
LAPTOP = SCREENS[0]
SIDE, MIDDLE = 400, 200.0


@pytest.fixture
def drawn(qapp, pixels_of):
    """Draw something on neutral ground of 400 x 400 px; gives its pixels."""

    def do(draw):
        image = QImage(SIDE, SIDE, QImage.Format.Format_RGB32)
        image.fill(QColor(*NEUTRAL_RGB))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw(painter)
        painter.end()
        return pixels_of(image).astype(int)

    return do


def target(looks, at=MIDDLE, screen=LAPTOP):
    return lambda painter: draw_target(painter, QPointF(at, at), screen, looks)


def inked(pixels):
    return np.abs(pixels - NEUTRAL_RGB).max(-1) > 12


@pytest.mark.parametrize("screen", SCREENS, ids=lambda s: s.name)
@pytest.mark.parametrize("style", TargetStyle)
def test_G6_targets_are_between_a_tenth_of_a_degree_and_three(screen, style):
    for progress in (0.0, 0.5, 1.0, 7.0):
        diameter = target_diameter_px(screen, progress, style)
        if screen.has_degrees:
            assert 0.1 <= DOT_DEG <= diameter / screen.px_per_deg() <= 3
        assert 5 < diameter < min(screen.width_px, screen.height_px) / 5


@pytest.mark.parametrize("style", TargetStyle)
def test_G6_what_is_drawn_has_the_size_that_is_told_and_shrinks(drawn, style):
    widths = []
    for progress in (0.0, 0.5, 1.0):
        ink = inked(drawn(target(Looks(style, progress))))
        width = np.ptp(np.nonzero(ink.any(0))[0]) + 1
        assert width == pytest.approx(target_diameter_px(LAPTOP, progress, style), rel=0.06)
        widths.append(width)
    assert widths[0] > widths[1] > widths[2]


@pytest.mark.parametrize("style", TargetStyle)
def test_the_dot_to_look_at_keeps_its_place_and_size_whatever_moves(drawn, style):
    """At every moment of wiggle and shrinking: its middle within half a px, its ink within a twentieth."""
    reach = int(0.6 * DOT_DEG * px_per_deg(LAPTOP)) + 1
    rows = slice(int(MIDDLE) - reach, int(MIDDLE) + reach)
    seen = []
    for progress in (0.0, 0.4, 1.0):
        for seconds in np.linspace(0, 3, 7):
            grey = drawn(target(Looks(style, progress, float(seconds))))[rows, rows].mean(-1)
            weight = np.clip(160 - grey, 0, None)
            y, x = (
                float((weight * np.mgrid[: 2 * reach, : 2 * reach][k]).sum() / weight.sum()) for k in (0, 1)
            )
            seen.append((x, y, weight.sum()))
    seen = np.array(seen)
    assert np.abs(seen[:, :2] - (reach - 0.5)).max() < 0.5
    assert np.ptp(seen[:, 2]) < 0.05 * seen[:, 2].mean()


def test_the_star_moves_and_the_dot_does_not(drawn):
    def moment(style, seconds):
        return drawn(target(Looks(style, 0.2, seconds)))

    assert (moment(TargetStyle.CHILD, 0.0) != moment(TargetStyle.CHILD, 0.35)).any()
    assert (moment(TargetStyle.DOT, 0.0) == moment(TargetStyle.DOT, 0.35)).all()


@pytest.mark.parametrize("style", TargetStyle)
def test_the_sign_that_a_target_is_done_fades(drawn, style):
    def strength(share):
        pixels = drawn(lambda p: draw_done(p, QPointF(MIDDLE, MIDDLE), LAPTOP, share, style))
        return np.abs(pixels - NEUTRAL_RGB).max()

    assert strength(0.0) > strength(0.5) > strength(0.95)
    assert strength(1.0) == 0
