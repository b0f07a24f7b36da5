"""A drift check in words, for the operator and for the participant."""

from __future__ import annotations

import math

from PyQt6.QtCore import QCoreApplication

from gazelab.pipeline.drift import Decision, DriftOutcome


def outcome_text(outcome: DriftOutcome) -> str:
    """Say for the operator what a check came to."""
    text = {
        Decision.FINE: _tr("Drift check: {far} off, nothing to correct."),
        Decision.CORRECTED: _tr("Drift check: {far} off, corrected from here on. What is stored stays raw."),
        Decision.RECALIBRATE: _tr("Drift check: {why}. Calibrate again."),
        Decision.OVERRIDDEN: _tr("Drift check: {why}; went on all the same."),
        Decision.SKIPPED: _tr("Drift check skipped."),
    }[outcome.decision]
    return text.format(far=distance_text(outcome), why=reason_text(outcome))


def short_text(outcome: DriftOutcome) -> str:
    """Say it in a few words, for a line that stays while the next chart is read."""
    text = {
        Decision.FINE: _tr("Drift {far}: fine"),
        Decision.CORRECTED: _tr("Drift {far}: corrected"),
        Decision.RECALIBRATE: _tr("Drift: {why}; calibrate again"),
        Decision.OVERRIDDEN: _tr("Drift: {why}; went on all the same"),
        Decision.SKIPPED: _tr("Drift check skipped"),
    }[outcome.decision]
    return text.format(far=distance_text(outcome), why=reason_text(outcome))


def role_of(outcome: DriftOutcome) -> str:
    """Give the colour in which that is said."""
    bad = outcome.decision in (Decision.RECALIBRATE, Decision.OVERRIDDEN)
    return "warn" if bad else "good"


def distance_text(outcome: DriftOutcome) -> str:
    """Say how far off the gaze was, in degrees or, without a screen's size, in px."""
    if math.isfinite(outcome.offset_deg):
        return _tr("{deg:.1f}°").format(deg=outcome.offset_deg)
    px = math.hypot(*outcome.offset_px)
    return _tr("{px:.0f} px").format(px=px) if math.isfinite(px) else _tr("an unknown distance")


def reason_text(outcome: DriftOutcome) -> str:
    """Say why nothing was corrected, and how far off the gaze was if that is known."""
    why = QCoreApplication.translate("DriftCheck", outcome.reason)
    if not math.isfinite(math.hypot(*outcome.offset_px)):
        return why
    return _tr("{why} ({far} off)").format(why=why, far=distance_text(outcome))


def _tr(text: str) -> str:
    return QCoreApplication.translate("DriftStep", text)
