"""Tells the synthetic participant what is on the screen, since it cannot see it."""

from __future__ import annotations

import numpy as np

from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.targets import Target
from gazelab.charts.item import ChartItem
from gazelab.core.geometry import Placement, Screen
from gazelab.pipeline.layout import ReadingLayout, reading_layout
from gazelab.pipeline.reading_script import read_chart
from gazelab.pipeline.synthetic_subject import attend
from gazelab.sources.base import GazeSource
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.synthetic import SyntheticParticipant

REACTION_NS = 250_000_000


class SyntheticDriver:
    """Moves the eyes of a synthetic participant, and does nothing for any other source.

    Parameters
    ----------
    seed : int
        Of where it looks on a chart.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def look_at(
        self,
        source: GazeSource | None,
        target: Target,
        time_ns: int,
        procedure: CalibrationProcedure | None = None,
    ) -> None:
        """Look at a target; of a calibration's `procedure`, follow one that moves, and move the head."""
        participant = _participant(source)
        if participant is not None and procedure is not None:
            attend(participant, procedure, target, time_ns)
        elif participant is not None:
            participant.script.look_at(target.x_px, target.y_px, time_ns)

    def read(
        self,
        source: GazeSource | None,
        chart: ChartItem,
        placement: Placement,
        screen: Screen,
        time_ns: int,
    ) -> None:
        """Read a chart that is on by the script that the demo uses."""
        participant = _participant(source)
        if participant is None:
            return
        laid_out = reading_layout(screen, placement.picture_width_px, placement.picture_height_px)
        layout = ReadingLayout(laid_out.question_px, placement)
        for dwell in read_chart(chart, layout, screen, self._rng):
            look = participant.script.look_at(dwell.x_px, dwell.y_px, time_ns + REACTION_NS, reaction_ns=0)
            time_ns = look.onset_ns + dwell.duration_ns - REACTION_NS


def _participant(source: GazeSource | None) -> SyntheticParticipant | None:
    frames = source.frames if isinstance(source, CameraGaze) else None
    return frames if isinstance(frames, SyntheticParticipant) else None
