import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.charts.synthetic import CHART_KINDS, ChartKind, draw_chart
from gazelab.charts.synthetic_draw import label_width_px
from gazelab.charts.synthetic_labels import LONGEST, OpenLabels, Split, everyday, held_out, invent
from gazelab.charts.synthetic_questions import question_words
from gazelab.charts.synthetic_words import COLOURS, label_words


def test_the_splits_share_no_word_and_one_in_ten_is_held_out() -> None:
    seen, unseen = set(everyday("seen")), set(everyday("unseen"))
    assert not seen & unseen
    assert 0.06 < len(unseen) / len(seen | unseen) < 0.16
    assert not any(held_out(word) for word in label_words())


def test_the_split_is_by_letters_and_so_the_same_everywhere() -> None:
    assert held_out("kitchen")
    assert held_out("Kitchen")
    assert not held_out("lantern")


@given(st.integers(0, 10**6), st.sampled_from(("seen", "unseen")))
def test_drawn_words_are_of_their_split_differ_and_fit(seed: int, split: Split) -> None:
    words = OpenLabels(split).draw(np.random.default_rng(seed), 5, 150.0)
    assert len({word.lower() for word in words}) == 5
    for word in words:
        assert held_out(word) == (split == "unseen")
        assert label_width_px(word) <= 150.0
        assert word.lower() not in {*question_words(), *COLOURS}


def test_both_splits_have_the_same_mixture_of_sorts() -> None:
    shares = []
    for split in ("seen", "unseen"):
        rng, labels = np.random.default_rng(4), OpenLabels(split)  # type: ignore[arg-type]
        words = [labels.draw(rng, 1, 400.0)[0].lower() for _ in range(600)]
        shares.append(sum(word in everyday(labels.split) for word in words) / len(words))
    assert shares[0] == pytest.approx(0.35, abs=0.06)
    assert shares[1] == pytest.approx(0.35, abs=0.06)


@given(st.integers(0, 10**6))
def test_invented_words_are_letters_only_and_short_enough(seed: int) -> None:
    word = invent(np.random.default_rng(seed))
    assert word.isascii()
    assert word.isalpha()
    assert 1 <= len(word) <= LONGEST


@given(st.integers(0, 10**6), st.sampled_from(CHART_KINDS))
def test_open_labels_stay_inside_the_picture_and_apart(seed: int, kind: ChartKind) -> None:
    chart = draw_chart(np.random.default_rng(seed), kind, OpenLabels("seen"))
    labels = [e.box for e in chart.elements if e.role in ("label", "legend")]
    for box in labels:
        assert 0 <= box.left_px < box.right_px <= 1024
    if kind != "pie":
        for a, b in itertools.pairwise(labels):
            apart = a.right_px < b.left_px or a.bottom_px < b.top_px or b.bottom_px < a.top_px
            assert apart
    names = [d.category for d in chart.data] + [d.series for d in chart.data if d.series]
    assert len(set(names)) == len({d.category for d in chart.data}) + len(
        {d.series for d in chart.data} - {None}
    )


def test_charts_of_the_closed_list_are_drawn_as_before() -> None:
    chart = draw_chart(np.random.default_rng(1))
    assert {d.category.lower() for d in chart.data} <= set(label_words())


@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_the_same_seed_draws_the_same_words(split: Split) -> None:
    first, again = (OpenLabels(split).draw(np.random.default_rng(8), 4, 300.0) for _ in range(2))
    assert first == again
