"""One HTML file that shows a session beside a model's attention: pictures, scrubber and scores inside it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab import __version__
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import SessionError
from gazelab.core.numbers import finite
from gazelab.core.picture import encode_png, encode_rgba_png
from gazelab.core.printable import one_line
from gazelab.metrics.agreement import Agreement
from gazelab.pipeline.blur import sigma_of
from gazelab.pipeline.compare import SkippedTrial, TrialComparison
from gazelab.pipeline.means import MeanScores, mean_scores
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.report_quality import quality_section, verdict_text
from gazelab.pipeline.session_quality import SessionQuality, TrialReport, assess
from gazelab.sessions.trials import Trial

MAX_HEADS_SHOWN = 64
PERSON_RGB = (11, 110, 138)
SCORE_NAMES = (
    ("nss", "NSS"),
    ("cc", "CC"),
    ("sim", "SIM"),
    ("kld", "KLD"),
    ("auc", "AUC"),
    ("ig_bits", "IG (bits)"),
)
ROW_NAMES = (("map", "model"), ("centre", "centre prior"), ("uniform", "uniform"))

Result = TrialComparison | SkippedTrial


def write_report(
    path: Path,
    replay: Replay,
    results: Sequence[Result],
    title: str,
    quality: SessionQuality | None = None,
) -> Path:
    """Write the report of a session.

    Parameters
    ----------
    path : Path
        The HTML file; replaced if it is there.
    replay : Replay
    results : sequence of TrialComparison or SkippedTrial
        In the order of the trials.
    title : str
    quality : SessionQuality, optional
        Of the same session; by default with the limits' defaults.

    Returns
    -------
    Path

    Raises
    ------
    SessionError
        It cannot be written.
    """
    template = (files("gazelab.pipeline") / "report_template.html").read_text("utf-8")
    data = json.dumps(report_data(replay, results, title, quality), ensure_ascii=False, allow_nan=False)
    # "<" inside a script element could end it; the escape is the same text to JSON.
    page = template.replace("__DATA__", data.replace("<", "\\u003c"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page.encode("utf-8", "backslashreplace"))
    except OSError as fault:
        raise SessionError(
            f"the report cannot be written ({fault.strerror}).", where=path, todo="Choose another folder."
        ) from fault
    return path


def report_data(
    replay: Replay, results: Sequence[Result], title: str, quality: SessionQuality | None = None
) -> dict[str, Any]:
    """Give everything the page shows, JSON-ready."""
    header = replay.session.header
    compared = [r for r in results if isinstance(r, TrialComparison)]
    models = sorted({r.trace.model_id for r in compared})
    skipped = [f"{r.trial.chart_id}: {r.reason}" for r in results if isinstance(r, SkippedTrial)]
    notes = [*replay.session.report, *skipped, *replay.corrections]
    means = mean_scores([(replay.session.session_id, r) for r in results])
    if not results:
        notes.append("there is no trial: nothing to compare")
    return {
        "title": title,
        "subtitle": f"session {replay.session.session_id}, participant {header.participant}, source"
        f" {header.source.name}; model {', '.join(models) or 'none'}; gazelab {__version__}",
        "facts": _facts(replay),
        "quality_note": "; ".join(notes)
        if notes
        else "The session was closed in order; nothing was repaired.",
        "quality": quality_section(replay, quality or assess(replay)),
        "means": asdict(means_table(means)),
        "trials": [_trial(replay, r) for r in compared],
    }


@dataclass(frozen=True)
class ScoreTable:
    """Scores as text: column heads, rows, and what one must know to read them."""

    columns: list[str]
    rows: list[list[str]]
    note: str


def score_table(agreement: Agreement) -> ScoreTable:
    """Lay out an agreement as a table of text: the model, its baselines, and the chance interval."""
    columns = ["", *(label for _, label in SCORE_NAMES)]
    rows = [
        [label, *(_text(agreement.rows[key].get(name)) for name, _ in SCORE_NAMES)]
        for key, label in ROW_NAMES
    ]
    if agreement.chance:
        spans = [agreement.chance.get(name) for name, _ in SCORE_NAMES]
        cells = ["–" if s is None else f"{_text(s[0])} to {_text(s[1])}" for s in spans]
        rows.append(["chance, middle 95 %", *cells])
    how = agreement.how
    sigma = f"{how['sigma_deg']:.2f}°" if "sigma_deg" in how else str(how.get("sigma", ""))
    reasons = "; ".join(f"{row} {k}: {why}" for row, r in agreement.undefined.items() for k, why in r.items())
    note = (
        f"{agreement.n_fixations} fixations on the chart, {agreement.n_dropped} off it and left out."
        f" Density sigma {sigma}. KLD: lower is closer; all others: higher."
        f" {str(how['ceiling']).capitalize()}."
    )
    corrections = how.get("corrections")
    if isinstance(corrections, list) and corrections:
        note += f" Gaze corrected by: {'; '.join(map(str, corrections))}."
    if how.get("for_dataset") is False:
        note += f" Gaze of the source {how['source']}: not for datasets."
    return ScoreTable(columns, rows, f"{note} Undefined: {reasons}." if reasons else note)


def means_table(means: MeanScores) -> ScoreTable:
    """Lay out means as a table of text: how many trials each rests on, and what was left out and why."""
    names = [(name, text) for name, text in SCORE_NAMES if name in means.rows["map"]]
    columns = ["", *(text for _, text in names)]
    rows = [[label, *(_text(means.rows[key].get(name)) for name, _ in names)] for key, label in ROW_NAMES]
    rows.append(["trials", *(str(means.n[name]) for name, _ in names)])
    out = "".join(f" Left out: {why}." for why in means.left_out)
    out += "".join(f" Not compared: {why.removesuffix('.')}." for why in means.failed_sessions)
    return ScoreTable(columns, rows if names else [], f"Means {means.words}.{out}")


def table_text(table: ScoreTable) -> str:
    """Lay out a score table in columns for the terminal."""
    rows = [[one_line(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([*lines, one_line(table.note)])


def _facts(replay: Replay) -> list[tuple[str, str]]:
    gaze = replay.gaze()
    loss = float(1 - gaze["valid"].mean()) if len(gaze) else float("nan")
    return [
        ("accuracy, held-out targets", _calibrated(replay, "accuracy_deg")),
        ("precision RMS-S2S", _calibrated(replay, "precision_rms_s2s_deg")),
        ("precision SD", _calibrated(replay, "precision_sd_deg")),
        ("data loss, whole session", f"{loss:.1%}" if loss == loss else "no data"),
        ("samples", f"{len(gaze)}"),
        ("trials", f"{len(replay.trials)}"),
        ("gaze", f"corrected {len(replay.corrections)} times" if replay.corrections else "as measured"),
    ]


def _calibrated(replay: Replay, name: str) -> str:
    """Write a figure of the calibration; of each where trials were recalibrated, in the order of trials."""
    facts = [replay.calibration(trial) for trial in replay.trials] or [replay.session.header.profile]
    return " / ".join(dict.fromkeys(_unit(found.get(name), "°") for found in facts))


def _trial(replay: Replay, result: TrialComparison) -> dict[str, Any]:
    trial, trace = result.trial, result.trace
    picture = replay.picture(trial)
    xy, duration_ms = replay.fixations_on_picture(trial)
    events = replay.fixations(trial)
    onset_ms = (events["onset_ns"] - trial.onset_ns) / 1e6
    grid = trace.grid
    sigma, _ = sigma_of(replay, trial)
    sinks = result.map.how.get("sink_patches")
    n_sinks = len(sinks) if isinstance(sinks, list) else 0
    return {
        "chart_id": trial.chart_id,
        "question": trial.question,
        "answers": _answers(result),
        "verdict": "" if result.quality is None else result.quality.verdict.value,
        "gaze_quality": "" if result.quality is None else _gaze_quality(result.quality),
        "picture": _uri(encode_png(picture.rgb)),
        "density": _density_uri(replay.density(trial, sigma)),
        "duration_ms": round((trial.offset_ns - trial.onset_ns) / 1e6),
        "gaze": _gaze_rows(replay, trial),
        "fixations": [
            [round(t), round(t + d), round(x, 1), round(y, 1)]
            for t, d, (x, y) in zip(onset_ms.tolist(), duration_ms.tolist(), xy.tolist(), strict=True)
        ],
        "grid": {
            "rows": grid.rows,
            "cols": grid.cols,
            "x": grid.x_edges_px.tolist(),
            "y": grid.y_edges_px.tolist(),
        },
        "tokens": [_token(trace, k) for k in range(len(trace.tokens))],
        "model_caption": f"Model: attention weights of {trace.model_id} ({trace.kind}-attention)",
        "attention_note": f"Share of attention on the picture: {result.map.picture_share:.3f}."
        f" Sink patches: {n_sinks},"
        f" {'dropped' if result.map.how['sinks'] == 'drop' else 'kept'}. {trace.note}".strip(),
        "scores": asdict(score_table(result.agreement)),
    }


def _token(trace: AttentionTrace, index: int) -> dict[str, Any]:
    weights = np.asarray(trace.weights[index, :, :MAX_HEADS_SHOWN], float)
    return {
        "text": trace.tokens[index] or "∅",
        "top": [[text, float(p)] for text, p in (trace.top[index] if trace.top else ())],
        "picture_share": f"{weights.sum((-2, -1)).mean():.3f}",
        "weights": np.round(weights.reshape(*weights.shape[:2], -1), 5).tolist(),
    }


def _answers(result: TrialComparison) -> str:
    def judged(text: str | None, right: Any) -> str:
        mark = "" if right is None else (" (right)" if right.published else " (wrong)")
        return f"{text or 'none'}{mark}"

    gold = result.trial.answer or "none"
    person = judged(result.trial.given, result.person_correct)
    model = judged(result.trace.answer, result.model_correct)
    return f"Gold answer: {gold} · person: {person} · model: {model} (relaxed accuracy)"


def _gaze_quality(report: TrialReport) -> str:
    why = f": {'; '.join(report.reasons)}" if report.reasons else ""
    return f"Gaze of this trial: {verdict_text(report)}{why}"


def _gaze_rows(replay: Replay, trial: Trial) -> list[list[float | None]]:
    """One row a sample: ms from onset, and picture px or null where gaze was lost."""
    samples = replay.samples(trial)
    x, y = trial.placement.to_picture(samples["x_px"], samples["y_px"])
    t = (samples["time_ns"] - trial.onset_ns) / 1e6
    ok = samples["valid"] & np.isfinite(x) & np.isfinite(y)
    return [
        [round(a), round(b, 1), round(c, 1)] if good else [round(a), None, None]
        for a, b, c, good in zip(t.tolist(), x.tolist(), y.tolist(), ok.tolist(), strict=True)
    ]


def _density_uri(density: NDArray[np.float64]) -> str:
    if not np.isfinite(density).all():
        return ""
    rgba = np.zeros((*density.shape, 4), np.uint8)
    rgba[..., :3] = PERSON_RGB
    rgba[..., 3] = np.round(150 * density / density.max()).astype(np.uint8)
    return _uri(encode_rgba_png(rgba))


def _uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _text(value: float | None) -> str:
    return "undefined" if value is None or not np.isfinite(value) else f"{value:.3f}"


def _unit(value: object, unit: str) -> str:
    number = finite(value)
    return f"{number:.2f}{unit}" if np.isfinite(number) else "no data"
