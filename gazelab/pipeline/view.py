"""The one place where samples and fixations become what a canvas draws, live and replayed alike."""

from __future__ import annotations

from gazelab.core.gaze import EventArray, GazeArray, GazeView, SourceState, empty_events
from gazelab.core.geometry import Placement
from gazelab.processing.quality import measured_rate_hz


def build_view(
    time_ns: int,
    samples: GazeArray,
    fixations: EventArray | None,
    placement: Placement | None,
    state: SourceState,
    tail_ns: int,
) -> GazeView:
    """Cut the tail of the samples and measure its rate and loss.

    Parameters
    ----------
    time_ns : int
        The moment to draw, on the session's clock.
    samples : numpy.ndarray, shape (n,), GAZE_DTYPE
        Any samples; those after `time_ns` or older than `tail_ns` are left out.
    fixations : numpy.ndarray, EVENT_DTYPE, or None
    placement : Placement or None
    state : SourceState
    tail_ns : int
        How far to look back.
    """
    stamps = samples["time_ns"]
    tail = samples[(stamps <= time_ns) & (stamps > time_ns - tail_ns)]
    loss = float(1.0 - tail["valid"].mean()) if len(tail) else float("nan")
    rate = measured_rate_hz(tail["time_ns"])
    return GazeView(
        time_ns, tail, empty_events() if fixations is None else fixations, placement, state, rate, loss
    )
