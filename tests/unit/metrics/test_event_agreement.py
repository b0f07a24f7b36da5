from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gazelab.metrics.event_agreement import blind_pieces, event_f1


def test_the_same_events_score_one_and_none_in_common_zero():
    events = [(0, 100), (150, 300)]
    assert event_f1(events, events) == 1.0
    assert event_f1(events, [(400, 500)]) == 0.0


def test_an_overlap_of_a_half_counts_and_less_does_not():
    assert event_f1([(0, 100)], [(0, 50)]) == 1.0
    assert event_f1([(0, 100)], [(0, 49)]) == 0.0


def test_one_event_cannot_match_two():
    # (0, 100) over (0, 60) is .6, over (40, 100) .6: one of them stays alone: 2 * 1 / (1 + 2)
    assert event_f1([(0, 100)], [(0, 60), (40, 100)]) == 2 / 3


def test_the_best_pair_is_matched_first():
    # (0, 100) fits (0, 100) exactly; (0, 150) then has (10, 150) left
    assert event_f1([(0, 100), (0, 150)], [(10, 150), (0, 100)]) == 1.0


def test_nothing_against_nothing_is_undefined():
    assert np.isnan(event_f1([], []))
    assert event_f1([(0, 1)], []) == 0.0


def test_blind_pieces_are_equal_and_stay_inside():
    assert blind_pieces(0, 1000, 300).tolist() == [[0, 300], [300, 600], [600, 900]]


spans = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 300)).map(lambda p: (p[0], p[0] + p[1])))


@given(spans, spans)
def test_f1_lies_in_0_1_and_does_not_care_who_is_first(a, b):
    score = event_f1(a, b)
    if a or b:
        assert 0 <= score <= 1
        assert score == event_f1(b, a)
