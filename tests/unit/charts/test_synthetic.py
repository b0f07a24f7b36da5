from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.charts.item import Element
from gazelab.charts.shipped import load_charts, write_charts
from gazelab.charts.synthetic import CHART_KINDS, Chart, ChartKind, draw_chart
from gazelab.charts.synthetic_questions import WEIGHTS, allowed, ask, ask_kind, question_words
from gazelab.charts.synthetic_words import COLOURS, label_words


def chart_of(seed: int, kind: ChartKind | None = None) -> Chart:
    return draw_chart(np.random.default_rng(seed), kind)


def crop(chart: Chart, element: Element) -> np.ndarray:
    box = element.box
    return chart.picture[int(box.top_px) : int(box.bottom_px), int(box.left_px) : int(box.right_px)]


def test_the_same_seed_draws_the_same_pixels() -> None:
    assert np.array_equal(chart_of(3).picture, chart_of(3).picture)
    assert not np.array_equal(chart_of(3).picture, chart_of(4).picture)


@given(st.integers(0, 10**6), st.sampled_from(CHART_KINDS))
def test_every_datum_has_a_label_a_value_and_a_mark_that_are_drawn_inside_the_picture(
    seed: int, kind: ChartKind
) -> None:
    chart = chart_of(seed, kind)
    for i, datum in enumerate(chart.data):
        by_role = {element.role: element for element in chart.elements_of(i)}
        assert {"label", "value", "mark"} <= by_role.keys()
        assert by_role["label"].text == datum.category
        assert by_role["value"].text == str(datum.value)
        for element in by_role.values():
            box = element.box
            assert 0 <= box.left_px < box.right_px <= 1024
            assert 0 <= box.top_px < box.bottom_px <= 768
        ink = crop(chart, by_role["value"])
        assert ink.min() < 90 or ink.max() > 240  # dark on light, or white on a dark slice
        assert len(np.unique(ink.reshape(-1, 3), axis=0)) > 2


@given(st.integers(0, 10**6))
def test_the_mark_of_a_bar_is_as_tall_as_its_value(seed: int) -> None:
    chart = chart_of(seed, "bar")
    marks = [e for e in chart.elements if e.role == "mark"]
    heights = np.array([e.box.bottom_px - e.box.top_px for e in marks])
    values = np.array([d.value for d in chart.data])
    assert np.allclose(heights / values, heights[0] / values[0])


@given(st.integers(0, 10**6))
def test_pie_shares_sum_to_100(seed: int) -> None:
    assert sum(d.value for d in chart_of(seed, "pie").data) == 100


@given(st.integers(0, 10**6))
def test_questions_are_answered_by_the_data(seed: int) -> None:
    chart = chart_of(seed)
    rng = np.random.default_rng(seed)
    values = {str(d.value) for d in chart.data}
    for kind in WEIGHTS:
        if not allowed(chart, kind):
            continue
        question = ask_kind(rng, chart, kind)
        asked = [e for e in chart.elements if e.element_id in question.asked]
        assert asked
        if kind in ("value", "value by colour", "highest value", "lowest value"):
            assert question.answer in values
            assert question.answer in {e.text for e in asked if e.role == "value"}
        if kind == "difference":
            first, second = map(int, question.working.split("-"))
            assert question.answer == str(first - second)
            assert {str(first), str(second)} <= values
        if kind == "comparison":
            first, second = map(int, question.working.split(","))
            assert question.answer == ("Yes" if first > second else "No")
        if kind == "count":
            assert int(question.answer) == len(chart.data)


@pytest.mark.parametrize("kind", CHART_KINDS)
def test_highest_label_names_the_tallest_of_its_series(kind: ChartKind) -> None:
    chart = chart_of(5, kind)
    question = ask_kind(np.random.default_rng(0), chart, "highest label")
    members = [d for d in chart.data if d.series is None or f"of {d.series}?" in question.text]
    assert question.answer == max(members, key=lambda d: d.value).category


@given(st.integers(0, 10**6))
def test_questions_of_one_chart_differ_and_use_known_words_only(seed: int) -> None:
    chart = chart_of(seed)
    questions = ask(np.random.default_rng(seed), chart, 8)
    assert len({q.text for q in questions}) == len(questions) > 0
    known = {*label_words(), *COLOURS, *question_words()}
    assert {word for q in questions for word in q.text.lower().rstrip("?").split()} <= known


def test_shipped_charts_are_24_with_every_type_and_kind() -> None:
    items = load_charts("shipped")
    assert len({item.chart_id for item in items}) == len(items) == 24
    assert {item.kind for item in items} == set(WEIGHTS)
    for item in items:
        assert item.asked_elements()
        assert item.picture().rgb.shape == (768, 1024, 3)


def test_shipped_charts_are_what_the_generator_draws(tmp_path: Path) -> None:
    write_charts(tmp_path, n=3)
    for made, shipped in zip(load_charts(tmp_path), load_charts("shipped"), strict=False):
        assert (made.question, made.answer, made.asked) == (shipped.question, shipped.answer, shipped.asked)
