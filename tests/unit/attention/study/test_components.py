import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gazelab.attention.study.components import principal_components, turned_to


def spread(seed=0, n=60, width=12):
    """Vectors of one length whose first two dimensions hold nearly all variance."""
    x = np.random.default_rng(seed).normal(0, [3, 2, *[0.05] * (width - 2)], (n, width))
    return x / np.sqrt((x**2).mean(1, keepdims=True))


@pytest.mark.parametrize(("n", "width"), [(60, 12), (12, 60), (5, 3), (3, 7)])
def test_the_points_are_those_of_a_plain_decomposition(n, width):
    x = spread(1, n, max(width, 2))[:, :width]
    x = x / np.sqrt((x**2).mean(1, keepdims=True))
    centred = x - x.mean(0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    points, explained = principal_components(x.astype(np.float32))
    k = min(3, len(values))
    np.testing.assert_allclose(np.abs(points[:, :k]), np.abs(left[:, :k] * values[:k]), atol=1e-4)
    assert explained == pytest.approx((values[:3] ** 2).sum() / (values**2).sum(), abs=1e-5)


def test_a_vector_a_thousand_times_longer_is_not_all_that_is_seen():
    x = spread()
    longer = x.copy()
    longer[7] *= 1000
    np.testing.assert_allclose(principal_components(longer)[0], principal_components(x)[0], atol=1e-4)


def test_vectors_that_are_all_alike_lie_in_one_point():
    points, explained = principal_components(np.ones((9, 5), np.float32))
    assert np.abs(points).max() == 0
    assert explained == 1


@given(st.integers(0, 1000))
def test_turning_brings_a_rotated_copy_back_and_keeps_distances(seed):
    points = np.random.default_rng(seed).normal(size=(20, 3)).astype(np.float32)
    turned = (points @ Rotation.random(rng=seed).as_matrix()).astype(np.float32)
    back = turned_to(turned, points)
    np.testing.assert_allclose(back, points, atol=1e-4)
