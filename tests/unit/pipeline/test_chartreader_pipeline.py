import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gazelab.attention.chartreader.model import AnswerStep, ChartReader
from gazelab.attention.chartreader.spelling import SpellingTokenizer
from gazelab.charts.scoring import strict
from gazelab.charts.shipped import load_charts
from gazelab.charts.synthetic import CHART_KINDS, ChartKind, draw_chart
from gazelab.charts.synthetic_labels import OpenLabels, held_out
from gazelab.charts.synthetic_questions import ask, ask_kind
from gazelab.core.geometry import PatchGrid
from gazelab.pipeline.evaluate_chartreader import CLOSED, SEEN, UNSEEN, asked_cells, evaluate_chartreader
from gazelab.pipeline.train_chartreader import (
    SyntheticChartSource,
    glyphs,
    reading_target,
    train_chartreader,
    training_question,
)

ROWS, COLS = 12, 16
GOOD_HEAD = (2, 3)


class Oracle:
    """A reader that knows the answers and looks at the asked cells with one head.

    It answers a blanked picture right only if none of the asked cells was blanked.
    """

    def __init__(self, seed: int, charts: int, questions: int, wrong: str = "") -> None:
        self.wrong = wrong
        rng = np.random.default_rng(seed)
        self.known = []
        for _ in range(charts):
            chart = draw_chart(rng)
            self.known += [(chart, question) for question in ask(rng, chart, questions)]

    def grid(self, width_px: int, height_px: int) -> PatchGrid:
        return PatchGrid.stretched(ROWS, COLS, width_px, height_px)

    def answer(self, picture: np.ndarray, text: str) -> Iterator[AnswerStep]:
        for chart, question in self.known:
            same = (picture == chart.picture) | (picture == 255)
            if question.text != text or not same.all():
                continue
            asked = asked_cells(chart, question, self.grid(1024, 768))
            changed = (picture != chart.picture).any(-1).reshape(ROWS, 64, COLS, 64).any((1, 3))
            right = question.kind != self.wrong and not (changed & asked).any()
            maps = np.full((4, 6, ROWS, COLS), 1 / (ROWS * COLS), np.float32)
            maps[GOOD_HEAD] = asked / asked.sum()
            yield AnswerStep(question.answer if right else "?", 0, 1.0, (), maps)
            return
        raise AssertionError("asked something that the evaluation should not ask")

    def answer_text(self, steps: Iterable[AnswerStep]) -> str:
        return "".join(step.token for step in steps)


def test_a_perfect_reader_scores_one_and_its_looking_head_is_found() -> None:
    result = evaluate_chartreader(Oracle(5, 12, 4), charts=12, questions=4, blanked=5, seed=5)  # type: ignore[arg-type]
    assert result.overall.asked == result.overall.strict == result.overall.published > 30
    found = result.attention
    assert found is not None
    assert (found.layer, found.head) == GOOD_HEAD
    assert found.share_on_asked == pytest.approx(1.0)
    assert found.pointing == 1.0
    assert 0 < found.area_of_asked < 0.5
    assert found.right_after_blanking == 0.0
    assert found.n_blanked == 5
    assert "layer 2, head 3, counted from 0" in result.table()


def test_wrong_answers_count_under_their_kind_only() -> None:
    oracle = Oracle(6, 12, 4, wrong="count")
    result = evaluate_chartreader(oracle, charts=12, questions=4, blanked=0, seed=6)  # type: ignore[arg-type]
    rows = result.to_json()["by_kind"]
    assert rows["count"]["strict"] == 0.0
    assert rows["value"]["strict"] == 1.0
    assert rows["all"]["n"] == result.overall.asked


@pytest.mark.parametrize("kind", CHART_KINDS)
def test_reading_targets_tell_the_truth_of_their_element(kind: str) -> None:
    chart = draw_chart(np.random.default_rng(1), kind)  # type: ignore[arg-type]
    for element in (e for e in chart.elements if e.data):
        target = reading_target(chart, element)
        assert 0 <= target.x_norm < 1
        assert 0 <= target.y_norm < 1
        if element.role == "value":
            assert target.number == int(element.text)
        if element.role in ("label", "legend"):
            assert element.text == target.label
        if element.role in ("mark", "legend"):
            assert target.colour is not None
        assert set(target.drawn) <= {"label", "series", "number", "colour"}
    extremes = [reading_target(chart, e).extreme for e in chart.elements if e.role == "mark"]
    assert {"highest", "lowest"} <= set(extremes)


def test_questions_know_their_own_words_and_spell_the_labels() -> None:
    source = SyntheticChartSource()
    tokenizer = SpellingTokenizer(source.words)
    rng = np.random.default_rng(2)
    for practice in (True, False):
        chart = source.draw(rng, 8, practice)
        labels = {str(name).lower() for t in chart.reading for name in (t.label, t.series)}
        for question in chart.questions:
            for piece in re.findall(r"\w+", question.text.lower()):
                assert (piece in source.words) != (piece in labels)
            assert tokenizer.unknown_pieces(question.text) == ()
            written = tokenizer.decode(tokenizer.encode(question.answer))
            assert written == question.answer


def test_training_never_draws_a_word_that_is_held_out() -> None:
    source, rng = SyntheticChartSource(), np.random.default_rng(3)
    for _ in range(40):
        trained, tested = source.draw(rng, 1, True), source.draw(rng, 1, False)
        assert not any(held_out(t.label) for t in trained.reading if t.label)
        assert all(held_out(t.label) for t in tested.reading if t.label)


@pytest.mark.parametrize("kind", CHART_KINDS)
def test_every_character_lies_in_the_box_of_its_text(kind: ChartKind) -> None:
    chart = draw_chart(np.random.default_rng(4), kind, OpenLabels("seen"))
    texts = [e for e in chart.elements if e.role in ("label", "legend", "value")]
    found = iter(glyphs(chart))
    for element in texts:
        box, at = element.box, -1.0
        for place, character in enumerate(element.text):
            glyph = next(found)
            assert (glyph.character, glyph.place) == (character, place)
            assert box.left_px - 1 <= glyph.x_norm * 1024 <= box.right_px + 1
            assert box.top_px <= glyph.y_norm * 768 <= box.bottom_px
            assert glyph.x_norm > at
            at = glyph.x_norm
    assert next(found, None) is None


def test_each_number_of_a_working_is_looked_for_where_it_is_written() -> None:
    chart = draw_chart(np.random.default_rng(5), "bar")
    question = ask_kind(np.random.default_rng(6), chart, "difference")
    asked = training_question(chart, question)
    _, second = asked.looks
    assert asked.answer[second.character - 1] == "-"
    for look, number in zip(asked.looks, question.working.split("-"), strict=True):
        (value,) = (e for e in chart.elements if e.role == "value" and e.text == number)
        x, y = value.box.centre_px
        assert any(a * 1024 < x < c * 1024 and b * 768 < y < d * 768 for a, b, c, d in look.boxes)
        assert len(look.boxes) == 3  # label, value and mark of one datum


def test_training_from_the_verb_makes_weights_that_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Time stands still for the first steps and is up after them: the verb stops by the clock alone.
    ticks = iter([0.0, 0.0, 1e9])
    monkeypatch.setattr("time.monotonic", lambda: next(ticks, 1e9))
    path = train_chartreader(tmp_path, 1.0, seed=3)
    reader = ChartReader.load(path)
    assert reader.facts["training"]["seed"] == 3
    assert reader.facts["steps"] == 2


def test_shipped_weights_answer_the_shipped_charts_and_say_how_good_they_are() -> None:
    reader = ChartReader.load()
    items = load_charts("shipped")
    right = [strict(reader.answer_text(reader.answer(i.picture().rgb, i.question)), i.answer) for i in items]
    assert sum(right) >= 22
    scores = reader.facts["held_out"]["by_labels"]
    assert set(scores) == {CLOSED, SEEN, UNSEEN}
    for one in scores.values():
        assert one["by_kind"]["all"]["strict"] >= 0.9
        assert one["by_kind"]["value"]["strict"] >= 0.95
        assert one["by_kind"]["all"]["n"] >= 800


@pytest.mark.parametrize("labels", [CLOSED, UNSEEN])
def test_shipped_weights_answer_fresh_charts_as_well_as_they_say(labels: str) -> None:
    result = evaluate_chartreader(
        ChartReader.load(), charts=12, questions=4, blanked=6, seed=11, labels=labels
    )
    assert result.overall.strict / result.overall.asked >= 0.85
    assert result.attention is not None
    assert result.attention.share_on_asked > 2 * result.attention.area_of_asked
