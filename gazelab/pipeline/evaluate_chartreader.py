"""How well the embedded model answers charts it has never seen, and whether it looks where it should.

Labels come from the closed list of words, from the open supply that training draws from, or from the
words that training never draws: a reader of letters must read them all.

Four questions: is the answer right, by kind; how much of the attention falls on what was asked; does
the strongest cell point at it; and is the look a cause: does blanking the cells that were looked at
spoil the answer, and blanking others not?
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.chartreader.model import AnswerStep, ChartReader
from gazelab.charts.scoring import relaxed_published, strict
from gazelab.charts.synthetic import Chart, draw_chart
from gazelab.charts.synthetic_labels import OpenLabels
from gazelab.charts.synthetic_questions import Question, ask
from gazelab.core.geometry import PatchGrid

SEED = 424_243
CLOSED, SEEN, UNSEEN = "closed list", "words seen in training", "words never seen"
LABELS: dict[str, OpenLabels | None] = {
    CLOSED: None,
    SEEN: OpenLabels("seen"),
    UNSEEN: OpenLabels("unseen"),
}
"""Where the labels of the charts come from."""
LOOK_UPS = ("value", "value by colour")
BLANKED_CELLS = 6

Maps = NDArray[np.float32]
Cells = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Look:
    """A look-up that was answered right: the maps at the first token of the answer, and the asked cells.

    `maps` is (layer, head, row, col); `asked` is (row, col), the cells that the asked elements touch.
    """

    chart: Chart
    question: Question
    maps: Maps
    asked: Cells


@dataclass
class Tally:
    """Counts of one kind of question."""

    asked: int = 0
    strict: int = 0
    published: int = 0


@dataclass(frozen=True)
class Attention:
    """The best head, chosen on one half of the look-ups, and its figures on the other half.

    Attributes
    ----------
    layer, head : int
        Counted from 0.
    share_on_asked : float
        Mean share of its attention that falls on cells touched by the asked label, value and mark.
    area_of_asked : float
        Mean share of all cells that these are: what a uniform look would score.
    pointing : float
        How often its strongest cell is one of them.
    n : int
        Look-ups in the half that it was tested on.
    right_after_blanking : float
        Share still right when its six most attended cells are painted white.
    right_after_blanking_others : float
        The same for six other cells that are not empty.
    n_blanked : int
        Look-ups that were blanked.
    """

    layer: int
    head: int
    share_on_asked: float
    area_of_asked: float
    pointing: float
    n: int
    right_after_blanking: float = math.nan
    right_after_blanking_others: float = math.nan
    n_blanked: int = 0


@dataclass(frozen=True)
class Evaluation:
    """Scores by kind, over all, and the attention's figures (None without right look-ups).

    `labels` is one of `LABELS`.
    """

    seed: int
    charts: int
    labels: str = CLOSED
    by_kind: dict[str, Tally] = field(default_factory=dict)
    attention: Attention | None = None

    @property
    def overall(self) -> Tally:
        """All kinds together."""
        rows = self.by_kind.values()
        return Tally(*(sum(getattr(t, name) for t in rows) for name in ("asked", "strict", "published")))

    def to_json(self) -> dict[str, Any]:
        """Plain values for the file beside the weights."""
        rows = {**self.by_kind, "all": self.overall}
        return {
            "seed": self.seed,
            "charts": self.charts,
            "labels": self.labels,
            "rules": "strict: text or number equal; published: ChartQA's relaxed accuracy",
            "by_kind": {
                kind: {
                    "n": t.asked,
                    "strict": round(t.strict / max(1, t.asked), 4),
                    "published": round(t.published / max(1, t.asked), 4),
                }
                for kind, t in rows.items()
            },
            "attention": None
            if self.attention is None
            else {k: round(v, 4) if isinstance(v, float) else v for k, v in vars(self.attention).items()},
        }

    def table(self) -> str:
        """Give the figures as text."""
        lines = [
            f"labels: {self.labels}; {self.charts} charts",
            f"{'question':<18}{'n':>6}{'strict':>9}{'published':>11}",
        ]
        for kind, t in [*sorted(self.by_kind.items()), ("all", self.overall)]:
            n = max(1, t.asked)
            lines.append(f"{kind:<18}{t.asked:>6}{t.strict / n:>9.3f}{t.published / n:>11.3f}")
        if self.attention is not None:
            a = self.attention
            lines += [
                f"best head: layer {a.layer}, head {a.head}, counted from 0"
                f" (chosen on the other half; n = {a.n})",
                f"  attention on what was asked      {a.share_on_asked:.3f} (area {a.area_of_asked:.3f})",
                f"  strongest cell is one of theirs  {a.pointing:.3f}",
                f"  still right, looked-at blanked   {a.right_after_blanking:.3f} (n = {a.n_blanked})",
                f"  still right, others blanked      {a.right_after_blanking_others:.3f}",
            ]
        return "\n".join(lines)


def evaluate_chartreader(
    reader: ChartReader,
    *,
    charts: int = 300,
    questions: int = 8,
    blanked: int = 200,
    seed: int = SEED,
    labels: str = CLOSED,
) -> Evaluation:
    """Ask fresh charts of a seed that training never uses.

    Parameters
    ----------
    reader
        The model.
    charts, questions
        How many charts, and how many questions on each.
    blanked
        At most so many look-ups are asked again with cells blanked.
    seed
        Of the charts, the questions and the other cells that are blanked.
    labels
        One of `LABELS`: where the charts' labels come from.
    """
    by_kind: dict[str, Tally] = {}
    looks: list[Look] = []
    for chart, question in _fresh(charts, questions, seed, LABELS[labels]):
        steps = list(reader.answer(chart.picture, question.text))
        answer = reader.answer_text(steps)
        tally = by_kind.setdefault(question.kind, Tally())
        right = strict(answer, question.answer)
        tally.asked += 1
        tally.strict += right
        tally.published += relaxed_published(answer, question.answer)
        if right and question.kind in LOOK_UPS:
            looks.append(_look(reader, chart, question, steps))
    attention = _best_head(looks) if len(looks) >= 2 else None
    if attention is not None and blanked:
        attention = _blank(reader, looks[1::2][:blanked], attention, np.random.default_rng(seed))
    return Evaluation(seed, charts, labels, by_kind, attention)


def _fresh(
    charts: int, questions: int, seed: int, labels: OpenLabels | None
) -> Iterator[tuple[Chart, Question]]:
    rng = np.random.default_rng(seed)
    for _ in range(charts):
        chart = draw_chart(rng, labels=labels)
        for question in ask(rng, chart, questions):
            yield chart, question


def _look(reader: ChartReader, chart: Chart, question: Question, steps: list[AnswerStep]) -> Look:
    grid = reader.grid(chart.picture.shape[1], chart.picture.shape[0])
    return Look(chart, question, steps[0].weights, asked_cells(chart, question, grid))


def asked_cells(chart: Chart, question: Question, grid: PatchGrid) -> Cells:
    """Give the cells, (row, col) bool, that the question's elements touch."""
    cells = np.zeros((grid.rows, grid.cols), bool)
    for element in chart.elements:
        if element.element_id not in question.asked:
            continue
        box = element.box
        rows = (grid.y_edges_px[:-1] < box.bottom_px) & (grid.y_edges_px[1:] > box.top_px)
        cols = (grid.x_edges_px[:-1] < box.right_px) & (grid.x_edges_px[1:] > box.left_px)
        cells |= np.outer(rows, cols)
    return cells


def _best_head(looks: list[Look]) -> Attention:
    """Choose the head with most attention on the asked cells on even look-ups; score it on odd ones."""
    shares = np.array([(look.maps * look.asked).sum((-2, -1)) for look in looks])
    layer, head = np.unravel_index(int(shares[0::2].mean(0).argmax()), shares.shape[1:])
    tested = looks[1::2]
    points = [look.asked.flat[int(look.maps[layer, head].argmax())] for look in tested]
    return Attention(
        layer=int(layer),
        head=int(head),
        share_on_asked=float(shares[1::2, layer, head].mean()),
        area_of_asked=float(np.mean([look.asked.mean() for look in tested])),
        pointing=float(np.mean(points)),
        n=len(tested),
    )


def _blank(reader: ChartReader, looks: list[Look], found: Attention, rng: np.random.Generator) -> Attention:
    """Ask again with the most attended cells white, and with as many other cells that show something."""
    still = still_others = 0
    for look in looks:
        grid = reader.grid(look.chart.picture.shape[1], look.chart.picture.shape[0])
        order = np.argsort(look.maps[found.layer, found.head], axis=None)[::-1]
        attended = order[:BLANKED_CELLS]
        shown = [i for i in order[BLANKED_CELLS:] if _shows_something(look.chart.picture, grid, int(i))]
        others = rng.choice(shown, min(BLANKED_CELLS, len(shown)), replace=False)
        still += _still_right(reader, look, grid, attended)
        still_others += _still_right(reader, look, grid, others)
    n = len(looks)
    return Attention(
        **{
            **vars(found),
            "right_after_blanking": still / n,
            "right_after_blanking_others": still_others / n,
            "n_blanked": n,
        }
    )


def _cell(grid: PatchGrid, index: int) -> tuple[slice, slice]:
    row, col = divmod(index, grid.cols)
    y, x = np.rint(grid.y_edges_px).astype(int), np.rint(grid.x_edges_px).astype(int)
    return slice(y[row], y[row + 1]), slice(x[col], x[col + 1])


def _shows_something(picture: NDArray[np.uint8], grid: PatchGrid, index: int) -> bool:
    return bool((picture[_cell(grid, index)] != 255).any())


def _still_right(reader: ChartReader, look: Look, grid: PatchGrid, cells: NDArray[np.int64]) -> bool:
    picture = look.chart.picture.copy()
    for index in cells:
        picture[_cell(grid, int(index))] = 255
    answer = reader.answer_text(reader.answer(picture, look.question.text))
    return strict(answer, look.question.answer)
