"""Scores on maps small enough to check by hand."""

import builtins
import importlib.util
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import mannwhitneyu

from gazelab.core.errors import GazelabError
from gazelab.metrics import saliency as sal
from gazelab.metrics import transport
from gazelab.metrics.saliency import UndefinedScore

STEPS = np.arange(9.0).reshape(3, 3)
CORNER = [(2, 2)]


def noisy_map(rows=20, cols=30, seed=1):
    return np.random.default_rng(seed).random((rows, cols))


def undefined(score, *args):
    with pytest.warns(UndefinedScore) as caught:
        value = score(*args)
    assert math.isnan(value)
    return str(caught[0].message)


def test_S5_nss_uses_the_population_standard_deviation():
    # mean 4, population variance 60/9: (8 - 4) / sqrt(20/3)
    assert sal.nss(STEPS, CORNER) == pytest.approx(4 / math.sqrt(20 / 3))
    assert sal.nss(STEPS, CORNER) == pytest.approx(1.5492, abs=1e-4)


def test_nss_counts_a_repeated_fixation_each_time():
    assert sal.nss(STEPS, [(2, 2), (2, 2), (1, 1)]) == pytest.approx(2 / 3 * 1.5491933)


def test_fixations_are_x_then_y_and_fractions_belong_to_their_cell():
    wide = np.zeros((2, 5))
    wide[1, 4] = 1.0
    assert sal.nss(wide, [(4.99, 1.5)]) == sal.nss(wide, [(4, 1)]) > 2
    assert sal.nss(wide, [(1, 1)]) < 0


@pytest.mark.parametrize("score", [sal.nss, sal.auc, sal.auc_judd])
def test_S1_fixations_outside_are_dropped_with_a_count_and_never_wrapped(score):
    values = noisy_map(100, 200)
    on = [(10, 10), (150, 80), (150.5, 3)]
    off = [(-5, 10), (200, 10), (250, 10), (10, 100), (np.nan, 3), (3, -0.001)]
    assert score(values, on + off) == score(values, on)
    cells, n_dropped = sal.inside(on + off, values.shape)
    assert n_dropped == 6
    assert cells.tolist() == [[10, 10], [150, 80], [150, 3]]


def test_S1_only_fixations_outside_have_no_score_and_the_reason_counts_them():
    assert "2 outside" in undefined(sal.nss, STEPS, [(-1, 0), (3, 0)])
    assert "no fixation" in undefined(sal.auc, STEPS, [])


def test_G25_right_and_lower_edge_are_outside():
    assert sal.inside([(3, 0), (0, 3), (2.999, 2.999), (0, 0)], (3, 3))[1] == 2


@pytest.mark.parametrize("score", [sal.nss, sal.auc, sal.auc_judd])
def test_S3_a_density_is_no_set_of_fixations(score):
    with pytest.raises(TypeError, match="density"):
        score(STEPS, np.full((3, 3), 1 / 9))
    with pytest.raises(TypeError):
        score(STEPS, np.ones((3, 2), bool))


@pytest.mark.parametrize("score", [sal.cc, sal.sim, sal.kld])
def test_S3_fixations_are_no_density(score):
    with pytest.raises(TypeError, match="no density"):
        score(STEPS, [(2, 2), (1, 1)])
    with pytest.raises(ValueError, match="beside"):
        score(STEPS, np.ones((3, 4)))


def test_a_map_has_two_dimensions():
    with pytest.raises(TypeError):
        sal.nss(np.ones(9), CORNER)


DENSITY = np.array([[0.0, 0, 0], [0, 0.25, 0], [0, 0, 0.75]])
SPREAD = 0.25**2 + 0.75**2 - 1 / 9  # sum of squares about the mean, which is 1/9
FLAT, ZERO = np.full((3, 3), 0.1), np.zeros((3, 3))
ONE_HOT = np.zeros((3, 3))
ONE_HOT[2, 2] = 1.0


@pytest.mark.parametrize(
    ("name", "values", "nss", "auc", "cc", "sim"),
    [
        ("constant", FLAT, 0.0, 0.5, 0.0, 2 / 9),
        ("zero", ZERO, 0.0, 0.5, 0.0, None),
        ("one hot", ONE_HOT, math.sqrt(8), 17 / 18, (0.75 - 1 / 9) / math.sqrt(8 / 9 * SPREAD), 0.75),
        ("negative", STEPS - 8, 1.5491933, 17 / 18, 3 / math.sqrt(60 * SPREAD), 1 / 9 + 2 / 9),
        ("NaN", np.where(ONE_HOT > 0, np.nan, STEPS), None, None, None, None),
        ("infinite", np.where(ONE_HOT > 0, np.inf, STEPS), None, None, None, None),
    ],
)
def test_S4_degenerate_maps_have_a_stated_score_or_none(name, values, nss, auc, cc, sim):
    for score, against, expect in (
        (sal.nss, CORNER, nss),
        (sal.auc, CORNER, auc),
        (sal.cc, DENSITY, cc),
        (sal.sim, DENSITY, sim),
    ):
        if expect is None:
            undefined(score, values, against)
        else:
            assert score(values, against) == pytest.approx(expect, abs=1e-5), (name, score.__name__)


def test_S4_kld_of_degenerate_maps():
    # uniform p = 1/9: .25 ln(.25 x 9) + .75 ln(.75 x 9)
    assert sal.kld(FLAT, DENSITY) == pytest.approx(0.25 * math.log(2.25) + 0.75 * math.log(6.75))
    assert "zero" in undefined(sal.kld, ZERO, DENSITY)
    assert math.isfinite(sal.kld(ONE_HOT, DENSITY))
    assert sal.kld(ONE_HOT, DENSITY) > 5
    undefined(sal.kld, STEPS * np.nan, DENSITY)


def test_S4_a_map_that_is_constant_but_for_rounding_scores_at_chance():
    almost = np.full((3, 3), 0.1)
    almost[2, 2] = np.nextafter(0.1, 1)
    assert sal.nss(almost, CORNER) == 0
    assert sal.auc(almost, CORNER) == 0.5
    assert sal.cc(almost, DENSITY) == 0


def test_S4_a_map_of_tiny_values_scores_like_the_same_map_of_large_ones():
    assert sal.nss(STEPS * 1e-200, CORNER) == pytest.approx(sal.nss(STEPS, CORNER))
    assert sal.cc(STEPS * 1e-200, DENSITY) == pytest.approx(sal.cc(STEPS, DENSITY))


def test_S4_auc_judd_of_a_constant_map_has_no_curve():
    assert "constant" in undefined(sal.auc_judd, FLAT, CORNER)


def test_S6_auc_of_a_perfect_an_inverse_and_a_constant_map():
    cells = [(2, 0), (1, 1)]
    perfect = np.zeros((3, 3))
    perfect[0, 2] = perfect[1, 1] = 1
    assert sal.auc(perfect, cells, "unfixated") == 1.0
    assert sal.auc(-perfect, cells, "unfixated") == 0.0
    assert sal.auc(np.ones((3, 3)), cells) == 0.5
    # Against every cell a fixation also meets the fixated cells: 7 below, 2 tied, of 9.
    assert sal.auc(perfect, cells) == pytest.approx((7 + 1) / 9)


def test_S6_ties_count_one_half_as_ranks_do():
    values = np.repeat(np.arange(4.0), 6).reshape(4, 6)  # four levels, many ties
    cells = [(0, 3), (1, 2), (5, 3), (2, 0)]
    at = [values[y, x] for x, y in cells]
    ranks = mannwhitneyu(at, values.ravel()).statistic / (len(at) * values.size)
    assert sal.auc(values, cells) == pytest.approx(ranks)


def test_S6_shuffled_auc_needs_fixations_of_other_pictures_and_draws_nothing():
    assert sal.shuffled_auc(STEPS, CORNER, [(0, 0), (2, 2)]) == 0.75  # one below, one tied
    assert "other pictures" in undefined(sal.shuffled_auc, STEPS, CORNER, [(9, 9)])


def test_S6_auc_refuses_an_unknown_variant():
    with pytest.raises(ValueError, match="uniform"):
        sal.auc(STEPS, CORNER, "borji")


def test_S6_auc_judd_by_hand():
    # Fixated values 8 and 4. Threshold 8: hits 1/2, false 0/7; threshold 4: hits 2/2, false 3/7.
    expect = (0.5 + 1.0) / 2 * 3 / 7 + 4 / 7
    assert sal.auc_judd(STEPS, [(2, 2), (1, 1), (1, 1)]) == pytest.approx(expect)


def test_cc_and_sim_by_hand():
    a, b = np.array([[1.0, 3.0]]), np.array([[3.0, 1.0]])
    assert sal.cc(a, b) == pytest.approx(-1.0)
    assert sal.sim(a, b) == pytest.approx(0.5)
    assert sal.cc(a, a) == pytest.approx(1.0)


def test_S7_kld_of_a_map_with_itself_is_zero_whatever_its_scale():
    values = noisy_map()
    assert abs(sal.kld(values * 255, values / values.sum())) < 1e-6
    assert sal.sim(values * 255, values) == pytest.approx(1.0)


def test_information_gain_in_bits():
    even, twice = np.ones((2, 2)), np.array([[2.0, 1], [0.5, 0.5]])
    assert sal.information_gain(twice, [(0, 0)], even) == pytest.approx(1.0)
    assert sal.information_gain(even, [(0, 0), (1, 1)], even) == 0
    assert sal.information_gain(twice, [(0, 0), (0, 1)], even) == pytest.approx(0.0, abs=1e-9)


def test_emd_is_the_way_the_mass_goes():
    a, b = np.zeros((8, 32)), np.zeros((8, 32))
    a[3, 2] = 1.0
    b[5, 30] = 2.0  # scaled to 1; block centres (4, 4) and (28, 4)
    assert sal.emd(a, b, 8) == pytest.approx(24.0)
    assert sal.emd(a, a, 8) == pytest.approx(0.0, abs=1e-12)
    undefined(sal.emd, np.zeros((8, 32)), b, 8)


def test_emd_of_a_map_whose_sides_are_no_multiple_of_the_block():
    a, b = np.zeros((1, 10)), np.zeros((1, 10))
    a[0, 0], b[0, 9] = 1.0, 1.0
    assert sal.emd(a, b, 8) == pytest.approx(9 - 4)  # centres of [0, 8) and [8, 10)
    with pytest.raises(ValueError):
        sal.emd(a, b, 0)


def test_emd_without_pot_solves_small_maps_and_names_the_extra_for_large_ones(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ot" else real(name))
    monkeypatch.setattr(builtins, "__import__", _without_ot(builtins.__import__))
    a, b = noisy_map(4, 6, 1), noisy_map(4, 6, 2)
    assert 0 < sal.emd(a, b, 1) < 2
    with pytest.raises(GazelabError, match="compare"):
        sal.emd(noisy_map(30, 30), noisy_map(30, 30), 1)


def _without_ot(real):
    def importer(name, *args, **kwargs):
        assert name != "ot"
        return real(name, *args, **kwargs)

    return importer


@pytest.mark.skipif(importlib.util.find_spec("ot") is None, reason="the extra `compare` is not installed")
def test_emd_with_pot_equals_the_linear_programme():
    a, b = noisy_map(6, 8, 1).ravel(), noisy_map(6, 8, 2).ravel()
    a, b = a / a.sum(), b / b.sum()
    cost = np.random.default_rng(3).random((48, 48))
    assert transport._by_pot(a, b, cost) == pytest.approx(transport._by_linear_programme(a, b, cost))


def test_reasoned_gives_the_reason_in_place_of_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, why = sal.reasoned(sal.sim, ZERO, DENSITY)
        assert math.isnan(value)
        assert "zero everywhere" in why
        assert sal.reasoned(sal.nss, STEPS, CORNER) == (pytest.approx(1.5491933), None)


maps = hnp.arrays(float, (5, 7), elements=st.floats(0, 100))
cells = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=12)


@given(maps, cells)
def test_auc_turns_round_with_the_map_and_stays_in_range(values, points):
    for negatives in ("uniform", "unfixated"):
        one, other = sal.auc(values, points, negatives), sal.auc(-values, points, negatives)
        assert 0 <= one <= 1
        assert one + other == pytest.approx(1.0)


@given(maps, maps)
def test_cc_and_sim_are_symmetric_and_in_range(a, b):
    assert sal.cc(a, b) == pytest.approx(sal.cc(b, a))
    assert -1 <= sal.cc(a, b) <= 1
    if a.any() and b.any():
        assert 0 <= sal.sim(a, b) <= 1 + 1e-9
        assert sal.kld(a, b) > -1e-6
