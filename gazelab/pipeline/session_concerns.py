"""What holds for a session as a whole: its calibration, and what a reader of its data must know."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.numbers import finite
from gazelab.core.printable import one_line
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


def calibrations_in_force(replay: Replay) -> list[dict[str, Any]]:
    """Tell what is known of each calibration that a trial's gaze comes from, in the order of their trials.

    Returns
    -------
    list of dict
        JSON-ready, None for what is not known; `trials` are the places of its trials, from 0. At least one:
        without a trial, that of the recording.
    """
    found: dict[tuple[bool, str], dict[str, Any]] = {}
    for trial in replay.trials:
        recalibrated, facts = replay.recalibrated(trial), replay.calibration(trial)
        key = (recalibrated, str(facts.get("id")))
        if key not in found:
            found[key] = _calibration(replay, facts, recalibrated)
        found[key]["trials"].append(trial.index)
    return list(found.values()) or [_calibration(replay, replay.session.header.profile, False)]


def _calibration(replay: Replay, facts: Mapping[str, Any], recalibrated: bool) -> dict[str, Any]:
    header = replay.session.header
    profile = _profile(replay, facts.get("id"))
    flagged = not recalibrated and bool(replay.session.gaze()["outside_head_box"].any())
    kept = profile.get("record")
    record = kept if isinstance(kept, dict) else {}
    return {
        "calibrated": header.calibrated or recalibrated,
        "recalibrated": recalibrated,
        "for_dataset": header.for_dataset,
        **{
            name: _number(facts.get(name))
            for name in ("accuracy_deg", "accuracy_px", "precision_rms_s2s_deg", "precision_sd_deg")
        },
        "profile": facts.get("id"),
        "state": _text(record.get("state")) or None,
        "accepted_with": _text(record.get("note")),
        "validation": _validation(profile.get("validation")),
        "has_head_box": bool(profile.get("head_box")) or flagged,
        "session_note": header.note,
        "trials": [],
    }


def _profile(replay: Replay, wanted: Any) -> dict[str, Any]:
    """Read the session's own copy of a profile; empty where it has none that can be read."""
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


def concerns_of(replay: Replay, calibrations: Sequence[dict[str, Any]], limits: QualityLimits) -> list[str]:
    """Say what a reader of the session must know, one sentence each."""
    found = []
    for calibration in calibrations:
        where = f"{trials_text(calibration['trials'])}: " if len(calibrations) > 1 else ""
        found += [where + said for said in _of_calibration(replay, calibration, limits)]
    if not replay.screen.has_degrees:
        found.append("the screen's size or distance is unknown: there are no degrees")
    if not replay.trials:
        found.append("there is no trial: no chart was shown")
    return found


def _of_calibration(replay: Replay, calibration: dict[str, Any], limits: QualityLimits) -> list[str]:
    found, header = [], replay.session.header
    if not calibration["calibrated"] and header.feature_version:
        note = f": {one_line(header.note)}" if header.note else ""
        found.append(f"recorded without a valid calibration{note}")
    if calibration["state"] and calibration["state"] != "valid":
        found.append(f"the calibration's state is {one_line(calibration['state'])}")
    if calibration["accepted_with"]:
        found.append(f"the calibration was accepted with a note: {one_line(calibration['accepted_with'])}")
    accuracy, limit = calibration["accuracy_deg"], limits.review_accuracy_deg
    if accuracy is not None and accuracy > limit:
        found.append(f"the calibration's accuracy is {accuracy:.2f}° (limit {limit:g}°)")
    return found


def trials_text(indices: Sequence[int]) -> str:
    """Name some trials, counted from 1, neighbours as a range."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and parts[-1][-1] == index - 1:
            parts[-1][1:] = [index]
        else:
            parts.append([index])
    ranges = ", ".join("-".join(str(index + 1) for index in part) for part in parts)
    return f"trial{'s' * (len(indices) != 1)} {ranges}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    number = finite(value)
    return number if math.isfinite(number) else None
