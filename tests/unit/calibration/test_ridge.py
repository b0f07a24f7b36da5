import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.calibration.ridge import PENALTIES, fit_robust


def _plain_ridge(x, y, penalty):
    """Textbook primal ridge with a free intercept, penalty per sample."""
    mean, offset = x.mean(0), y.mean(0)
    a = x - mean
    w = np.linalg.solve(a.T @ a + penalty * len(x) * np.eye(x.shape[1]), a.T @ (y - offset))
    return lambda q: (q - mean) @ w + offset


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 12))
    y = x[:, :2] * 100 + 500 + rng.normal(0, 20, (40, 2))
    return x, y, np.repeat(np.arange(8), 5)


def test_the_dual_form_equals_the_plain_ridge(data):
    x, y, groups = data
    fitted = fit_robust(x, y, groups)
    kept = fitted.kept
    plain = _plain_ridge(x[kept], y[kept], fitted.ridge.penalty)

    np.testing.assert_allclose(fitted.ridge.predict(x), plain(x), rtol=0, atol=1e-8)


def test_left_out_predictions_equal_fits_without_the_group(data):
    x, y, groups = data
    fitted = fit_robust(x, y, groups)
    kept, n = fitted.kept, int(fitted.kept.sum())

    for g in range(8):
        others, own = kept & (groups != g), kept & (groups == g)
        # The shortcut keeps the total penalty, so per sample it grows as samples go.
        plain = _plain_ridge(x[others], y[others], fitted.ridge.penalty * n / others.sum())
        np.testing.assert_allclose(fitted.left_out[own], plain(x[own]), rtol=0, atol=1e-6)


def test_the_penalty_is_the_best_on_left_out_groups(data):
    x, y, groups = data
    fitted = fit_robust(x, y, groups)
    x, y, groups = x[fitted.kept], y[fitted.kept], groups[fitted.kept]

    def error(penalty):
        out = np.empty_like(y)
        for g in np.unique(groups):
            rest = groups != g
            out[~rest] = _plain_ridge(x[rest], y[rest], penalty * len(x) / rest.sum())(x[~rest]) - y[~rest]
        return np.hypot(*out.T).mean()

    assert fitted.ridge.penalty == PENALTIES[np.argmin([error(p) for p in PENALTIES])]


def test_wrong_labels_are_dropped(data):
    x, y, groups = data
    wrong = [4, 17, 33]
    spoiled = y.copy()
    spoiled[wrong] = 2000, -900

    fitted = fit_robust(x, spoiled, groups)

    assert not fitted.kept[wrong].any()
    assert fitted.kept.sum() >= 34
    clean = fit_robust(x, y, groups).ridge.predict(x)
    assert np.hypot(*(fitted.ridge.predict(x) - clean).T).mean() < 30


def test_a_target_of_few_is_never_dropped_whole(data):
    x, y, groups = data
    spoiled = y.copy()
    spoiled[groups == 3] += 5000
    fitted = fit_robust(x, spoiled, groups)
    assert fitted.kept[groups == 3].all()


def test_a_target_that_was_rested_on_is_never_dropped_whole_among_many(data):
    """Nine targets and a dozen stretches of a moving head are more than twenty groups."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(150, 12))
    y = x[:, :2] * 100 + 500 + rng.normal(0, 20, (150, 2))
    groups = np.repeat(np.arange(25), 6)
    y[groups == 7] += 5000
    assert fit_robust(x, y, groups).kept[groups == 7].all()


def test_of_many_targets_a_wrong_one_is_dropped(data):
    x, y, _ = data
    spoiled = y.copy()
    spoiled[7] += 3000
    fitted = fit_robust(x, spoiled, np.arange(40))
    assert not fitted.kept[7]


def test_a_missing_feature_counts_as_its_mean(data):
    x, y, groups = data
    ridge = fit_robust(x, y, groups).ridge
    hole, mean = x[:1].copy(), x[:1].copy()
    hole[0, 3], mean[0, 3] = np.nan, ridge.centre[3]

    np.testing.assert_allclose(ridge.predict(hole), ridge.predict(mean))


@settings(deadline=None, max_examples=25)
@given(
    scale=st.floats(1e-2, 1e3),
    shift=st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)),
    seed=st.integers(0, 1000),
)
def test_the_unit_and_origin_of_the_targets_do_not_matter(scale, shift, seed):
    """Px or degrees, the same fit: why one mapping serves screens of known and unknown size."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 8))
    y = x[:, :2] + rng.normal(0, 0.2, (30, 2))
    groups = np.repeat(np.arange(6), 5)

    plain = fit_robust(x, y, groups)
    other = fit_robust(x, y * scale + shift, groups)

    assert other.ridge.penalty == plain.ridge.penalty
    np.testing.assert_array_equal(other.kept, plain.kept)
    np.testing.assert_allclose((other.ridge.predict(x) - shift) / scale, plain.ridge.predict(x), atol=1e-6)
