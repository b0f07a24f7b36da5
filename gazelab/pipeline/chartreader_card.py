"""The embedded model's card: how it was trained, what it gets right, where it looks, and what it can't do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gazelab.attention.chartreader.model import ChartReader
from gazelab.charts.scoring import accuracy, score
from gazelab.charts.shipped import load_charts
from gazelab.pipeline.evaluate_chartreader import LABELS, Evaluation, evaluate_chartreader

CURVE_ROWS = 14
CURVE_KINDS = ("all", "value", "highest label", "highest value", "difference", "comparison")
LIMITS = (
    "It is a small teaching model, not a research checkpoint: it reads charts drawn by gazelab, in one font"
    " and a few layouts, and hardly anything else.",
    "It knows ten kinds of question in gazelab's own wording; other wordings are guessed at.",
    "Labels are single words of up to ten letters or digits, read without case and accents; a label that is"
    ' spelled like a word of the questions ("value", "red") cannot be asked for.',
    "Long words are its weak side: each letter more can go wrong, in invented words above all.",
    "Values are whole numbers of 3 to 99; it reads no axes, so a chart without written values is a riddle.",
)

RECIPE = (
    "From random weights, on one CPU thread (stop it when you like; the same line goes on):",
    "",
    "    gazelab train-chartreader --out runs/reader --minutes 240",
    "",
    "From the weights that ship, with other charts (another seed):",
    "",
    "    gazelab train-chartreader --out runs/more --minutes 240 --seed 1 --from"
    " gazelab/attention/chartreader/weights/chartreader.safetensors",
    "",
    "The learning rate stays level and falls to zero in the last third of the time, so a longer run needs no"
    " other settings. Letters are learned first, by the stem alone; then cells, then answers.",
)


@dataclass(frozen=True)
class RealCharts:
    """Accuracy on real ChartQA questions, by the three rules of `gazelab.charts.scoring`."""

    questions: int
    published: float
    strict: float
    lenient: float

    def line(self) -> str:
        """Give the figures as text."""
        return (
            f"{self.questions} questions: published {self.published:.3f}, strict {self.strict:.3f},"
            f" lenient {self.lenient:.3f}"
        )


@dataclass(frozen=True)
class Card:
    """Facts of the weights with what was measured now; `real` is None where no ChartQA was given."""

    facts: dict[str, Any]
    evaluations: tuple[Evaluation, ...]
    real: RealCharts | None = None

    def to_json(self) -> dict[str, Any]:
        """Give what was measured, for the file beside the weights."""
        return {
            "by_labels": {one.labels: one.to_json() for one in self.evaluations},
            "chartqa": None if self.real is None else {k: _rounded(v) for k, v in vars(self.real).items()},
        }

    def text(self) -> str:
        """Give the card for a terminal."""
        parts = [_training_lines(self.facts), ["", "Training curve: share right of charts that it never saw"]]
        parts += [_table(curve_rows(self.facts)), ["", "Held-out scores: share right, strict rule (n)"]]
        parts += [_table(score_rows(self.evaluations)), ["", "Attention at the answer's first character"]]
        parts += [attention_lines(self.evaluations), ["", "Real ChartQA"], [self._real_line()]]
        parts += [["", "What it can't do"], [f"- {limit}" for limit in LIMITS]]
        return "\n".join(line for part in parts for line in part)

    def markdown(self) -> str:
        """Give the card as a page of the documentation."""
        parts = [
            ["# Card of the embedded chart reader", ""],
            ["*Printed by `gazelab train-chartreader --evaluate --chartqa DIR --card docs/chartreader.md`.*"],
            ["", *(f"- {line}" for line in _training_lines(self.facts)), ""],
            [
                "## Training curve",
                "",
                "Share right of charts that it never saw, with words it never saw.",
                "",
            ],
            _pipes(curve_rows(self.facts)),
            [
                "",
                "## Held-out scores",
                "",
                "Share right by the strict rule (same text or number); n questions.",
                "",
            ],
            _pipes(score_rows(self.evaluations)),
            ["", "## Attention", "", *(f"- {line}" for line in attention_lines(self.evaluations)), ""],
            ["## Real ChartQA", "", self._real_line(), ""],
            ["## What it can't do", "", *(f"- {limit}" for limit in LIMITS), ""],
            ["## Train it yourself", "", *RECIPE, ""],
        ]
        return "\n".join(line for part in parts for line in part)

    def _real_line(self) -> str:
        if self.real is None:
            return "not measured (name a folder: --chartqa DIR)"
        return self.real.line()


def make_card(
    reader: ChartReader, *, charts: int = 100, blanked: int = 100, chartqa: Path | None = None
) -> Card:
    """Measure a model on fresh charts of every supply of labels, and on real charts.

    Parameters
    ----------
    reader
        The model.
    charts
        Fresh charts of each supply, eight questions on each.
    blanked
        At most so many look-ups of each supply are asked again with cells blanked.
    chartqa
        A folder in ChartQA's layout.

    Raises
    ------
    ChartError
        `chartqa` holds no charts.
    """
    real = None if chartqa is None else ask_real_charts(reader, chartqa)
    evaluations = [
        evaluate_chartreader(reader, charts=charts, blanked=blanked, labels=labels) for labels in LABELS
    ]
    return Card(reader.facts, tuple(evaluations), real)


def ask_real_charts(reader: ChartReader, folder: Path) -> RealCharts:
    """Ask every question of a set of real charts.

    Raises
    ------
    ChartError
        The folder holds no charts.
    """
    verdicts = []
    for item in load_charts(folder):
        answer = reader.answer_text(reader.answer(item.picture().rgb, item.question))
        verdicts.append(score(answer, item.answer))
    return RealCharts(len(verdicts), **accuracy(verdicts))


def _training_lines(facts: dict[str, Any]) -> list[str]:
    """Say what the weights are and how they came about."""
    training = facts.get("training", {})
    lines = [
        f"{facts.get('model', 'chart reader')}: {facts.get('parameters', 0) / 1e6:.2f} million parameters",
        f"trained for {facts.get('trained_s', 0.0) / 60:.0f} minutes and {facts.get('steps', 0)} steps"
        f" of {training.get('charts', '?')} charts with {training.get('questions', '?')} questions each",
    ]
    if facts.get("started_from"):
        lines.append(f"started from {facts['started_from']}, not from random weights")
    schedule = training.get("schedule", {})
    if schedule.get("look_weight"):
        lines.append(
            "one head (layer 1, head 1, counted from 0) was told in training where the asked label, value"
            " and mark are; every other head was free"
        )
    return lines + [str(line) for line in facts.get("history", ())]


def curve_rows(facts: dict[str, Any]) -> list[list[str]]:
    """Give minutes, steps and held-out shares at up to `CURVE_ROWS` moments, the last among them."""
    points = [point for point in facts.get("curve", ()) if point.get("held_out")]
    every = max(1, -(-len(points) // CURVE_ROWS))
    kept = points[::-1][::every][::-1]
    rows = [["minutes", "steps", *CURVE_KINDS]]
    for point in kept:
        shares = [f"{point['held_out'].get(kind, float('nan')):.3f}" for kind in CURVE_KINDS]
        rows.append([f"{point['elapsed_s'] / 60:.0f}", str(point["step"]), *shares])
    return rows


def score_rows(evaluations: Sequence[Evaluation]) -> list[list[str]]:
    """Give kinds of question by supply of labels."""
    kinds = sorted({kind for one in evaluations for kind in one.by_kind})
    rows = [["question", *(one.labels for one in evaluations)]]
    for kind in (*kinds, "all"):
        row = [kind]
        for one in evaluations:
            tally = one.overall if kind == "all" else one.by_kind.get(kind)
            row.append("-" if tally is None else f"{tally.strict / max(1, tally.asked):.3f} ({tally.asked})")
        rows.append(row)
    return rows


def attention_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """Say, for each supply of labels, where the best head looks and whether that is a cause."""
    lines = []
    for one in evaluations:
        found = one.attention
        if found is None:
            lines.append(f"{one.labels}: no look-up was right")
            continue
        lines.append(
            f"{one.labels}: layer {found.layer}, head {found.head} (chosen on half, tested on the other,"
            f" n = {found.n}) points at what was asked {found.pointing:.3f} of the time, with"
            f" {found.share_on_asked:.3f} of its attention (area {found.area_of_asked:.3f});"
            f" still right with the looked-at cells blanked {found.right_after_blanking:.3f}, with others"
            f" blanked {found.right_after_blanking_others:.3f} (n = {found.n_blanked})"
        )
    return lines


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _pipes(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def _rounded(value: float) -> float:
    return round(value, 4) if isinstance(value, float) else value
