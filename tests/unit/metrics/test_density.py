import numpy as np
import pytest

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import Placement, Screen
from gazelab.metrics import saliency as sal
from gazelab.metrics.density import fixation_density, sigma_from_deg, sigma_from_share

LAPTOP = Screen("laptop", 1920, 1080, 344.0, 193.5, 600.0)


def test_a_density_sums_to_one_and_weights_are_shares():
    sharp = fixation_density([1, 3], [0, 1], [100.0, 300.0], (2, 5), 0)
    assert sharp.tolist() == [[0, 0.25, 0, 0, 0], [0, 0, 0, 0.75, 0]]
    blurred = fixation_density([1, 3], [0, 1], None, (40, 60), 2.5)
    assert blurred.sum() == pytest.approx(1.0)


def test_the_blur_is_cut_at_four_sigmas_and_nothing_is_mirrored_in():
    line = fixation_density([50], [0], None, (1, 101), (2.0, 0.0))[0]
    assert line[50 - 8] > 0
    assert line[50 - 9] == 0
    corner = fixation_density([0], [0], None, (21, 21), 3.0)
    middle = fixation_density([10], [10], None, (21, 21), 3.0)
    # The quarter of the bell that stays on the map keeps its shape.
    assert corner[3, 0] / corner[0, 0] == pytest.approx(middle[13, 10] / middle[10, 10])


def test_G25_points_past_the_edge_add_nothing_and_are_not_clamped():
    x, y = [-120.0, 1920.0, 1919.999, np.nan, 5.0], [300.0, 1080.0, 1079.999, 3.0, 5.0]
    sharp = fixation_density(x, y, None, (1080, 1920), 0)
    assert np.argwhere(sharp).tolist() == [[5, 5], [1079, 1919]]


def test_S4_no_fixation_gives_no_density():
    assert np.isnan(fixation_density([], [], None, (4, 4), 1.0)).all()
    assert np.isnan(fixation_density([-1], [2], None, (4, 4), 1.0)).all()
    assert np.isnan(fixation_density([1], [2], [0.0], (4, 4), 1.0)).all()


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        fixation_density([1, 2], [1, 2], weights, (4, 4), 1.0)


def test_S7_the_same_fixations_at_two_scales_score_alike():
    rng = np.random.default_rng(5)
    share_x, share_y = rng.random(25), rng.random(25)
    scores = []
    for cols, rows in ((400, 300), (1600, 1200)):
        sigma = sigma_from_share(cols, 0.03)
        human = fixation_density(share_x * cols, share_y * rows, None, (rows, cols), sigma)
        x, y = np.meshgrid((np.arange(cols) + 0.5) / cols, (np.arange(rows) + 0.5) / rows)
        model = np.exp(-((x - 0.4) ** 2) / 0.1 - (y - 0.6) ** 2 / 0.08)
        points = np.stack([share_x * cols, share_y * rows], -1)
        scores.append(
            [sal.nss(model, points), sal.cc(model, human), sal.sim(model, human), sal.kld(model, human)]
        )
    small, large = np.array(scores)
    assert np.abs(small - large).max() < 0.01 * np.abs(large).max()
    np.testing.assert_allclose(small, large, rtol=0.01, atol=0.003)


def test_S7_sigma_in_degrees_follows_the_size_on_screen_not_the_raster():
    placement = Placement(100, 100, 960, 540, 1600, 900)
    full, half = sigma_from_deg(LAPTOP, placement, 1600), sigma_from_deg(LAPTOP, placement, 800)
    assert full == pytest.approx(2 * half)
    # one degree at 600 mm is 10.47 mm = 58.45 screen px; the picture is drawn at 0.6
    assert full == pytest.approx(58.45 / 0.6, abs=0.1)


def test_sigma_in_degrees_needs_a_measured_screen():
    with pytest.raises(ConfigError, match="degrees"):
        sigma_from_deg(Screen("s", 1920, 1080), Placement(0, 0, 10, 10, 10, 10), 10)
    with pytest.raises(ValueError):
        sigma_from_share(100, 3.0)
