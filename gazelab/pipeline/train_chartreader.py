"""Bring the chart generator and the training of the embedded model together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gazelab.attention.chartreader.training import TrainingConfig, train
from gazelab.attention.chartreader.training.data import ReadingTarget, TrainingChart, TrainingQuestion
from gazelab.attention.chartreader.training.export import export_weights
from gazelab.charts.item import Element
from gazelab.charts.synthetic import HEIGHT_PX, WIDTH_PX, Chart, draw_chart
from gazelab.charts.synthetic_questions import WEIGHTS, QuestionKind, ask, question_words
from gazelab.charts.synthetic_words import COLOURS, label_words
from gazelab.core.errors import ConfigError

PRACTICE: dict[QuestionKind, float] = {
    **WEIGHTS,
    "value": 1.5,
    "highest value": 1.0,
    "count": 1.0,
    "difference": 4.0,
}
"""How often each kind is practised: the hard ones more often than they are asked."""

DRAWN_BY_ROLE = {
    "label": ("words",),
    "legend": ("words", "colour"),
    "value": ("number",),
    "mark": ("colour",),
}


@dataclass(frozen=True)
class SyntheticChartSource:
    """Synthetic charts as a `ChartSource` of the training."""

    words: tuple[str, ...] = (*label_words(), *COLOURS, *question_words())
    colours: tuple[str, ...] = tuple(COLOURS)

    def draw(self, rng: np.random.Generator, n_questions: int, practice: bool) -> TrainingChart:
        """One chart, what its cells show, and questions with their working."""
        chart = draw_chart(rng)
        questions = tuple(
            TrainingQuestion(
                q.text, f"{q.working}={q.answer.lower()}" if q.working else q.answer.lower(), q.kind
            )
            for q in ask(rng, chart, n_questions, PRACTICE if practice else WEIGHTS)
        )
        reading = tuple(reading_target(chart, e) for e in chart.elements if e.data)
        return TrainingChart(chart.picture, reading, questions)


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
        return ReadingTarget(
            *at, words=(str(data[0].series).lower(), data[0].colour), colour=data[0].colour, drawn=drawn
        )
    if len(data) > 1:
        return ReadingTarget(*at, words=(data[0].category.lower(),), drawn=drawn)
    datum = data[0]
    rivals = [d.value for d in chart.data if d.series == datum.series]
    extreme = {max(rivals): "highest", min(rivals): "lowest"}.get(datum.value, "none")
    words = tuple(word.lower() for word in (datum.category, datum.series, datum.colour) if word)
    return ReadingTarget(
        *at, words=words, number=datum.value, colour=datum.colour, extreme=extreme, drawn=drawn
    )


def train_chartreader(
    out_dir: Path,
    minutes: float,
    *,
    seed: int = 0,
    threads: int = 1,
    resume: bool = True,
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
    weights
        Where to write them; `out_dir/chartreader.safetensors` by default.

    Returns
    -------
    The weight file.

    Raises
    ------
    ConfigError
        `out_dir` is no folder and cannot become one.
    """
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ConfigError(
            f"the folder cannot be made ({fault.strerror}).", where=out_dir, todo="Choose another."
        ) from fault
    config = TrainingConfig(minutes=minutes, seed=seed, threads=threads)
    train(out_dir, SyntheticChartSource(), config, resume=resume)
    path = out_dir / "chartreader.safetensors" if weights is None else weights
    export_weights(out_dir, path)
    return path
