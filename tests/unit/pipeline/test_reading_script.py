from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.geometry import Screen
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.reading_script import read_chart

from .scripted import SCREEN, chart


def test_the_asked_element_is_looked_at_last_within_a_degree():
    layout = reading_layout(SCREEN, 40, 30)
    dwells = read_chart(chart("a"), layout, SCREEN, np.random.default_rng(1))
    x, y = layout.chart.to_screen(34.0, 7.5)
    assert SCREEN.angle_deg(dwells[-1].x_px, dwells[-1].y_px, x, y) < 1
    assert all(120_000_000 <= d.duration_ns <= 1_200_000_000 for d in dwells)


def test_the_same_seed_reads_the_same_way():
    layout = reading_layout(SCREEN, 40, 30)
    first, again = (read_chart(chart("a"), layout, SCREEN, np.random.default_rng(5)) for _ in range(2))
    assert first == again


@given(st.integers(640, 4000), st.integers(480, 3000), st.integers(1, 4000), st.integers(1, 4000))
def test_question_and_chart_lie_on_the_screen_and_never_overlap(width, height, picture_w, picture_h):
    screen = Screen("s", width, height)
    layout = reading_layout(screen, picture_w, picture_h)
    left, top, w, h = layout.question_px
    c = layout.chart
    assert left >= 0
    assert top + h <= c.top_px
    assert left + w <= width
    assert c.left_px >= 0
    assert c.left_px + c.width_px <= width + 1e-6
    assert c.top_px + c.height_px <= height + 1e-6
    assert c.width_px / c.height_px == pytest.approx(picture_w / picture_h)
