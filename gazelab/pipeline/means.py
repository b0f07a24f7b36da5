"""Scores averaged over trials, told with how many they rest on, and which were left out and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gazelab.core.printable import one_line
from gazelab.metrics.agreement import mean_score
from gazelab.pipeline.compare import SkippedTrial, TrialComparison

ROWS = ("map", "centre", "uniform")
FISHER = ("cc",)
"""Correlations are averaged as Fisher's z."""


@dataclass(frozen=True, slots=True)
class MeanScores:
    """Means of every score over the trials that count.

    Attributes
    ----------
    rows : dict of str to dict of str to float
        "map", "centre", "uniform" → score name → mean over trials; NaN where no trial has it.
    n : dict of str to int
        Score name → how many trials the map's mean rests on.
    n_trials, n_counted : int
        All trials, and those that count: compared, and not left out for their gaze.
    left_out : tuple of str
        One sentence for each of the others, with the reason.
    all_trials : bool
        Whether trials whose gaze is to be excluded were counted all the same.
    failed_sessions : tuple of str
        One sentence for each session that could not be compared at all; `n_trials` has none of its trials.
    """

    rows: dict[str, dict[str, float]]
    n: dict[str, int]
    n_trials: int
    n_counted: int
    left_out: tuple[str, ...]
    all_trials: bool
    failed_sessions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        rows = {
            row: {name: value if math.isfinite(value) else None for name, value in scores.items()}
            for row, scores in self.rows.items()
        }
        return {
            "means": rows,
            "n": self.n,
            "n_trials": self.n_trials,
            "n_counted": self.n_counted,
            "left_out": list(self.left_out),
            "all_trials": self.all_trials,
            "failed_sessions": list(self.failed_sessions),
        }

    @property
    def words(self) -> str:
        """How many trials the means rest on."""
        n_out = self.n_trials - self.n_counted
        out = f"; {n_out} left out" if n_out else ""
        poor = " (those whose gaze is to be excluded count too)" if self.all_trials else ""
        n_failed = len(self.failed_sessions)
        failed = f"; {n_failed} session{'s' * (n_failed != 1)} not compared" if n_failed else ""
        return f"over {self.n_counted} of {self.n_trials} trials{out}{failed}{poor}"


def mean_scores(
    results: Sequence[tuple[str, TrialComparison | SkippedTrial]],
    all_trials: bool = False,
    failed_sessions: Sequence[str] = (),
) -> MeanScores:
    """Average the scores of some trials.

    Parameters
    ----------
    results : sequence of (session id, TrialComparison or SkippedTrial)
    all_trials : bool
        Told in the result; `TrialComparison.in_means` decides.
    failed_sessions : sequence of str
        Told in the result.
    """
    counted = [r for _, r in results if isinstance(r, TrialComparison) and r.in_means]
    names = list(dict.fromkeys(name for r in counted for name in r.agreement.rows["map"]))
    rows = {
        row: {name: mean_score(_values(counted, row, name), fisher=name in FISHER) for name in names}
        for row in ROWS
    }
    n = {name: sum(math.isfinite(v) for v in _values(counted, "map", name)) for name in names}
    out = [
        f"{where} trial {r.trial.index + 1} ({one_line(r.trial.chart_id)}): {one_line(why)}"
        for where, r in results
        if (why := _why(r))
    ]
    return MeanScores(rows, n, len(results), len(counted), tuple(out), all_trials, tuple(failed_sessions))


def _values(results: Sequence[TrialComparison], row: str, name: str) -> list[float]:
    return [r.agreement.rows[row].get(name, math.nan) for r in results]


def _why(result: TrialComparison | SkippedTrial) -> str:
    """Say why a trial does not count; "" for one that does."""
    if isinstance(result, SkippedTrial):
        return result.reason
    if result.in_means:
        return ""
    return "; ".join(result.quality.reasons) if result.quality is not None else "left out"
