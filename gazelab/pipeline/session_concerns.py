"""What holds for a session as a whole: its calibration, and what a reader of its data must know."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.replay import Replay
from gazelab.sessions.files import read_file

log = logging.getLogger(__name__)

MAX_PROFILE_BYTES = 16 * 1024 * 1024


def calibration_in_force(replay: Replay) -> dict[str, Any]:
    """Tell what is known of the calibration in force at the start, JSON-ready; None for what is not."""
    header = replay.session.header
    kept = _profile_record(replay)
    return {
        "calibrated": header.calibrated,
        "for_dataset": header.for_dataset,
        **{
            name: _number(header.profile.get(name))
            for name in ("accuracy_deg", "accuracy_px", "precision_rms_s2s_deg", "precision_sd_deg")
        },
        "profile": header.profile.get("id"),
        "state": _text(kept.get("state")) or None,
        "accepted_with": _text(kept.get("note")),
        "session_note": header.note,
    }


def _profile_record(replay: Replay) -> dict[str, Any]:
    """Read what the session's own copy of the profile says of its procedure; nothing where it has none."""
    copies = replay.session.calibrations()
    wanted = [path for path in copies if path.name == replay.session.header.profile.get("id")]
    for folder in wanted:
        try:
            found = json.loads(read_file(folder / "profile.json", MAX_PROFILE_BYTES))
            record = found["record"]
        except (OSError, SessionError, ValueError, RecursionError, KeyError, TypeError) as fault:
            log.warning("%s: its record is not read (%s)", folder, fault)
            continue
        if isinstance(record, dict):
            return record
    return {}


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
    ok = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if ok else None
