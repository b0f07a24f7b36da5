"""A session's quality report: every trial's figures and verdict, a person's decisions, and the summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gazelab import __version__
from gazelab.core.printable import one_line
from gazelab.pipeline.keep import fixation_inputs
from gazelab.pipeline.measure_trial import IVT, SEGMENTATION, measure_trial
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.quality_verdict import Judgement, Verdict, judge
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.session_concerns import calibrations_in_force, concerns_of
from gazelab.pipeline.trial_quality import TrialQuality
from gazelab.processing.blinks import PAD_S, blink_mask
from gazelab.sessions.derived import inputs_sha256, save_arrays, save_json
from gazelab.sessions.exclusions import Decision, decide, decisions
from gazelab.sessions.trials import Trial

QUALITY, BLINKS = "quality", "blinks"
MEDIANS = (
    "rate_hz",
    "data_loss",
    "time_loss",
    "longest_gap_s",
    "blink_loss",
    "off_screen_share",
    "rms_s2s_deg",
    "rms_s2s_px",
    "sd_deg",
    "sd_px",
    "n_fixations",
)


@dataclass(frozen=True, slots=True)
class TrialReport:
    """One trial: what was measured, what the limits say of it, and what a person decided.

    Attributes
    ----------
    trial : Trial
    quality : TrialQuality
    judged : Judgement
        By the limits.
    decision : Decision or None
        In force instead of it.
    """

    trial: Trial
    quality: TrialQuality
    judged: Judgement
    decision: Decision | None = None

    @property
    def verdict(self) -> Verdict:
        """What is done with the trial."""
        by_hand = None if self.decision is None else self.decision.verdict
        return self.judged.verdict if by_hand is None else Verdict(by_hand)

    @property
    def excluded(self) -> bool:
        """Whether means leave it out."""
        return self.verdict is Verdict.EXCLUDE

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in words; a person's reason first."""
        if self.decision is None:
            return self.judged.words
        said = f"decided by hand (the limits say {self.judged.verdict}): {one_line(self.decision.reason)}"
        return (said, *self.judged.words)

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        return {
            **self.verdict_json(),
            "question": self.trial.question,
            "figures": self.quality.to_json(),
            "decision": None if self.decision is None else asdict(self.decision),
        }

    def verdict_json(self) -> dict[str, Any]:
        """Give the verdict alone, JSON-ready, as it stands beside scores."""
        return {
            "trial": self.trial.index,
            "chart_id": self.trial.chart_id,
            "verdict": self.verdict.value,
            "judged": self.judged.verdict.value,
            "overridden": self.decision is not None,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class SessionQuality:
    """The whole report.

    Attributes
    ----------
    session_id : str
    trials : tuple of TrialReport
    limits : QualityLimits
    calibrations : tuple of dict
        Those that the trials' gaze comes from, at least one: `trials`, `calibrated`, their figures, `state`.
    concerns : tuple of str
        What holds for the session as a whole.
    detectors : dict of str to str
        What the fixations were found with.
    corrections : tuple of str
        Of the gaze that was measured, one sentence each.
    """

    session_id: str
    trials: tuple[TrialReport, ...]
    limits: QualityLimits
    calibrations: tuple[dict[str, Any], ...]
    concerns: tuple[str, ...]
    detectors: dict[str, str]
    corrections: tuple[str, ...] = ()

    @property
    def calibration(self) -> dict[str, Any]:
        """The first trial's."""
        return self.calibrations[0]

    def count(self, verdict: Verdict) -> int:
        """Count the trials with a verdict."""
        return sum(report.verdict is verdict for report in self.trials)

    @property
    def word(self) -> str:
        """One word for a list: good, review or poor (half of the trials or more are to be excluded)."""
        if self.trials and 2 * self.count(Verdict.EXCLUDE) >= len(self.trials):
            return "poor"
        return "good" if self.count(Verdict.KEEP) == len(self.trials) and not self.concerns else "review"

    def median(self, name: str) -> float:
        """Median of a figure over the trials that have it; NaN where none has."""
        values = [float(getattr(report.quality, name)) for report in self.trials]
        finite = [value for value in values if math.isfinite(value)]
        return float(np.median(finite)) if finite else math.nan

    def summary(self) -> dict[str, Any]:
        """Give what holds for the session, JSON-ready."""
        medians = {name: self.median(name) for name in MEDIANS}
        return {
            "word": self.word,
            "n_trials": len(self.trials),
            **{f"n_{verdict}": self.count(verdict) for verdict in Verdict},
            "n_decided_by_hand": sum(report.decision is not None for report in self.trials),
            "median": {name: value if math.isfinite(value) else None for name, value in medians.items()},
            "calibration": self.calibration,
            "calibrations": list(self.calibrations),
            "concerns": list(self.concerns),
            "detectors": self.detectors,
            "corrections": list(self.corrections),
        }

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        return {
            "session": self.session_id,
            "gazelab": __version__,
            "limits": asdict(self.limits),
            "summary": self.summary(),
            "trials": [report.to_json() for report in self.trials],
        }


def assess(replay: Replay, limits: QualityLimits | None = None) -> SessionQuality:
    """Measure and judge every trial of a session.

    Raises
    ------
    SessionError
        The samples, the markers or the decisions cannot be read.
    """
    chosen = limits or QualityLimits()
    by_hand, problems = decisions(replay.session.path, replay.trials)
    calibrations = calibrations_in_force(replay)
    has_box = {index: made["has_head_box"] for made in calibrations for index in made["trials"]}
    reports = []
    for trial in replay.trials:
        measured = measure_trial(replay, trial, chosen.low_confidence, has_box[trial.index])
        reports.append(TrialReport(trial, measured, judge(measured, chosen), by_hand.get(trial.index)))
    concerns = (*concerns_of(replay, calibrations, chosen), *problems, *replay.session.report)
    return SessionQuality(
        replay.session.session_id,
        tuple(reports),
        chosen,
        tuple(calibrations),
        concerns,
        detectors=_detectors(reports),
        corrections=replay.corrections,
    )


def decide_trial(
    replay: Replay, quality: SessionQuality, index: int, verdict: str | None, reason: str
) -> SessionQuality:
    """Decide about a trial against the limits, or take a decision back; nothing is measured anew.

    Parameters
    ----------
    replay : Replay
    quality : SessionQuality
    index : int
        The trial's place.
    verdict : str or None
        "keep", "review", "exclude", or None for what the limits say.
    reason : str
        In words; needed for a verdict.

    Raises
    ------
    SessionError
        No reason, or it cannot be written.
    """
    judged = quality.trials[index].judged.verdict.value
    decide(replay.session.path, replay.trials[index], verdict, reason, judged)
    by_hand, _ = decisions(replay.session.path, replay.trials)
    trials = tuple(replace(report, decision=by_hand.get(report.trial.index)) for report in quality.trials)
    return replace(quality, trials=trials)


def keep_quality(replay: Replay, quality: SessionQuality) -> Path:
    """Write `derived/quality.json`, and beside it each sample's blinks (`blinks.npz`).

    Arrays of the latter, one row a sample of gaze.bin: `shut`, and `spoilt` with the padding; `pad_s`. Of
    gaze with some of its corrections left out, the report is written as `quality_<layers>.json`.

    Raises
    ------
    SessionError
        It cannot be written.
    """
    gaze = replay.session.gaze()
    shut = gaze["blink"].astype(bool)
    arrays = {"shut": shut, "spoilt": blink_mask(gaze["time_ns"], shut), "pad_s": np.array(PAD_S)}
    derived = replay.session.derived
    save_arrays(derived, BLINKS, arrays, inputs_sha256(gaze["time_ns"], shut, PAD_S, __version__))
    name = QUALITY if replay.layers == "all" else f"{QUALITY}_{replay.layers}"
    return save_json(derived, name, quality.to_json(), quality_inputs(replay, quality))


def quality_inputs(replay: Replay, quality: SessionQuality) -> str:
    """Hash what a report is made from: samples and their corrections, trials, markers, limits, decisions."""
    by_hand = [report.decision and asdict(report.decision) for report in quality.trials]
    return inputs_sha256(
        fixation_inputs(replay),
        replay.session.features()[["time_ns", "n_faces"]].copy(),
        replay.session.markers(),
        asdict(quality.limits),
        by_hand,
    )


def _detectors(reports: Sequence[TrialReport]) -> dict[str, str]:
    """Say what found the fixations; the offline one follows each trial's rate and noise."""
    counts = Counter(report.quality.detector for report in reports)
    offline = ", ".join(f"{name} in {n} trial{'s' * (n != 1)}" for name, n in counts.most_common())
    chosen = " (chosen by rate and noise)" if set(counts) <= {IVT, SEGMENTATION} else ""
    return {
        "for scores": f"offline, {offline or 'none'}{chosen}",
        "in the live view": "online, causal",
    }
