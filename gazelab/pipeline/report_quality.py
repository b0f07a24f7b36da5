"""The quality section of the HTML report: the session in a few sentences, one row a trial, the limits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gazelab.pipeline.quality_text import COLUMNS, summary_lines, trial_cells
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.reporting import VALIDATION_COLUMNS, reporting_lines, validation_rows
from gazelab.pipeline.session_concerns import trials_text
from gazelab.pipeline.session_quality import SessionQuality, TrialReport

MARKS = {"keep": "✓", "review": "?", "exclude": "✕"}


def quality_section(replay: Replay, quality: SessionQuality) -> dict[str, Any]:
    """Give what the page shows of a session's quality, JSON-ready."""
    several = len(quality.calibrations) > 1
    limits = ", ".join(
        f"{name.replace('_', ' ')} {value:g}" for name, value in asdict(quality.limits).items()
    )
    return {
        "lines": summary_lines(quality),
        "columns": ["verdict", *COLUMNS, "why"],
        "rows": [
            {
                "verdict": report.verdict.value,
                "cells": [
                    verdict_text(report),
                    *trial_cells(report.quality),
                    "; ".join(report.reasons) or "–",
                ],
            }
            for report in quality.trials
        ],
        "validation": {
            "columns": list(VALIDATION_COLUMNS),
            "rows": [row for made in quality.calibrations for row in _validated(made, several)],
        },
        "to_report": reporting_lines(replay, quality),
        "note": "A trial to exclude is left out of means, with its reasons, and shown all the same.",
        "limits": f"Beyond these a trial is to be looked at or excluded (shares are 0 to 1): {limits}.",
    }


def _validated(calibration: dict[str, Any], several: bool) -> list[list[str]]:
    """Give a calibration's rows; where there are several, each says of which trials."""
    rows = validation_rows(calibration)
    of = f"{trials_text(calibration['trials'])}: " if several else ""
    return [[f"{of}{name}", *cells] for name, *cells in rows]


def verdict_text(report: TrialReport) -> str:
    """Write a verdict so that it can be read without its colour."""
    return f"{MARKS[report.verdict.value]} {report.verdict.value}"
