"""A recording study without a window: which chart is on, what was answered, and the markers that say so."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gazelab.charts.item import ChartItem
from gazelab.core.errors import SessionError
from gazelab.core.geometry import Placement
from gazelab.core.picture import Picture
from gazelab.pipeline.drift import Decision, DriftOutcome
from gazelab.pipeline.live import Acquisition
from gazelab.sessions.markers import MarkerKind
from gazelab.sessions.writer import SessionWriter


class StudyState(StrEnum):
    """Where a study stands."""

    READY = "ready"
    SHOWING = "showing"
    DONE = "done"
    ABORTED = "aborted"


class RecordingStudy:
    """Show charts one by one, record gaze on them, and write each step as a marker.

    Times are passed in, so that a test runs a whole study in milliseconds.

    Parameters
    ----------
    charts : sequence of ChartItem
        In the order of showing.
    writer : SessionWriter
        Open; the study writes markers and stimuli, the acquisition writes samples.
    acquisition : Acquisition
        Its sink is `writer`. A correction from before is dropped: each study begins with gaze as measured.
    """

    def __init__(self, charts: Sequence[ChartItem], writer: SessionWriter, acquisition: Acquisition) -> None:
        if not charts:
            raise SessionError("there is no chart to show.", todo="Choose a folder with charts.")
        self.charts = tuple(charts)
        self.writer = writer
        self.acquisition = acquisition
        self.state = StudyState.READY
        self.index = 0
        self.broken: list[str] = []
        self._picture: Picture | None = None
        acquisition.drop_corrections()

    @property
    def current(self) -> ChartItem | None:
        """The chart that is on, or comes next; None when all are done."""
        return self.charts[self.index] if self.index < len(self.charts) else None

    def prepare(self) -> Picture:
        """Load the current chart's picture and store it in the session, before it is shown.

        Raises
        ------
        PictureError
            The chart is no picture; `skip_broken` goes on to the next.
        """
        chart = self._need(StudyState.READY)
        self._picture = chart.picture()
        self.writer.stimulus(self._picture)
        return self._picture

    def skip_broken(self, time_ns: int, reason: str) -> None:
        """Go past a chart that cannot be shown; the reason is written, and kept in `broken`."""
        chart = self._need(StudyState.READY)
        self.broken.append(reason)
        self.event(MarkerKind.NOTE, time_ns, text=f"chart {chart.chart_id} was skipped: {reason}")
        self._next()

    def show(self, placement: Placement, time_ns: int) -> None:
        """Mark the prepared chart as on screen since `time_ns` at `placement` (stamp it at the swap)."""
        chart = self._need(StudyState.READY)
        picture = self._picture or self.prepare()
        self.state = StudyState.SHOWING
        self.acquisition.begin_trial(placement, time_ns)
        self.event(
            MarkerKind.STIMULUS_ON,
            time_ns,
            chart_id=chart.chart_id,
            question=chart.question,
            answer=chart.answer,
            picture_sha256=picture.sha256,
            placement=placement,
        )

    def moved(self, placement: Placement, time_ns: int) -> None:
        """Write that the chart's rectangle changed while it was on (a resize, another monitor)."""
        self._need(StudyState.SHOWING)
        self.acquisition.move_stimulus(placement)
        self.event(MarkerKind.STIMULUS_MOVED, time_ns, placement=placement)

    def answer(self, given: str, time_ns: int) -> None:
        """Write the answer, take the chart off and go on to the next."""
        self._need(StudyState.SHOWING)
        self.event(MarkerKind.ANSWER, time_ns, given=given)
        self._off(time_ns)

    def skip(self, time_ns: int, reason: str) -> None:
        """Take the chart off without an answer; the trial stays, marked as skipped."""
        self._need(StudyState.SHOWING)
        self._off(time_ns, skipped=True, reason=reason)

    def abort(self, time_ns: int) -> None:
        """Stop here; what was recorded stays. Does nothing once the study has ended."""
        if self.state in (StudyState.DONE, StudyState.ABORTED):
            return
        if self.state is StudyState.SHOWING:
            self._off(time_ns, skipped=True, reason="aborted")
        self.state = StudyState.ABORTED
        self.event(MarkerKind.NOTE, time_ns, text="the study was stopped before its end")

    def drift_check(self, outcome: DriftOutcome, time_ns: int) -> None:
        """Write what a drift check between trials came to, and put its correction in force.

        The samples go to disk as measured, whatever it says; the marker holds what the live view adds.
        """
        self._need(StudyState.READY)
        if outcome.decision is Decision.CORRECTED:
            time_ns = self.acquisition.correct(*outcome.correction_px, time_ns)
        self.event(MarkerKind.DRIFT_CHECK, time_ns, **outcome.to_mapping())

    def event(self, kind: MarkerKind, time_ns: int, **more: object) -> None:
        """Write a marker of any kind (focus_lost, pause, note, …) with the place in the study."""
        self.writer.marker({"kind": kind, "time_ns": time_ns, "order": self.index, **more})

    def _off(self, time_ns: int, **more: object) -> None:
        self.event(MarkerKind.STIMULUS_OFF, time_ns, **more)
        self.acquisition.end_trial(time_ns)
        self._next()

    def _next(self) -> None:
        self._picture = None
        self.index += 1
        self.state = StudyState.READY if self.index < len(self.charts) else StudyState.DONE

    def _need(self, state: StudyState) -> ChartItem:
        chart = self.current
        if self.state is not state or chart is None:
            raise SessionError(f"the study is {self.state.value}, not {state.value}.")
        return chart
