"""The quality report as text: a table for the terminal, a file for a spreadsheet, cells for a page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.printable import one_line
from gazelab.pipeline.quality_verdict import Verdict, percent
from gazelab.pipeline.session_concerns import trials_text
from gazelab.pipeline.session_quality import SessionQuality, TrialReport
from gazelab.pipeline.trial_quality import TrialQuality

NO_DATA = "no data"
DRIFT_CHECKS = ("drift_before", "drift_after")
COLUMNS = ("trial", "chart", "s", "Hz", "lost", "blinks", "gap s", "RMS-S2S", "SD", "off screen", "fixations")


def trial_cells(quality: TrialQuality) -> list[str]:
    """Give one trial's figures as text, in the order of `COLUMNS`; the loss is the greater of the two."""
    return [
        str(quality.trial + 1),
        one_line(quality.chart_id),
        f"{quality.duration_s:.1f}",
        number(quality.rate_hz, "{:.1f}"),
        share(quality.loss),
        share(quality.blink_loss),
        f"{quality.longest_gap_s:.2f}",
        precision(quality.rms_s2s_deg, quality.rms_s2s_px),
        precision(quality.sd_deg, quality.sd_px),
        share(quality.off_screen_share),
        str(quality.n_fixations),
    ]


def quality_text(quality: SessionQuality) -> str:
    """Lay the report out for the terminal: a table, the reasons, the summary."""
    rows = [["verdict", *COLUMNS]]
    rows += [[report.verdict.value, *trial_cells(report.quality)] for report in quality.trials]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(w) if k in (0, 2) else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    for report in quality.trials:
        if report.reasons:
            lines.append(
                f"trial {report.trial.index + 1}, {report.verdict}: {one_line('; '.join(report.reasons))}"
            )
    return "\n".join([*lines, *summary_lines(quality)])


def summary_lines(quality: SessionQuality) -> list[str]:
    """Say in a few sentences what holds for the session."""
    counts = ", ".join(
        f"{quality.count(verdict)} {words}"
        for verdict, words in (
            (Verdict.KEEP, "to keep"),
            (Verdict.REVIEW, "to review"),
            (Verdict.EXCLUDE, "to exclude"),
        )
    )
    rate, loss, time = (quality.median(name) for name in ("rate_hz", "data_loss", "time_loss"))
    rms = precision(quality.median("rms_s2s_deg"), quality.median("rms_s2s_px"))
    sd = precision(quality.median("sd_deg"), quality.median("sd_px"))
    lines = [
        f"{len(quality.trials)} trials: {counts}.",
        f"Medians over trials: {number(rate, '{:.1f} Hz')}, {share(loss)} of the samples lost,"
        f" {share(time)} of the time without gaze; precision within fixations {rms} RMS-S2S, {sd} SD.",
        *(f"{said}." for said in calibration_lines(quality)),
        *(f"Corrected: {one_line(said)}" for said in quality.corrections),
    ]
    return [*lines, *(f"concern: {one_line(concern)}" for concern in quality.concerns)]


def calibration_lines(quality: SessionQuality) -> list[str]:
    """Say it of each calibration that a trial's gaze comes from, and of which trials where they differ."""
    if len(quality.calibrations) == 1:
        return [f"Calibration: {calibration_text(quality.calibration)}"]
    return [
        f"Calibration of {trials_text(made['trials'])}: {calibration_text(made)}"
        for made in quality.calibrations
    ]


def calibration_text(calibration: Mapping[str, Any]) -> str:
    """Say in a phrase whether a calibration was in force, and how accurate it was."""
    if not calibration["calibrated"]:
        return "none of gazelab's was in force"
    state = one_line(calibration["state"] or "in force")
    if calibration["recalibrated"]:
        state += ", of a recalibration afterwards"
    accuracy = precision(_nan(calibration["accuracy_deg"]), _nan(calibration["accuracy_px"]))
    return f"{state}, accuracy {accuracy} on its validation targets"


def write_csv(path: Path, quality: SessionQuality) -> Path:
    """Write every figure, one row a trial; what was not measured is left empty.

    Raises
    ------
    SessionError
        It cannot be written.
    """
    out = io.StringIO()
    table = csv.DictWriter(out, _csv_columns(), lineterminator="\n")
    table.writeheader()
    table.writerows(_flat(report, quality.session_id) for report in quality.trials)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(out.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as fault:
        raise SessionError(
            f"the table cannot be written ({fault.strerror}).", where=path, todo="Choose another folder."
        ) from fault
    return path


def number(value: float, form: str) -> str:
    """Write a figure, or "no data": never 0 for what was not measured."""
    return form.format(value) if math.isfinite(value) else NO_DATA


def share(value: float) -> str:
    """Write a share in per cent, or "no data"."""
    return percent(value) if math.isfinite(value) else NO_DATA


def precision(deg: float, px: float) -> str:
    """Write an angle, or px where there are no degrees, or "no data"."""
    return f"{deg:.2f}°" if math.isfinite(deg) else number(px, "{:.0f} px")


def _csv_columns() -> list[str]:
    figures = []
    for name in (f.name for f in fields(TrialQuality)):
        figures += [f"{name}_deg", f"{name}_px"] if name in DRIFT_CHECKS else [name]
    return ["session", "verdict", "judged", *figures, "reasons"]


def _flat(report: TrialReport, session_id: str) -> dict[str, object]:
    row: dict[str, object] = {"session": session_id, "verdict": report.verdict.value}
    row["judged"] = report.judged.verdict.value
    for name, value in report.quality.to_json().items():
        if name in DRIFT_CHECKS:
            row[f"{name}_deg"] = value and value["offset_deg"]
            row[f"{name}_px"] = value and value["offset_px"]
        else:
            row[name] = value
    return {**row, "reasons": "; ".join(report.reasons)}


def _nan(value: float | None) -> float:
    return math.nan if value is None else value
