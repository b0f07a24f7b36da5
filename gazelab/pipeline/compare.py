"""Person against model on the trials of a session: one map each, scores beside what chance gives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel
from gazelab.attention.trace_parts import head_of, looks_alike
from gazelab.attention.trace_store import load_trace, save_trace, trace_path_of
from gazelab.charts.scoring import Verdict, score
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError, GazelabError, SessionError
from gazelab.metrics.agreement import Agreement, score_map
from gazelab.pipeline.blur import sigma_of
from gazelab.pipeline.keep import keep_fixations, keep_scores
from gazelab.pipeline.layers import Layers
from gazelab.pipeline.map_choice import MapChoice
from gazelab.pipeline.quality_limits import QualityLimits
from gazelab.pipeline.replay import RASTER_COLS, Replay
from gazelab.pipeline.session_quality import (
    SessionQuality,
    TrialReport,
    assess,
    keep_quality,
    quality_inputs,
)
from gazelab.processing.detectors import DEFAULT, detector_named
from gazelab.sessions.trials import Trial

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
T = TypeVar("T")

CEILING_NOTE = "no human ceiling: it takes several readers of the same chart and question"


@dataclass(frozen=True, eq=False)
class TrialComparison:
    """One trial against one model.

    Attributes
    ----------
    trial : Trial
    trace : AttentionTrace
    map : AttentionMap
    agreement : Agreement
        Scores of the map beside the uniform map, the centre prior and a chance interval.
    model_correct, person_correct : Verdict or None
        Of the answers, by the three rules; None without a gold answer or an answer.
    quality : TrialReport or None
        How good its gaze is; None where it was not judged.
    in_means : bool
        Whether means count it: not where the quality's verdict is "exclude", unless all were asked for.
    """

    trial: Trial
    trace: AttentionTrace
    map: AttentionMap
    agreement: Agreement
    model_correct: Verdict | None
    person_correct: Verdict | None
    quality: TrialReport | None = None
    in_means: bool = True

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        return {
            "trial": self.trial.index,
            "chart_id": self.trial.chart_id,
            "question": self.trial.question,
            "trial_skipped": self.trial.skipped,
            "trial_complete": self.trial.complete,
            "gold": self.trial.answer,
            "given": self.trial.given,
            "model": self.trace.model_id,
            "model_revision": self.trace.revision,
            "model_made_with": self.trace.made_with,
            "model_answer": self.trace.answer,
            "person_correct": None if self.person_correct is None else asdict(self.person_correct),
            "model_correct": None if self.model_correct is None else asdict(self.model_correct),
            "picture_share": self.map.picture_share,
            "quality": None if self.quality is None else self.quality.verdict_json(),
            "in_means": self.in_means,
            **self.agreement.to_json(),
        }


@dataclass(frozen=True, slots=True)
class SkippedTrial:
    """A trial that could not be compared, and why; no mean counts it."""

    trial: Trial
    reason: str
    quality: TrialReport | None = None

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        return {
            "trial": self.trial.index,
            "chart_id": self.trial.chart_id,
            "skipped": self.reason,
            "quality": None if self.quality is None else self.quality.verdict_json(),
            "in_means": False,
        }


def score_trial(replay: Replay, trial: Trial, chosen: AttentionMap, n_chance: int = 100) -> Agreement:
    """Score a model's map against the trial's offline fixations on a raster over the whole picture."""
    shape = replay.raster_shape(trial)
    sigma_px, sigma_how = sigma_of(replay, trial)
    xy, duration_ms = replay.fixations_on_picture(trial)
    values = np.full(shape, np.nan)
    if np.isfinite(chosen.values).all():
        values = chosen.grid.paint(chosen.values, *shape)
    header = replay.session.header
    gaze = {
        "source": header.source.name,
        "calibrated": header.calibrated or replay.recalibrated(trial),
        "for_dataset": header.for_dataset,
        "fixations": "offline",
        **replay.detector.how(),
        "gaze": replay.layers,
        "corrections": list(replay.corrections_in(trial)),
    }
    how = {**chosen.how, **sigma_how, **gaze, "raster": list(shape), "ceiling": CEILING_NOTE}
    scale = RASTER_COLS / trial.placement.picture_width_px
    return score_map(values, xy * scale, sigma_px=sigma_px, durations=duration_ms, n_chance=n_chance, how=how)


def trace_for(replay: Replay, trial: Trial, model: AttentionModel) -> AttentionTrace:
    """Give the trace of a trial: the stored one if the model would look the same way today, else a new one.

    The same way: same weights, number type, settings of the processor, prompt, grid and libraries. A new one
    is stored; where that cannot be, as in an archive, it is told in the log and nothing more.
    """
    derived = replay.session.derived
    path = trace_path_of(derived, model.model_id, model.revision, trial.picture_sha256, trial.question)
    if path.exists():
        try:
            kept = load_trace(path)
        except AttentionError:
            pass  # a broken result is made again: derived/ holds nothing that cannot be
        else:
            if looks_alike(head_of(kept), model.head(replay.picture(trial), trial.question)):
                return kept
    trace = model.trace(replay.picture(trial), trial.question)
    try:
        save_trace(derived, trace)
    except AttentionError as fault:
        log.warning("the trace is not kept: %s", fault)
    return trace


def compare_trial(
    replay: Replay,
    trial: Trial,
    trace: AttentionTrace,
    choice: MapChoice,
    n_chance: int = 100,
    model: AttentionModel | None = None,
) -> TrialComparison:
    """Compare one trial with one trace; a method that needs more than that gets it from the model."""
    choice = choice.at_first(trace.made_with)
    if choice.needs_model and model is not None:
        chosen = choice.of_model(model, replay.picture(trial), trial.question, trace)
    else:
        chosen = choice.of(trace)
    agreement = score_trial(replay, trial, chosen, n_chance)
    return TrialComparison(
        trial,
        trace,
        chosen,
        agreement,
        _correct(trial.answer, trace.answer),
        _correct(trial.answer, trial.given),
    )


def compare_sessions(
    paths: Sequence[Path],
    model: AttentionModel,
    choice: MapChoice | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    layers: Layers = "all",
    limits: QualityLimits | None = None,
    all_trials: bool = False,
    detector: str = DEFAULT,
    failed: Callable[[Path, GazelabError], None] | None = None,
) -> Iterator[tuple[Path, TrialComparison | SkippedTrial]]:
    """Compare every trial of some sessions; a broken chart is reported and skipped.

    Fixations and scores of each session are kept in its `derived/` (`gazelab.pipeline.keep`).

    Parameters
    ----------
    paths : sequence of Path
        Session folders.
    model : AttentionModel
    choice : MapChoice, optional
        The mean over all layers, heads and tokens by default; of a model whose card names a head, that head.
    progress : callable, optional
        Called with (done, total, chart_id) before each trial.
    layers : {"all", "live", "raw"}
        Which corrections the gaze has.
    limits : QualityLimits, optional
        What the trials' gaze must come to.
    all_trials : bool
        Count trials in means even where the verdict on their gaze is "exclude".
    detector : str
        What finds the fixations, by its name.
    failed : callable, optional
        Called with a session's path and what is wrong with it, so that the others are compared all the same;
        without it the first such fault is raised.

    Raises
    ------
    AttentionError
        The model has no such layers or heads.
    ConfigError
        There is no such detector here.
    GazelabError
        A session cannot be read, and nothing was given for `failed`.
    """
    chosen = choice or MapChoice()
    chosen.check(model)
    detector_named(detector)
    opened = [(path, _or_told(failed, path, partial(Replay.open, path, layers, detector))) for path in paths]
    replays = [(path, replay) for path, replay in opened if replay is not None]
    total, done = sum(len(replay.trials) for _, replay in replays), 0
    for path, replay in replays:
        rows: list[dict[str, Any]] = []
        quality = _or_told(failed, path, partial(assess, replay, limits))
        if quality is None:
            done += len(replay.trials)
            continue
        for trial, report in zip(replay.trials, quality.trials, strict=True):
            if progress is not None:
                progress(done, total, trial.chart_id)
            done += 1
            result = _compared(replay, trial, model, chosen, report, all_trials)
            rows.append(result.to_json())
            yield path, result
        if rows:
            _keep(replay, model, chosen, rows, quality)


def _or_told(
    failed: Callable[[Path, GazelabError], None] | None, path: Path, do: Callable[[], T]
) -> T | None:
    """Do it with a session; a fault of it is told if there is somebody to tell."""
    try:
        return do()
    except GazelabError as fault:
        if failed is None:
            raise
        failed(path, fault)
        return None


def _compared(
    replay: Replay,
    trial: Trial,
    model: AttentionModel,
    choice: MapChoice,
    report: TrialReport,
    all_trials: bool,
) -> TrialComparison | SkippedTrial:
    try:
        made = compare_trial(replay, trial, trace_for(replay, trial, model), choice, model=model)
    except GazelabError as fault:
        return SkippedTrial(trial, str(fault), report)
    return replace(made, quality=report, in_means=all_trials or not report.excluded)


def _keep(
    replay: Replay,
    model: AttentionModel,
    choice: MapChoice,
    rows: list[dict[str, Any]],
    quality: SessionQuality,
) -> None:
    how = {**asdict(choice), "quality": quality_inputs(replay, quality)}
    try:
        keep_fixations(replay)
        keep_quality(replay, quality)
        keep_scores(replay, model.model_id, model.revision, how, rows)
    except SessionError as fault:
        log.warning("fixations and scores are not kept: %s", fault)


def _correct(gold: str | None, given: str | None) -> Verdict | None:
    return None if gold is None or given is None else score(given, gold)
