"""What a paper has to say of a recording, in sentences: the minimal reporting guideline's points.

References
----------
Dunn, Alexander, Amiebenomo et al. (2023). Minimal reporting guideline for research involving eye tracking.
Behavior Research Methods. 10.3758/s13428-023-02187-1
"""

from __future__ import annotations

import math
from typing import Any

from gazelab import __version__
from gazelab.core.geometry import Screen
from gazelab.pipeline.quality_text import NO_DATA, number, share
from gazelab.pipeline.quality_verdict import Verdict
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.session_concerns import trials_text
from gazelab.pipeline.session_quality import SessionQuality

VALIDATION_COLUMNS = ("target", "accuracy", "RMS-S2S", "SD", "lost", "samples")


def reporting_lines(replay: Replay, quality: SessionQuality) -> list[str]:
    """Give the sentences: device, screen, calibration, data, detectors, exclusions."""
    header = replay.session.header
    source, version = header.source, header.software.get("gazelab", __version__)
    nominal = (
        "no rate promised" if source.nominal_rate_hz is None else f"{source.nominal_rate_hz:g} Hz promised"
    )
    measured = number(quality.median("rate_hz"), "{:.1f} Hz")
    lines = [
        f"Gaze was recorded by gazelab {version} from {source.name} ({source.device or 'no device named'}),"
        f" {nominal}, {measured} measured (median over trials).",
        screen_text(replay.screen),
        *_validations(quality),
        f"In the trials {share(quality.median('data_loss'))} of the samples were lost and"
        f" {share(quality.median('time_loss'))} of the time had no gaze (medians); precision within fixations"
        f" was {both(quality.median('rms_s2s_deg'), quality.median('rms_s2s_px'))} RMS-S2S and"
        f" {both(quality.median('sd_deg'), quality.median('sd_px'))} SD.",
        "Fixations were found "
        + "; ".join(f"{what}: {how}" for what, how in quality.detectors.items())
        + ".",
    ]
    return [*lines, exclusion_text(quality)]


def screen_text(screen: Screen) -> str:
    """Say how large the screen was and how far, and who said so."""
    px = f"The screen had {screen.width_px} x {screen.height_px} px"
    if not screen.has_degrees:
        return f"{px}; its size or distance is unknown, so there are no degrees."
    size = f"{screen.width_mm:.0f} x {screen.height_mm:.0f} mm at {screen.distance_mm:.0f} mm from the eyes"
    return f"{px}, {size} (known from: {screen.size_source})."


def _validations(quality: SessionQuality) -> list[str]:
    if len(quality.calibrations) == 1:
        return [validation_text(quality.calibration)]
    return [f"In {trials_text(made['trials'])}: {validation_text(made)}" for made in quality.calibrations]


def validation_text(calibration: dict[str, Any]) -> str:
    """Say how accurate the calibration was, on targets that it was not made from."""
    if not calibration["calibrated"]:
        return "No calibration of gazelab's was in force."
    found = calibration["validation"]
    if found is None:
        accuracy = both(_nan(calibration["accuracy_deg"]), _nan(calibration["accuracy_px"]))
        return f"The calibration's accuracy on separate validation targets was {accuracy}."
    accuracy, rms, sd = (_of(found, name) for name in ("accuracy", "rms_s2s", "sd"))
    return (
        f"On {len(found['targets'])} separate validation targets the calibration's accuracy was {accuracy},"
        f" its precision {rms} RMS-S2S and {sd} SD, its data loss {share(_nan(found['data_loss']))}, at"
        f" {number(_nan(found['rate_hz']), '{:.1f} Hz')}."
    )


def validation_rows(calibration: dict[str, Any]) -> list[list[str]]:
    """Give one row a validation target in the order of `VALIDATION_COLUMNS`, and the overall one last."""
    found = calibration["validation"]
    if found is None:
        return []
    named = [(str(k), target) for k, target in enumerate(found["targets"], 1)]
    total = sum(int(target["n_samples"] or 0) for target in found["targets"])
    rows = [(name, target, target["n_samples"]) for name, target in named] + [("overall", found, total)]
    return [
        [
            name,
            *(_of(figures, what) for what in ("accuracy", "rms_s2s", "sd")),
            share(_nan(figures["data_loss"])),
            f"{int(n or 0)}",
        ]
        for name, figures, n in rows
    ]


def exclusion_text(quality: SessionQuality) -> str:
    """Say how many trials are excluded, by which criterion or by whom, each counted by its first reason."""
    n, out = len(quality.trials), [report for report in quality.trials if report.excluded]
    if not out:
        return f"None of {n} trials is excluded; {quality.count(Verdict.REVIEW)} are to be looked at."
    why = "; ".join(f"trial {report.trial.index + 1}: {report.reasons[0]}" for report in out)
    return (
        f"{len(out)} of {n} trials are excluded ({why}); {quality.count(Verdict.REVIEW)} are to be looked at."
    )


def both(deg: float, px: float) -> str:
    """Write a length in degrees and px, in px alone without degrees, or "no data"."""
    if not math.isfinite(px):
        return f"{deg:.2f}°" if math.isfinite(deg) else NO_DATA
    return f"{deg:.2f}° ({px:.0f} px)" if math.isfinite(deg) else f"{px:.0f} px"


def _of(figures: dict[str, Any], name: str) -> str:
    return both(_nan(figures[f"{name}_deg"]), _nan(figures[f"{name}_px"]))


def _nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
