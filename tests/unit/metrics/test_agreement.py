import json
import math
import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from gazelab.metrics import chance
from gazelab.metrics import saliency as sal
from gazelab.metrics.agreement import Agreement, centre_prior, mean_score, score_map
from gazelab.metrics.density import fixation_density

SHAPE = (60, 80)
SIGMA = 2.4
POINTS = np.array([(12, 9), (14, 12), (15, 10), (60, 44), (58, 47), (40, 20), (11, 50)], float)


def human(points=POINTS, shape=SHAPE):
    return fixation_density(points[:, 0], points[:, 1], None, shape, SIGMA)


def test_V18_a_map_stands_beside_its_baselines_and_chance():
    found = score_map(human(), POINTS, sigma_px=SIGMA)
    assert list(found.rows) == ["map", "uniform", "centre"]
    assert found.rows["map"]["cc"] == pytest.approx(1.0)
    assert found.rows["map"]["kld"] == pytest.approx(0.0, abs=1e-9)
    assert found.rows["uniform"]["nss"] == 0
    assert found.rows["uniform"]["auc"] == 0.5
    assert found.rows["centre"]["ig_bits"] == 0
    for score in ("nss", "auc", "cc", "sim", "ig_bits"):
        assert found.rows["map"][score] > found.chance[score][1]
    assert found.rows["map"]["kld"] < found.chance["kld"][0]


def test_V18_a_random_map_scores_at_chance():
    """95 % intervals: of 40 random maps all but a few lie inside, score by score."""
    outside = dict.fromkeys(("nss", "auc", "cc", "sim", "kld", "ig_bits"), 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        noise = gaussian_filter(rng.random(SHAPE), 3, mode="wrap")
        points = rng.random((12, 2)) * (SHAPE[1], SHAPE[0])
        found = score_map(noise, points, sigma_px=SIGMA, n_chance=200, seed=seed)
        for score, (low, high) in found.chance.items():
            outside[score] += not low <= found.rows["map"][score] <= high
    assert max(outside.values()) <= 6  # binomial(40, .05): more than 6 has a chance of .3 %


def test_the_chance_interval_is_that_of_maps_rolled_one_by_one():
    values, cells = human(), POINTS.astype(int)
    shape, seed, n = values.shape, 4, 15
    found = chance.chance_intervals(values, cells, human(), centre_prior(shape), n, seed)
    rng = np.random.default_rng(seed)
    shifts = np.stack([rng.integers(0, size, n) for size in shape], -1)
    rolled = [np.roll(values, shift, (0, 1)) for shift in shifts]
    for name, score, against in (
        ("nss", sal.nss, cells),
        ("auc", sal.auc, cells),
        ("cc", sal.cc, human()),
        ("sim", sal.sim, human()),
        ("kld", sal.kld, human()),
    ):
        drawn = [score(one, against) for one in rolled]
        np.testing.assert_allclose(found[name], np.quantile(drawn, [0.025, 0.975]), atol=1e-9)
    drawn = [sal.information_gain(one, cells, centre_prior(shape)) for one in rolled]
    np.testing.assert_allclose(found["ig_bits"], np.quantile(drawn, [0.025, 0.975]), atol=1e-9)


def test_V18_the_same_seed_gives_the_same_interval():
    one, two, other = (
        score_map(human(), POINTS, sigma_px=SIGMA, seed=s, n_chance=20).chance for s in (1, 1, 2)
    )
    assert one == two != other


def test_S1_dropped_fixations_are_counted_beside_the_score():
    more = np.vstack([POINTS, [(-5, 3), (80, 3), (3, 60), (np.nan, 1)]])
    one = score_map(human(), POINTS, sigma_px=SIGMA, n_chance=0)
    two = score_map(human(), more, sigma_px=SIGMA, n_chance=0)
    assert (one.n_fixations, one.n_dropped) == (7, 0)
    assert (two.n_fixations, two.n_dropped) == (7, 4)
    assert two.rows == one.rows


def test_durations_weigh_the_density_but_not_the_fixations():
    ms = np.array([900.0, 1, 1, 1, 1, 1, 1])
    one = score_map(human(), POINTS, sigma_px=SIGMA, n_chance=0)
    two = score_map(human(), POINTS, sigma_px=SIGMA, durations=ms, n_chance=0)
    assert two.rows["map"]["nss"] == one.rows["map"]["nss"]
    assert two.rows["map"]["cc"] < one.rows["map"]["cc"]
    assert (one.how["density_weights"], two.how["density_weights"]) == ("count", "duration")


@pytest.mark.parametrize(
    ("values", "word"), [(np.zeros(SHAPE), "zero everywhere"), (np.full(SHAPE, np.nan), "NaN")]
)
def test_S4_an_empty_or_broken_map_has_null_and_the_reason(values, word):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score_map(values, POINTS, sigma_px=SIGMA, n_chance=10)
    assert math.isnan(found.rows["map"]["sim"])
    assert word in found.undefined["map"]["sim"]
    assert found.to_json()["rows"]["map"]["sim"] is None
    assert found.rows["centre"]["nss"] == found.rows["centre"]["nss"]


def test_S4_no_fixation_on_the_map_leaves_every_score_undefined():
    found = score_map(human(), [(-1.0, 5.0)], sigma_px=SIGMA)
    assert found.n_dropped == 1
    assert all(math.isnan(v) for row in found.rows.values() for v in row.values())
    assert found.chance == {}


def test_the_table_survives_json():
    found = score_map(human(), POINTS, sigma_px=SIGMA, other_px=POINTS[::-1] + 5, how={"method": "rollout"})
    text = json.dumps(found.to_json(), allow_nan=False)
    back = Agreement.from_json(json.loads(text))
    assert back == found
    assert found.how["method"] == "rollout"
    assert found.how["sigma_px"] == SIGMA
    assert "shuffled_auc" in found.rows["map"]


def test_S3_a_density_in_the_place_of_fixations_is_refused():
    with pytest.raises(TypeError, match="density"):
        score_map(human(), human(), sigma_px=SIGMA)


def test_a_centre_prior_of_ones_own_must_be_a_density():
    found = score_map(human(), POINTS, sigma_px=SIGMA, centre=human(), n_chance=0)
    assert found.rows["map"]["ig_bits"] == 0
    assert found.how["centre_sigma_shares"] == "given"
    with pytest.raises(ValueError, match="centre prior"):
        score_map(human(), POINTS, sigma_px=SIGMA, centre=np.zeros(SHAPE))


def test_the_centre_prior_is_symmetric_and_sums_to_one():
    prior = centre_prior((30, 50))
    assert prior.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(prior, prior[::-1, ::-1])
    x = (np.arange(50) + 0.5) / 50 - 0.5
    across = prior.sum(0)
    assert np.sqrt((across * x**2).sum()) < 0.235  # the tails are cut at the picture's edge


def test_S9_correlations_are_averaged_with_their_signs():
    assert mean_score([-0.5, 0.5]) == 0.0
    assert mean_score([-0.5, 0.5], fisher=True) == pytest.approx(0.0)
    assert mean_score([0.2, math.nan, 0.4]) == pytest.approx(0.3)
    assert mean_score([0.0, 0.9], fisher=True) > 0.45
    assert math.isnan(mean_score([math.nan]))
