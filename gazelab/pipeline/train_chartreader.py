"""Bring the chart generator and the training of the embedded model together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gazelab.attention.chartreader.training import TrainingConfig, train
from gazelab.attention.chartreader.training.data import (
    BoxNorm,
    Glyph,
    Look,
    ReadingTarget,
    TrainingChart,
    TrainingQuestion,
    Word,
)
from gazelab.attention.chartreader.training.export import export_weights
from gazelab.charts.item import Element
from gazelab.charts.synthetic import HEIGHT_PX, WIDTH_PX, Chart, ChartKind, draw_chart
from gazelab.charts.synthetic_draw import glyph_centres_px
from gazelab.charts.synthetic_labels import OpenLabels
from gazelab.charts.synthetic_questions import WEIGHTS, Question, QuestionKind, ask, question_words
from gazelab.charts.synthetic_words import COLOURS
from gazelab.core.errors import ConfigError

PRACTICE: dict[QuestionKind, float] = {
    **WEIGHTS,
    "value": 2.0,
    "highest label": 1.5,
    "lowest label": 1.5,
    "highest value": 1.0,
    "count": 1.0,
    "difference": 3.0,
}
"""How often each kind is practised: the hard ones more often than they are asked."""

SHARE_GROUPED = 0.25
"""Share of training charts that are grouped beyond their turn: two names for each value are harder."""

SHARE_OPEN = 0.75
"""Share of training charts whose labels come from the open supply; the rest use the closed list."""

DRAWN_BY_ROLE = {
    "label": ("label",),
    "legend": ("label", "series", "colour"),
    "value": ("number",),
    "mark": ("colour",),
}

_SIGN = re.compile(r"[-,=]")


@dataclass(frozen=True)
class SyntheticChartSource:
    """Synthetic charts as a `ChartSource` of the training."""

    words: tuple[str, ...] = (*COLOURS, *question_words())
    colours: tuple[str, ...] = tuple(COLOURS)

    def draw(self, rng: np.random.Generator, n_questions: int, practice: bool) -> TrainingChart:
        """One chart, what its cells show, and questions with their working and where to look."""
        if practice:
            labels = OpenLabels("seen") if rng.random() < SHARE_OPEN else None
            kind: ChartKind | None = "grouped bar" if rng.random() < SHARE_GROUPED else None
        else:
            labels, kind = OpenLabels("unseen"), None
        chart = draw_chart(rng, kind, labels)
        questions = tuple(
            training_question(chart, q)
            for q in ask(rng, chart, n_questions, PRACTICE if practice else WEIGHTS)
        )
        reading = tuple(reading_target(chart, e) for e in chart.elements if e.data)
        named = [element for element in chart.elements if element.role in ("label", "legend")]
        words = tuple(Word(e.text, box) for e, box in zip(named, _boxes(named), strict=True))
        return TrainingChart(chart.picture, reading, questions, glyphs(chart), words)


def training_question(chart: Chart, question: Question) -> TrainingQuestion:
    """Give the text to be written (working, then answer) and where its numbers and names stand."""
    answer = question.answer.lower()
    text = f"{question.working}={answer}" if question.working else answer
    if question.kind == "count":
        return TrainingQuestion(question.text, text, question.kind)
    asked = [element for element in chart.elements if element.element_id in question.asked]
    if not question.working:
        return TrainingQuestion(question.text, text, question.kind, (Look(0, _boxes(asked)),))
    looks, at = [], 0
    for part in _SIGN.split(question.working):
        # Of a working, each number is looked for where it is written.
        mine = [e for e in asked if any(str(chart.data[i].value) == part for i in e.data)]
        looks.append(Look(at, _boxes(mine)))
        at += len(part) + 1
    return TrainingQuestion(question.text, text, question.kind, tuple(looks))


def _boxes(elements: Sequence[Element]) -> tuple[BoxNorm, ...]:
    boxes = [element.box for element in elements]
    return tuple(
        (b.left_px / WIDTH_PX, b.top_px / HEIGHT_PX, b.right_px / WIDTH_PX, b.bottom_px / HEIGHT_PX)
        for b in boxes
    )


def glyphs(chart: Chart) -> tuple[Glyph, ...]:
    """List every character of labels, values and legend entries with its place."""
    return tuple(
        Glyph(x_px / WIDTH_PX, y_px / HEIGHT_PX, character, place)
        for element in chart.elements
        if element.role in ("label", "legend", "value")
        for place, (character, (x_px, y_px)) in enumerate(
            zip(element.text, glyph_centres_px(element), strict=True)
        )
    )


def reading_target(chart: Chart, element: Element) -> ReadingTarget:
    """Say what the cell at an element's centre should tell.

    An element of one datum tells all of it, so that a label's cell knows its value too; a category
    label or legend entry of a grouped chart stands for several and tells only what they share.
    """
    x_px, y_px = element.box.centre_px
    drawn = DRAWN_BY_ROLE[element.role]
    at = (x_px / WIDTH_PX, y_px / HEIGHT_PX)
    data = [chart.data[i] for i in element.data]
    if element.role == "legend":
        name, colour = str(data[0].series), data[0].colour
        return ReadingTarget(*at, label=name, series=name, colour=colour, drawn=drawn)
    if len(data) > 1:
        return ReadingTarget(*at, label=data[0].category, drawn=drawn)
    datum = data[0]
    rivals = [d.value for d in chart.data if d.series == datum.series]
    extreme = {max(rivals): "highest", min(rivals): "lowest"}.get(datum.value, "none")
    return ReadingTarget(
        *at,
        label=datum.category,
        series=datum.series,
        number=datum.value,
        colour=datum.colour,
        extreme=extreme,
        drawn=drawn,
    )


def train_chartreader(
    out_dir: Path,
    minutes: float,
    *,
    seed: int = 0,
    threads: int = 1,
    resume: bool = True,
    start_from: Path | None = None,
    weights: Path | None = None,
) -> Path:
    """Train the embedded model on synthetic charts and write weights that `ChartReader.load` reads.

    Parameters
    ----------
    out_dir
        Folder of checkpoints and curve; a later call with the same folder goes on from there.
    minutes
        Training time in all, resumed runs included.
    seed
        Of the first weights and of the charts.
    threads
        Of torch.
    resume
        False starts anew.
    start_from
        A weight file to begin with instead of random weights; used only when nothing is resumed.
    weights
        Where to write them; `out_dir/chartreader.safetensors` by default.

    Returns
    -------
    The weight file.

    Raises
    ------
    ConfigError
        `out_dir` is no folder and cannot become one.
    AttentionError
        `start_from` cannot be read, or a checkpoint in `out_dir` is of another network.
    """
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ConfigError(
            f"the folder cannot be made ({fault.strerror}).", where=out_dir, todo="Choose another."
        ) from fault
    config = TrainingConfig(minutes=minutes, seed=seed, threads=threads)
    train(out_dir, SyntheticChartSource(), config, resume=resume, start_from=start_from)
    path = out_dir / "chartreader.safetensors" if weights is None else weights
    export_weights(out_dir, path)
    return path
