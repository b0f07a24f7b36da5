import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.attention.next_token import entropy_bits, reshaped

HALVES = [0.5, 0.25, 0.125]


def test_temperature_1_keeps_the_proportions():
    np.testing.assert_allclose(reshaped(HALVES), [4 / 7, 2 / 7, 1 / 7])


def test_temperature_a_half_squares_them():
    np.testing.assert_allclose(reshaped(HALVES, 0.5), [16 / 21, 4 / 21, 1 / 21])


def test_top_k_keeps_the_first_and_scales_them():
    np.testing.assert_allclose(reshaped(HALVES, 1, 2), [2 / 3, 1 / 3, 0])


def test_a_temperature_near_0_is_the_greedy_choice():
    np.testing.assert_allclose(reshaped(HALVES, 1e-3), [1, 0, 0], atol=1e-9)


def test_it_is_what_sampling_from_the_logits_would_use():
    logits = np.array([3.0, 1.0, 0.5, -2.0])
    whole = np.exp(logits) / np.exp(logits).sum()
    cut = np.exp(logits[:3] / 0.7)
    np.testing.assert_allclose(reshaped(whole, 0.7, 3)[:3], cut / cut.sum())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.05, 20), st.integers(1, 20))
def test_probabilities_sum_to_1_or_are_all_0(given_, temperature, k):
    made = reshaped(given_, temperature, k)
    assert np.isfinite(made).all()
    assert made.sum() == pytest.approx(1) or (made == 0).all()


@pytest.mark.parametrize(("temperature", "k"), [(0, 1), (-1, 1), (float("nan"), 1), (1, 0)])
def test_what_means_nothing_is_refused(temperature, k):
    with pytest.raises(ValueError, match="must be above 0"):
        reshaped(HALVES, temperature, k)


def test_entropy_counts_yes_or_no_questions():
    assert entropy_bits([1.0]) == 0
    assert entropy_bits([0.5, 0.5]) == 1
    assert entropy_bits([0.25] * 4) == 2
    assert entropy_bits([]) == 0
