from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gazelab.attention.rows import predicting_row, wanted_rows
from gazelab.core.errors import AttentionError


def test_V5_the_prompts_last_position_predicts_the_first_token():
    assert predicting_row(prompt_length=10, token=0) == 9
    assert predicting_row(prompt_length=10, token=3) == 12


@pytest.mark.parametrize(("prompt_length", "token"), [(0, 0), (5, -1)])
def test_V5_no_row_without_a_prompt_or_for_a_negative_token(prompt_length, token):
    with pytest.raises(ValueError, match="prompt"):
        predicting_row(prompt_length, token)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("last", [9]),
        (None, [9]),
        ("all", [6, 7, 8, 9]),
        (7, [7]),
        (-1, [9]),
        (2, []),
        ([8, 6, 8], [6, 8]),
        (np.array([6, 99]), [6]),
        (torch.tensor([9, 7]), [7, 9]),
        (range(5, 8), [6, 7]),
        (slice(8, None), [8, 9]),
        (slice(-3, -1), [7, 8]),
    ],
)
def test_rows_of_a_pass_over_the_positions_6_to_9(rows, expected):
    assert wanted_rows(rows, 6, 10) == expected


def test_an_unknown_word_is_refused():
    with pytest.raises(AttentionError, match='"first" is unknown'):
        wanted_rows("first", 0, 4)


@given(st.lists(st.integers(-30, 30)), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_positions_come_once_each_however_the_sequence_is_cut_into_passes(rows, lengths):
    positive = [row for row in rows if row >= 0]
    total = sum(lengths)
    starts = np.cumsum([0, *lengths])
    pieces = [row for a, b in pairwise(starts) for row in wanted_rows(positive, a, b)]
    assert pieces == wanted_rows(positive, 0, total)
