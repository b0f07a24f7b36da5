"""Synthetic charts: what is drawn, what is asked, and where each element lies.

A chart is drawn once, at 1024x768. The participant sees those pixels and the
embedded model sees the same pixels reduced by its own preprocessing, so both
look at one picture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gazelab.charts.item import Element
from gazelab.charts.synthetic_labels import OPEN_THEMES, OpenLabels
from gazelab.charts.synthetic_words import COLOURS, MEASURES, ORDERED_THEMES, SERIES, THEMES

ChartKind = Literal["bar", "horizontal bar", "grouped bar", "line", "pie"]

CHART_KINDS: tuple[ChartKind, ...] = ("bar", "horizontal bar", "grouped bar", "line", "pie")
N_CATEGORIES: dict[ChartKind, tuple[int, int]] = {
    "bar": (3, 6),
    "horizontal bar": (3, 7),
    "grouped bar": (2, 4),
    "line": (4, 6),
    "pie": (3, 6),
}
WIDTH_PX = 1024
HEIGHT_PX = 768


@dataclass(frozen=True)
class Datum:
    """One value of the chart: category, series (None unless grouped), integer value, colour name."""

    category: str
    series: str | None
    value: int
    colour: str


@dataclass(frozen=True)
class Layout:
    """What is to be drawn, before any pixel: the data and the choices of style."""

    kind: ChartKind
    theme: str
    title: str
    data: tuple[Datum, ...]
    many_colours: bool
    headroom: float
    bar_share: float
    shift: tuple[int, int, int]
    gridlines: bool


@dataclass(frozen=True)
class Chart:
    """A drawn chart: picture (768, 1024, 3) uint8 RGB, its elements, and the layout it came from."""

    layout: Layout
    picture: NDArray[np.uint8] = field(repr=False)
    elements: tuple[Element, ...]

    @property
    def kind(self) -> ChartKind:
        """The chart's type."""
        return self.layout.kind

    @property
    def data(self) -> tuple[Datum, ...]:
        """The chart's values in drawing order."""
        return self.layout.data

    def elements_of(self, datum: int) -> tuple[Element, ...]:
        """Label, value, mark (and legend entry) that stand for one datum."""
        return tuple(element for element in self.elements if datum in element.data)


def draw_chart(
    rng: np.random.Generator, kind: ChartKind | None = None, labels: OpenLabels | None = None
) -> Chart:
    """Draw one chart at random.

    Parameters
    ----------
    rng
        Source of every choice: the same state gives the same chart.
    kind
        Chart type; drawn at random when None.
    labels
        Where categories and series get their names; the closed list of `synthetic_words` when None.
    """
    from gazelab.charts.synthetic_draw import paint

    layout = choose_layout(rng, kind, labels)
    picture, elements = paint(layout)
    return Chart(layout, picture, elements)


def choose_layout(
    rng: np.random.Generator, kind: ChartKind | None = None, labels: OpenLabels | None = None
) -> Layout:
    """Choose type, labels, values, colours and style of one chart."""
    if kind is None:
        kind = CHART_KINDS[int(rng.integers(len(CHART_KINDS)))]
    theme, categories = _choose_categories(rng, kind, labels)
    many_colours = kind == "pie" or (kind in ("bar", "horizontal bar") and rng.random() < 0.6)
    if kind == "grouped bar":
        data = _grouped_data(rng, categories, labels)
    else:
        data = _single_data(rng, kind, categories, many_colours)
    measure = MEASURES[int(rng.integers(len(MEASURES)))]
    return Layout(
        kind=kind,
        theme=theme,
        title=f"{measure} by {theme}" + (" in %" if kind == "pie" else ""),
        data=data,
        many_colours=many_colours,
        headroom=float(rng.uniform(1.02, 1.35)),
        bar_share=float(rng.uniform(0.5, 0.8)),
        shift=(int(rng.integers(-12, 13)), int(rng.integers(-12, 13)), int(rng.integers(-12, 13))),
        gridlines=bool(rng.random() < 0.5),
    )


def _choose_categories(
    rng: np.random.Generator, kind: ChartKind, labels: OpenLabels | None
) -> tuple[str, list[str]]:
    low, high = N_CATEGORIES[kind]
    n = int(rng.integers(low, high + 1))
    if labels is not None:
        theme = OPEN_THEMES[int(rng.integers(len(OPEN_THEMES)))]
        return theme, labels.draw(rng, n, _room_px(kind, n))
    themes = ORDERED_THEMES if kind == "line" else tuple(THEMES)
    theme = themes[int(rng.integers(len(themes)))]
    words = THEMES[theme]
    if theme in ORDERED_THEMES:
        first = int(rng.integers(len(words) - n + 1))
        return theme, list(words[first : first + n])
    return theme, [words[i] for i in rng.choice(len(words), n, replace=False)]


def _room_px(kind: ChartKind, n: int) -> float:
    """Width that a category's label may have, so that neighbours stay apart and none leaves the picture."""
    if kind in ("horizontal bar", "pie"):
        return 220.0
    return min(300.0, (WIDTH_PX - 90) / n - 12)


def _colours(rng: np.random.Generator, n: int) -> list[str]:
    names = tuple(COLOURS)
    return [names[i] for i in rng.choice(len(names), n, replace=False)]


def _single_data(
    rng: np.random.Generator, kind: ChartKind, categories: list[str], many_colours: bool
) -> tuple[Datum, ...]:
    n = len(categories)
    colours = _colours(rng, n) if many_colours else _colours(rng, 1) * n
    values = _shares(rng, n) if kind == "pie" else _values(rng, n)
    return tuple(
        Datum(category, None, value, colour)
        for category, value, colour in zip(categories, values, colours, strict=True)
    )


def _grouped_data(
    rng: np.random.Generator, categories: list[str], labels: OpenLabels | None
) -> tuple[Datum, ...]:
    most = 3 if len(categories) <= 3 else 2
    if labels is None:
        row = SERIES[int(rng.integers(len(SERIES)))]
        n = min(int(rng.integers(2, most + 1)), len(row))
        series = [row[i] for i in sorted(rng.choice(len(row), n, replace=False))]
    else:
        n = int(rng.integers(2, most + 1))
        series = _new_names(rng, labels, n, categories)
    colours = _colours(rng, n)
    values = [_values(rng, len(categories)) for _ in series]
    return tuple(
        Datum(category, name, values[s][c], colours[s])
        for c, category in enumerate(categories)
        for s, name in enumerate(series)
    )


def _new_names(rng: np.random.Generator, labels: OpenLabels, n: int, taken: list[str]) -> list[str]:
    names = labels.draw(rng, n + len(taken), 800 / n - 70)
    return [name for name in names if name not in taken][:n]


def _values(rng: np.random.Generator, n: int) -> list[int]:
    """Distinct integers of 3..99, so that highest and lowest are never tied."""
    top = int(rng.integers(30, 100))
    return [int(value) + 3 for value in rng.choice(top - 2, n, replace=False)]


def _shares(rng: np.random.Generator, n: int) -> list[int]:
    """Distinct integer percentages of at least 7 that sum to 100."""
    while True:
        cuts = np.sort(rng.choice(np.arange(1, 100), n - 1, replace=False))
        shares = np.diff(np.concatenate(([0], cuts, [100])))
        if shares.min() >= 7 and len(set(shares.tolist())) == n:
            return [int(share) for share in shares]
