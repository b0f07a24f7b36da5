"""A gaze source that gives what a test tells it, and a two-chart study on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gazelab.charts.item import Box, ChartItem, Element
from gazelab.core.gaze import SourceState, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.core.picture import encode_png
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.study import RecordingStudy
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import Reading, SourceInfo

SCREEN = Screen("laptop", 1920, 1080, 345.0, 194.0, 600.0, "card")
MS = 1_000_000
STEP_NS = 33 * MS


def sample(time_ns: int, x_px: float, y_px: float) -> np.void:
    row = empty_gaze(1)[0]
    row["time_ns"], row["x_px"], row["y_px"], row["valid"] = time_ns, x_px, y_px, x_px == x_px
    return row


class ScriptedSource:
    """Gives one sample a `read`, 33 ms apart, at the place that was last set (NaN: lost)."""

    def __init__(self) -> None:
        self.info = SourceInfo("scripted", "a test", 30.0)
        self.state = SourceState.IDLE
        self.now_ns = 0
        self.place = (960.0, 540.0)
        self.fault: Exception | None = None

    def open(self) -> None:
        self.state = SourceState.OK

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        if self.fault is not None:
            raise self.fault
        if self.state is not SourceState.OK:
            return []
        self.now_ns += STEP_NS
        return [Reading(sample(self.now_ns, *self.place))]

    def close(self) -> None:
        self.state = SourceState.IDLE

    def clock(self) -> int:
        return self.now_ns


def chart(chart_id: str, shade: int = 200) -> ChartItem:
    """A 40 x 30 picture, grey, with one dark element in its upper right part."""
    rgb = np.full((30, 40, 3), shade, np.uint8)
    rgb[5:10, 30:38] = 40
    element = Element("bar", "mark", "black", Box(30, 5, 38, 10), (0,))
    return ChartItem(
        chart_id, f"{chart_id}.png", encode_png(rgb), "How high?", "12", elements=(element,), asked=("bar",)
    )


def record_two_charts(root: Path, session_id: str = "reading") -> tuple[Acquisition, Path]:
    """Record: chart a with two looks (left, then right), chart b with one and a gap in it."""
    from gazelab.pipeline.layout import reading_layout

    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    header = header_for(source, SCREEN, "P1", clock="virtual")
    with SessionWriter.create(root, session_id, header, clock=source.clock) as writer:
        acquisition.add_sink(writer)
        study = RecordingStudy([chart("a"), chart("b", 220)], writer, acquisition)
        layout = reading_layout(SCREEN, 40, 30)
        for looks in ([(500.0, 600.0), (1300.0, 400.0)], [(900.0, 700.0), (np.nan, np.nan)]):
            study.prepare()
            study.show(layout.chart, source.clock())
            for place in looks:
                source.place = place
                for _ in range(20):
                    acquisition.pump()
            study.answer("12", source.clock())
        acquisition.remove_sink(writer)
    return acquisition, root / "sessions" / session_id
