"""A scripted way of reading a chart, for the synthetic participant: made up, and said to be so.

The order (question, title, a look round, the asked elements, a check) is ours. Fixation durations are
lognormal round 260 ms, about what readers of charts and scenes show (Rayner 2009, 10.1080/17470210902816461).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gazelab.charts.item import ChartItem
from gazelab.core.geometry import Screen
from gazelab.pipeline.layout import ReadingLayout

MEDIAN_FIXATION_MS = 260.0
FIXATION_LOG_SD = 0.5
FIXATION_RANGE_MS = (120.0, 1200.0)
WORDS_PER_FIXATION = 1.6
MISS_DEG = 0.15
N_OVERVIEW = 3
EM_SHARE = 0.22

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Dwell:
    """A place (screen px) and how long it is looked at."""

    x_px: float
    y_px: float
    duration_ns: int


def read_chart(
    chart: ChartItem, layout: ReadingLayout, screen: Screen, rng: np.random.Generator
) -> list[Dwell]:
    """Make the scanpath of one trial.

    Parameters
    ----------
    chart : ChartItem
        With its elements; `asked` are looked at last.
    layout : ReadingLayout
    screen : Screen
    rng : numpy.random.Generator

    Returns
    -------
    list of Dwell
        In order; the saccades between them are the participant's own.
    """
    asked = [element.box.centre_px for element in chart.asked_elements()]
    others = [element.box.centre_px for element in chart.elements if element.element_id not in chart.asked]
    points = question_points(layout, chart.question) + chart_points(layout, others, asked, rng)
    miss_px = MISS_DEG * screen.px_per_deg()
    dwells = []
    for x, y in points:
        duration_ms = MEDIAN_FIXATION_MS * np.exp(rng.normal(0, FIXATION_LOG_SD))
        duration_ns = int(np.clip(duration_ms, *FIXATION_RANGE_MS) * 1e6)
        dwells.append(Dwell(x + rng.normal(0, miss_px), y + rng.normal(0, miss_px), duration_ns))
    return dwells


def question_points(layout: ReadingLayout, question: str) -> list[Point]:
    """Points along the question's line of text, left to right, one for about 1.6 words; screen px."""
    left, top, width, height = layout.question_px
    n = max(2, round(len(question.split()) / WORDS_PER_FIXATION))
    span = min(width, len(question) * height * EM_SHARE)
    return [(left + span * (k + 0.5) / n, top + height / 2) for k in range(n)]


def chart_points(
    layout: ReadingLayout, overview: Sequence[Point], asked: Sequence[Point], rng: np.random.Generator
) -> list[Point]:
    """Points on the chart (screen px): a few of the overview, then the asked ones, then one as a check.

    Parameters
    ----------
    overview, asked : sequence of (x, y)
        Centres of chart elements, picture px.
    """
    some = [overview[i] for i in sorted(rng.permutation(len(overview))[:N_OVERVIEW].tolist())]
    path = [*some, *asked, *asked[:1]]
    return [(float(x), float(y)) for x, y in (layout.chart.to_screen(*p) for p in path)]
