"""Run a calibration from a source, with or without a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gazelab.calibration.procedure import RUNNING, CalibrationProcedure
from gazelab.calibration.profile import Profile, SourceBinding
from gazelab.calibration.result import CalibrationResult
from gazelab.calibration.targets import Target
from gazelab.core.errors import CalibrationError
from gazelab.core.gaze import SourceState
from gazelab.processing.features import FEATURE_VERSION
from gazelab.sources.base import Clock, GazeSource

POLL_S = 0.05


def binding_of(source: GazeSource) -> SourceBinding:
    """Tell what a calibration from this source is bound to: of a recorded session, what it was made with."""
    info = source.info
    detail = dict(info.detail)
    return SourceBinding(
        detail.get("recorded_with", info.name),
        detail.get("recorded_device", info.device),
        detail.get("feature_version", FEATURE_VERSION),
        detail.get("model_sha256", ""),
    )


def run_calibration(
    source: GazeSource,
    procedure: CalibrationProcedure,
    clock: Clock,
    on_target: Callable[[Target, int], None],
    progress: Callable[[int, int], None] | None = None,
) -> CalibrationResult:
    """Feed an open source's readings to a procedure until it has come to an end.

    Parameters
    ----------
    source : GazeSource
        Open, with features.
    procedure : CalibrationProcedure
    clock : callable
        The clock of the samples' `time_ns`.
    on_target : callable
        Called with (target, time_ns) when a new target appears: show it, or tell a synthetic participant.
    progress : callable, optional
        Called with (targets done, targets in all).

    Raises
    ------
    CalibrationError
        The source has no features, or ended or was lost before the end.
    """
    if not source.info.has_features:
        raise CalibrationError(
            f"{source.info.name} measures gaze by itself and takes no calibration here.",
            where=source.info.device,
            todo="Record with it as it is, or calibrate on the device.",
        )
    total = procedure.n_to_show()
    shown: Target | None = None
    done = 0
    procedure.start(clock())
    while procedure.state in RUNNING:
        target = procedure.current_target
        if target is not None and target != shown:
            on_target(target, clock())
            shown = target
            if progress is not None:
                progress(done, total)
            done += 1
        readings = source.read(POLL_S)
        for reading in readings:
            procedure.add(reading.features, int(reading.sample["time_ns"]))
        if not readings:
            if source.state in (SourceState.ENDED, SourceState.ERROR):
                raise CalibrationError(
                    f"the source ended after {done} of {total} targets.",
                    where=source.info.device,
                    todo="Calibrate again with a source that goes on.",
                )
            procedure.tick(clock())
    return procedure.result()


def profile_facts(profile: Profile, profile_id: str) -> dict[str, Any]:
    """Give what a session's header says of the calibration in force, JSON-ready."""
    v = profile.validation.to_mapping()
    return {
        "id": profile_id,
        "created_utc": profile.created_utc,
        "accuracy_deg": v["accuracy_deg"],
        "accuracy_px": v["accuracy_px"],
        "precision_rms_s2s_deg": v["rms_s2s_deg"],
        "precision_sd_deg": v["sd_deg"],
        "data_loss": v["data_loss"],
        "rate_hz": v["rate_hz"],
        "n_validation_targets": len(profile.validation.targets),
    }


def refusal(result: CalibrationResult) -> CalibrationError:
    """Make the error of a calibration that is not valid, with its reasons."""
    reasons = " ".join(f.message for f in result.findings) or "It was stopped."
    return CalibrationError(f"the calibration is {result.state.value}: {reasons}", todo="Calibrate again.")
