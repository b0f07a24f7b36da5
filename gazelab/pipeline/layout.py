"""Where question and chart lie on the screen while a participant reads."""

from __future__ import annotations

from dataclasses import dataclass

from gazelab.core.geometry import Placement, Screen

MARGIN_SHARE = 0.04
QUESTION_SHARE = 0.14


@dataclass(frozen=True, slots=True)
class ReadingLayout:
    """Question above, chart below, as in ChartGaze (EMNLP 2025): question first, at the upper left.

    Attributes
    ----------
    question_px : (left, top, width, height)
        Screen px.
    chart : Placement
        Screen px; the chart keeps its shape and never covers the question.
    """

    question_px: tuple[float, float, float, float]
    chart: Placement


def reading_layout(screen: Screen, picture_width_px: int, picture_height_px: int) -> ReadingLayout:
    """Lay out one trial on a screen.

    Parameters
    ----------
    screen : Screen
    picture_width_px, picture_height_px : int
        The chart's own size.
    """
    margin = MARGIN_SHARE * screen.height_px
    question_height = QUESTION_SHARE * screen.height_px
    width = screen.width_px - 2 * margin
    question = (margin, margin, width, question_height - margin)
    top = question_height + margin
    area = (margin, top, width, screen.height_px - top - margin)
    return ReadingLayout(question, Placement.fit(picture_width_px, picture_height_px, area))
