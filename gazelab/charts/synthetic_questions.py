"""Questions about a synthetic chart, in ChartQA's manner, with the elements each one asks about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gazelab.charts.synthetic import Chart, Datum

QuestionKind = Literal[
    "value",
    "value by colour",
    "colour",
    "highest label",
    "lowest label",
    "highest value",
    "lowest value",
    "count",
    "difference",
    "comparison",
]

MARK_NAMES = {
    "bar": "bar",
    "horizontal bar": "bar",
    "grouped bar": "bar",
    "line": "point",
    "pie": "slice",
}

WEIGHTS: dict[QuestionKind, float] = {
    "value": 3.0,
    "value by colour": 1.0,
    "colour": 1.0,
    "highest label": 0.75,
    "lowest label": 0.75,
    "highest value": 0.75,
    "lowest value": 0.75,
    "count": 0.5,
    "difference": 1.5,
    "comparison": 1.0,
}
"""How often a kind is asked, relative to the others that the chart allows."""


@dataclass(frozen=True)
class Question:
    """One question on one chart.

    `asked` names the elements that a reader must find (Element.element_id). `working` is what is
    read off the chart before the answer ("62-35" for a difference), empty when nothing is.
    """

    text: str
    answer: str
    kind: QuestionKind
    asked: tuple[str, ...]
    working: str = ""


def ask(
    rng: np.random.Generator, chart: Chart, n: int, mix: Mapping[QuestionKind, float] = WEIGHTS
) -> tuple[Question, ...]:
    """Draw `n` questions on a chart, kinds by the weights of `mix`, without repeats as far as it allows."""
    kinds = [kind for kind in mix if allowed(chart, kind)]
    weights = np.array([mix[kind] for kind in kinds])
    questions: dict[str, Question] = {}
    for _ in range(4 * n):
        if len(questions) == n:
            break
        kind = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
        question = ask_kind(rng, chart, kind)
        questions.setdefault(question.text, question)
    return tuple(questions.values())


def ask_kind(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    """Draw one question of a kind that the chart allows."""
    return _MAKERS[kind](rng, chart, kind)


def allowed(chart: Chart, kind: QuestionKind) -> bool:
    """Tell whether a kind of question makes sense on a chart."""
    if kind == "value by colour":
        return chart.layout.many_colours
    if kind == "colour":
        return chart.layout.many_colours or chart.kind == "grouped bar"
    return True


def _pick(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[int(rng.integers(len(options)))]


def _asked(chart: Chart, *data: int) -> tuple[str, ...]:
    """Ids of label, value and mark of the data; a legend entry is asked with its own series only."""
    found = [e.element_id for i in data for e in chart.elements_of(i) if e.role != "legend"]
    return tuple(dict.fromkeys(found))


def _named(datum: Datum) -> str:
    return datum.category if datum.series is None else f"{datum.series} in {datum.category}"


def _value(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    i = int(rng.integers(len(chart.data)))
    named = _named(chart.data[i])
    text = _pick(rng, (f"What is the value of {named}?", f"How much is {named}?"))
    return Question(text, str(chart.data[i].value), kind, _asked(chart, i))


def _value_by_colour(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    i = int(rng.integers(len(chart.data)))
    datum = chart.data[i]
    text = f"What is the value of the {datum.colour} {MARK_NAMES[chart.kind]}?"
    return Question(text, str(datum.value), kind, _asked(chart, i))


def _colour(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    i = int(rng.integers(len(chart.data)))
    datum = chart.data[i]
    if datum.series is None:
        asked = _asked(chart, i)
        named = datum.category
    else:
        asked = tuple(e.element_id for e in chart.elements_of(i) if e.role == "legend")
        named = datum.series
    text = _pick(rng, (f"What color is {named}?", f"What is the color of {named}?"))
    return Question(text, datum.colour.capitalize(), kind, asked)


def _extreme(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    series = chart.data[int(rng.integers(len(chart.data)))].series
    members = [i for i, datum in enumerate(chart.data) if datum.series == series]
    highest = kind.startswith("highest")
    best = (max if highest else min)(members, key=lambda i: chart.data[i].value)
    adjective = _pick(rng, ("highest", "largest") if highest else ("lowest", "smallest"))
    of_series = "" if series is None else f" of {series}"
    if kind.endswith("label"):
        text = f"Which {chart.layout.theme} has the {adjective} value{of_series}?"
        answer = chart.data[best].category
    else:
        text = f"What is the {adjective} value{of_series}?"
        answer = str(chart.data[best].value)
    return Question(text, answer, kind, _asked(chart, best))


def _count(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    text = f"How many {MARK_NAMES[chart.kind]}s are {_pick(rng, ('shown', 'there'))}?"
    marks = tuple(e.element_id for e in chart.elements if e.role == "mark")
    return Question(text, str(len(chart.data)), kind, marks)


def _pair(rng: np.random.Generator, chart: Chart) -> tuple[int, int, str, str, str]:
    """Two data of one series or of one category, as (i, j, name of i, name of j, what they share)."""
    data = chart.data
    i = int(rng.integers(len(data)))
    if data[i].series is not None and rng.random() < 0.5:
        others = [j for j, d in enumerate(data) if d.category == data[i].category and j != i]
        j = others[int(rng.integers(len(others)))]
        return i, j, str(data[i].series), str(data[j].series), f" in {data[i].category}"
    others = [j for j, d in enumerate(data) if d.series == data[i].series and j != i]
    j = others[int(rng.integers(len(others)))]
    shared = "" if data[i].series is None else f" of {data[i].series}"
    return i, j, data[i].category, data[j].category, shared


def _difference(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    i, j, first, second, shared = _pair(rng, chart)
    a, b = chart.data[i].value, chart.data[j].value
    text = f"What is the difference between {first} and {second}{shared}?"
    return Question(text, str(abs(a - b)), kind, _asked(chart, i, j), f"{max(a, b)}-{min(a, b)}")


def _comparison(rng: np.random.Generator, chart: Chart, kind: QuestionKind) -> Question:
    i, j, first, second, shared = _pair(rng, chart)
    a, b = chart.data[i].value, chart.data[j].value
    text = f"Is {first} {_pick(rng, ('greater', 'more'))} than {second}{shared}?"
    return Question(text, "Yes" if a > b else "No", kind, _asked(chart, i, j), f"{a},{b}")


_MAKERS: dict[QuestionKind, Callable[[np.random.Generator, Chart, QuestionKind], Question]] = {
    "value": _value,
    "value by colour": _value_by_colour,
    "colour": _colour,
    "highest label": _extreme,
    "lowest label": _extreme,
    "highest value": _extreme,
    "lowest value": _extreme,
    "count": _count,
    "difference": _difference,
    "comparison": _comparison,
}


def question_words() -> tuple[str, ...]:
    """Every word of the question templates, lower case, without labels and colours."""
    text = (
        "what is the value of in how much color which has highest largest lowest smallest "
        "how many are shown there difference between and greater more than bar bars slice slices "
        "point points yes no fruit country animal sport month year group item city team brand"
    )
    return tuple(dict.fromkeys(text.split()))
