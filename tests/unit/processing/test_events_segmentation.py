"""The dynamic programme against a search through every cut."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.processing import events_candidates
from gazelab.processing import events_segmentation as seg
from gazelab.processing.events_edges import Motion, bounds_ns, trim
from gazelab.processing.events_ivt import merge, runs, slow_pieces, speed_deg_s
from gazelab.processing.events_noise import HEADROOM, Noise
from gazelab.processing.events_segmentation import Begun, Segmentation, Spot, Weights, add_sums

STEP_S = 1 / 30
SD_DEG = 0.5
NOISE = Noise(SD_DEG / HEADROOM)
WANDERING = Noise(SD_DEG / HEADROOM, 0.7)
LITTLE = Noise(0.1)


def scatter(t, z, noise):
    """Half the squared distance to the likeliest mean, by the whole covariance of the samples."""
    lags = np.abs(t[:, None] - t[None, :]) / STEP_S
    carry = noise.believed().carry
    inverse = np.linalg.inv(SD_DEG**2 * (carry**lags if carry else np.eye(len(t))))
    mean = inverse.sum(0) @ z / inverse.sum()
    return sum(column @ inverse @ column for column in (z - mean).T) / 2


def cost(t, z, pieces, noise):
    """The definition, term by term."""
    total = seg.LONE_COST * (len(z) - sum(b - a + 1 for a, b in pieces))
    for a, b in pieces:
        total += seg.FIXATION_COST + scatter(t[a : b + 1], z[a : b + 1], noise)
    return total


def every_cut(t, n):
    """All sets of disjoint fixations of at least 60 ms and two samples."""
    spans = [
        (a, b)
        for a, b in itertools.combinations(range(n), 2)
        if t[b] - t[a] + STEP_S >= seg.MIN_FIXATION_S - 1e-9
    ]

    def extend(start):
        yield []
        for a, b in spans:
            if a >= start:
                for rest in extend(b + 1):
                    yield [(a, b), *rest]

    return extend(0)


places = st.lists(
    st.tuples(st.sampled_from([0.0, 0.4, 3.0, 9.0]), st.sampled_from([0.0, 2.0])), min_size=1, max_size=9
)


@pytest.mark.parametrize("noise", [NOISE, WANDERING])
@given(places, st.lists(st.floats(0.01, 0.07), min_size=9, max_size=9))
@settings(max_examples=60)
def test_E5_the_cut_costs_no_more_than_any_other(noise, rows, steps):
    z = np.array(rows)
    t = np.cumsum(steps)[: len(z)]
    cut = Segmentation(noise, STEP_S)
    for now, (x, y) in zip(t, z, strict=True):
        cut.push(now, x, y)
    pieces, _ = cut.pieces(ended=True)
    least = min(cost(t, z, p, noise) for p in every_cut(t, len(z)))
    assert cost(t, z, pieces, noise) == pytest.approx(least)


def test_one_more_fixation_costs_more_at_60_hz_and_never_less_than_at_30():
    costs = [Weights(NOISE, 1 / rate).fixation_cost for rate in (15, 30, 60)]
    assert costs == pytest.approx([seg.FIXATION_COST, seg.FIXATION_COST, seg.FIXATION_COST + 3])
    assert Weights(NOISE, math.nan).fixation_cost == seg.FIXATION_COST


def test_two_still_places_and_a_sample_in_flight():
    x = [0.0] * 6 + [4.0] + [8.0] * 6
    cut = Segmentation(LITTLE, STEP_S)
    for i, now in enumerate(x):
        cut.push(i * STEP_S, now, 0.0)
    assert cut.pieces(ended=True) == ([(0, 5), (7, 12)], True)


def test_a_fixation_that_has_just_begun_is_seen_only_while_it_may_go_on():
    cut = Segmentation(LITTLE, STEP_S)
    for i, now in enumerate([0.0] * 6 + [8.0]):
        cut.push(i * STEP_S, now, 0.0)
    assert cut.pieces(ended=True) == ([(0, 5)], False)
    assert cut.pieces(ended=False)[0][0] == (0, 5)


@pytest.mark.parametrize("noise", [NOISE, WANDERING])
def test_going_on_from_sums_equals_having_seen_the_samples(noise):
    rng = np.random.default_rng(2)
    x, y = rng.normal(0, 0.2, (2, 20))
    x[14:] += 6
    whole = Segmentation(noise, STEP_S)
    for i in range(20):
        whole.push(i * STEP_S, x[i], y[i])
    weights, spots = Weights(noise, STEP_S), [Spot(i * STEP_S, x[i], y[i]) for i in range(10)]
    sums = weights.first(spots[0])
    for before, spot in itertools.pairwise(spots):
        sums = add_sums(sums, weights.later(before, spot))
    rest = Segmentation(noise, STEP_S, Begun(10, sums, 0.0, spots[-1]))
    for i in range(10, 20):
        rest.push(i * STEP_S, x[i], y[i])
    pieces, is_open = whole.pieces(ended=False)
    shifted = [(a - 10, b - 10) for a, b in pieces]
    assert rest.pieces(ended=False) == (shifted, is_open)
    assert pieces[0] == (0, 13)


def test_a_fixation_may_end_where_the_sums_end():
    weight = Weights(LITTLE, STEP_S).first(Spot(0.0, 0.0, 0.0))[0]
    begun = Begun(10, (10 * weight, 0.0, 0.0, 0.0), 0.0, Spot(9 * STEP_S, 0.0, 0.0))
    cut = Segmentation(LITTLE, STEP_S, begun)
    for i in range(4):
        cut.push((10 + i) * STEP_S, 9.0, 0.0)
    assert cut.pieces(ended=False) == ([(-10, -1), (0, 3)], True)


def test_a_stare_of_ten_minutes_keeps_few_candidates_and_is_one_fixation():
    rng = np.random.default_rng(0)
    cut = Segmentation(Noise(0.05), STEP_S)
    for i in range(18_000):
        cut.push(i * STEP_S, *rng.normal(0, 0.05, 2))
    assert cut.pieces(ended=True) == ([(0, 17_999)], True)
    assert len(cut._candidates) <= events_candidates.MAX_CANDIDATES


def motion(t, x, noise=0.01):
    x = np.asarray(x, float)
    return Motion.between(np.asarray(t), x, np.zeros(len(x)), noise)


def test_trim_cuts_what_is_too_fast_off_both_ends():
    t = np.arange(8) / 60
    still = motion(t, [0, 0, 0, 0, 2, 2.7, 2.8, 2.8])  # 2 degrees in 17 ms, then .7
    assert trim([(0, 3), (4, 7)], still) == [(0, 3), (6, 7)]
    assert trim([(0, 4)], still) == [(0, 3)]


def test_trim_waits_45_ms_where_noise_hides_the_speed():
    t = np.arange(8) / 30
    noisy = motion(t, [0, 0, 0, 0, 2, 2, 2, 2], noise=1.0)
    assert noisy.blurred[1:].all()
    assert trim([(0, 3), (4, 7)], noisy) == [(0, 3), (5, 7)]
    assert trim([(0, 3), (5, 7)], noisy) == [(0, 3), (5, 7)]  # a sample lies between: nothing to wait for
    assert trim([(0, 3), (4, 4)], noisy) == [(0, 3), (4, 4)]


def test_bounds_reach_midway_to_a_neighbour_but_not_into_a_loss():
    t = np.array([0, 30, 60, 90, 300, 330], np.int64) * 1_000_000
    found = bounds_ns([(0, 1), (2, 3), (4, 5)], t, 0.030, (0, 4)).tolist()
    assert found[0] == [0, 44_999_999]
    assert found[1] == [45_000_000, 90_000_000]
    assert bounds_ns([(4, 5)], t, 0.030, (4, 6)).tolist() == [[300_000_000, 330_000_000]]
    assert bounds_ns([(3, 3)], t, 0.030, (0, 6)).tolist() == [[75_000_000, 105_000_000]]  # half an interval


def test_speed_is_taken_over_20_ms_of_real_time():
    t = np.array([0, 4, 9, 15, 20, 26]) / 1000
    x = np.array([0, 0, 0, 1, 1, 1], float)
    # The window of sample 2 (9 ms) holds 0..15 ms: one degree in 15 ms.
    assert speed_deg_s(t, x, np.zeros(6))[2] == pytest.approx(1 / 0.015)


def test_speed_of_coarse_samples_is_that_since_the_sample_before():
    t = np.arange(4) / 30
    found = speed_deg_s(t, np.array([0, 0, 2, 2], float), np.zeros(4))
    assert found.tolist() == pytest.approx([0, 0, 60, 0])
    assert math.isnan(speed_deg_s(np.array([0.0]), np.zeros(1), np.zeros(1))[0])


def test_slow_pieces_and_merging_by_hand():
    t = np.arange(60) / 500
    x = np.where(np.arange(60) < 30, 0.0, 5.0)
    # The window reaches 5 samples either way: from sample 25 on it holds the jump.
    assert slow_pieces(t, x, np.zeros(60)) == [(0, 24), (35, 59)]
    assert merge([(0, 24), (35, 59)], t, x * 0.09, np.zeros(60)) == [(0, 59)]  # .45 degrees apart
    assert merge([(0, 24), (35, 59)], t * 10, x * 0.09, np.zeros(60)) == [(0, 24), (35, 59)]  # 200 ms apart


def test_runs():
    assert runs(np.array([], bool)) == []
    assert runs(np.array([1, 1, 0, 1], bool)) == [(0, 1), (3, 3)]


def test_pruning_changes_nothing_on_a_long_noisy_path(monkeypatch):
    rng = np.random.default_rng(4)
    z = np.repeat(rng.uniform(-12, 12, (120, 2)), rng.integers(4, 40, 120), axis=0)
    z += rng.normal(0, SD_DEG, z.shape)

    def pieces():
        cut = Segmentation(NOISE, STEP_S)
        for i, (x, y) in enumerate(z):
            cut.push(i * STEP_S, x, y)
        return cut.pieces(ended=True)

    pruned = pieces()
    monkeypatch.setattr(events_candidates, "MAX_CANDIDATES", 1_000_000)
    assert pieces() == pruned
