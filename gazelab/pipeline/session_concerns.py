"""What holds for a session as a whole: its calibration, and what a reader of its data must know."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.numbers import finite
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.replay import Replay
from gazelab.sessions.files import read_file

log = logging.getLogger(__name__)

MAX_PROFILE_BYTES = 16 * 1024 * 1024
FIGURES = (
    "accuracy_deg",
    "accuracy_px",
    "rms_s2s_deg",
    "rms_s2s_px",
    "sd_deg",
    "sd_px",
    "data_loss",
)
TARGET_FIGURES = (*FIGURES, "n_samples", "x_px", "y_px")


def calibration_in_force(replay: Replay) -> dict[str, Any]:
    """Tell what is known of the calibration in force at the start, JSON-ready; None for what is not."""
    header = replay.session.header
    profile = _profile(replay)
    kept = profile.get("record")
    record = kept if isinstance(kept, dict) else {}
    return {
        "calibrated": header.calibrated,
        "for_dataset": header.for_dataset,
        **{
            name: _number(header.profile.get(name))
            for name in ("accuracy_deg", "accuracy_px", "precision_rms_s2s_deg", "precision_sd_deg")
        },
        "profile": header.profile.get("id"),
        "state": _text(record.get("state")) or None,
        "accepted_with": _text(record.get("note")),
        "validation": _validation(profile.get("validation")),
        "has_head_box": bool(profile.get("head_box")) or bool(replay.gaze()["outside_head_box"].any()),
        "session_note": header.note,
    }


def _profile(replay: Replay) -> dict[str, Any]:
    """Read the session's own copy of the profile in force; empty where it has none that can be read."""
    wanted = replay.session.header.profile.get("id")
    for folder in replay.session.calibrations():
        if folder.name != wanted:
            continue
        try:
            found = json.loads(read_file(folder / "profile.json", MAX_PROFILE_BYTES))
        except (OSError, SessionError, ValueError, RecursionError) as fault:
            log.warning("%s: its profile is not read (%s)", folder, fault)
            continue
        if isinstance(found, dict):
            return found
    return {}


def _validation(found: Any) -> dict[str, Any] | None:
    """Take the figures of a validation, overall and for each target; None where there are none."""
    if not isinstance(found, dict):
        return None
    targets = found.get("targets")
    rows = [_figures(target, TARGET_FIGURES) for target in (targets if isinstance(targets, list) else [])]
    return {**_figures(found, (*FIGURES, "rate_hz")), "targets": rows}


def _figures(found: Any, names: tuple[str, ...]) -> dict[str, float | None]:
    return {name: _number(found.get(name)) if isinstance(found, dict) else None for name in names}


def concerns_of(replay: Replay, calibration: dict[str, Any], limits: QualityLimits) -> list[str]:
    """Say what a reader of the session must know, one sentence each."""
    header = replay.session.header
    found = []
    if not header.calibrated and header.feature_version:
        note = f": {header.note}" if header.note else ""
        found.append(f"recorded without a valid calibration{note}")
    if calibration["state"] and calibration["state"] != "valid":
        found.append(f"the calibration's state is {calibration['state']}")
    if calibration["accepted_with"]:
        found.append(f"the calibration was accepted with a note: {calibration['accepted_with']}")
    accuracy = calibration["accuracy_deg"]
    if accuracy is not None and accuracy > limits.review_accuracy_deg:
        limit = limits.review_accuracy_deg
        found.append(f"the calibration's accuracy is {accuracy:.2f}° (limit {limit:g}°)")
    if not replay.screen.has_degrees:
        found.append("the screen's size or distance is unknown: there are no degrees")
    if not replay.trials:
        found.append("there is no trial: no chart was shown")
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    number = finite(value)
    return number if math.isfinite(number) else None
