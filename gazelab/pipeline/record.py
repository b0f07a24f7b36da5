"""Record from a source without a window, for a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gazelab.core.errors import CameraError, StreamError
from gazelab.core.gaze import SourceState
from gazelab.core.geometry import Screen
from gazelab.pipeline.live import Acquisition
from gazelab.processing.features import FEATURE_VERSION
from gazelab.sessions.markers import MarkerKind
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import Clock, GazeSource
from gazelab.sources.camera_gaze import CameraGaze

POLL_S = 0.05
NOT_MEASURED = ("pointer", "synthetic", "recorded")
"""Sources whose samples no eye made just now."""
CHECK_IT = "Check that it is plugged in and that no other program uses it."


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording came to."""

    path: Path
    n_samples: int
    n_valid: int
    seconds: float
    final_state: SourceState


def header_for(
    source: GazeSource,
    screen: Screen,
    participant: str,
    *,
    calibrated: bool = False,
    for_dataset: bool = True,
    **more: Any,
) -> SessionHeader:
    """Make a session's header from its source: device, feature version, model files.

    Whatever the caller says, a session is not for datasets if its gaze is no measurement of a person here and
    now (`NOT_MEASURED`), or if it took a calibration and had none.
    """
    info = source.info
    measured = info.name not in NOT_MEASURED and (calibrated or not info.has_features)
    detail = dict(info.detail)
    return SessionHeader(
        participant,
        screen,
        SourceRecord.of(info),
        calibrated=calibrated,
        for_dataset=for_dataset and measured,
        feature_version=detail.get("feature_version", FEATURE_VERSION) if info.has_features else "",
        model_files={k: v for k, v in info.detail if k.endswith("sha256")},
        **more,
    )


def record_for(
    source: GazeSource,
    writer: SessionWriter,
    screen: Screen,
    seconds: float,
    clock: Clock,
    progress: Callable[[float, int], None] | None = None,
) -> Recorded:
    """Record until `seconds` have passed or the source ends; what was recorded is kept whatever happens.

    Parameters
    ----------
    source : GazeSource
        Open; closed by the caller.
    writer : SessionWriter
        Open; closed by the caller.
    screen : Screen
    seconds : float
        On the samples' clock, plus the time since the last sample: a file is read as fast as it goes.
    clock : callable
        The session's clock, ns.
    progress : callable, optional
        Called with (seconds so far, samples so far).

    Raises
    ------
    CameraError, StreamError
        The source gave nothing at all, or was lost and did not come back.
    SessionError
        The session cannot be written, such as on a full disk.
    """
    acquisition = Acquisition(source, screen)
    acquisition.add_sink(writer)
    state = SourceState.IDLE
    start_ns = last_ns = last_clock_ns = clock()
    while (elapsed_ns := last_ns - start_ns + clock() - last_clock_ns) < seconds * 1e9:
        if acquisition.pump(POLL_S):
            last_ns, last_clock_ns = acquisition.newest_ns, clock()
        if source.state is not state:
            state = source.state
            now_ns = last_ns + clock() - last_clock_ns  # a file's stamps run ahead of the clock
            writer.marker({"kind": MarkerKind.SOURCE_STATE, "time_ns": now_ns, "state": state.value})
        if state in (SourceState.ENDED, SourceState.ERROR):
            break
        if progress is not None:
            progress(elapsed_ns / 1e9, acquisition.count)
    if acquisition.count == 0:
        raise _fault(source, f"gave no sample in {seconds:g} s.", CHECK_IT)
    if state in (SourceState.LOST, SourceState.ERROR):
        why = source.reason if isinstance(source, CameraGaze) else ""
        kept = f"What was recorded until then is kept in {writer.path}."
        raise _fault(source, why or f"was lost and did not come back. {CHECK_IT}", kept)
    return Recorded(writer.path, acquisition.count, acquisition.n_valid, (last_ns - start_ns) / 1e9, state)


def _fault(source: GazeSource, what: str, todo: str) -> CameraError | StreamError:
    kind = StreamError if source.info.name in ("lsl", "tobii") else CameraError
    return kind(what, where=source.info.device, todo=todo)
