import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.calibration.confidence import ErrorModel, familiarity, fit_error_model
from gazelab.calibration.mapping import fit
from gazelab.core.gaze import FEATURE_DTYPE


@pytest.fixture
def samples():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 50)) + 0.1 * rng.normal(size=(40, 50))
    return x, np.repeat(np.arange(8), 5)


def test_the_unfamiliar_part_is_the_posterior_variance_of_a_linear_kernel(samples):
    x, groups = samples
    known, _ = familiarity(x, groups)
    query = np.random.default_rng(5).normal(size=(3, 50))
    a, q = x - x.mean(0), query - x.mean(0)
    noise = 0.03 * np.trace(a @ a.T) / len(a)
    textbook = [v @ v - v @ a.T @ np.linalg.solve(a @ a.T + noise * np.eye(40), a @ v) for v in q]

    np.testing.assert_allclose(known.unfamiliar(query), textbook, rtol=1e-5)


def test_left_out_samples_count_as_if_their_group_were_unknown(samples):
    x, groups = samples
    _, left_out = familiarity(x, groups)
    a = x - x.mean(0)
    noise = 0.03 * np.trace(a @ a.T) / len(a)
    rest, own = a[groups != 2], a[groups == 2]
    gram = rest @ rest.T + noise * np.eye(len(rest))
    textbook = [v @ v - v @ rest.T @ np.linalg.solve(gram, rest @ v) for v in own]

    np.testing.assert_allclose(left_out[groups == 2], textbook, rtol=1e-6)


def test_what_the_samples_span_is_familiar_and_the_rest_is_not(samples):
    x, groups = samples
    known, _ = familiarity(x, groups)
    inside = x[:5] + 0.5 * (x[5:10] - x[:5])
    assert known.unfamiliar(inside).max() < 0.2 * known.unfamiliar(x[:5] + 2.0).min()


def test_the_sign_that_foretells_errors_gets_the_weight():
    rng = np.random.default_rng(0)
    apart, unlike = rng.uniform(10, 100, 300), rng.uniform(1, 10, 300)
    errors = np.sqrt(40 * unlike) * rng.rayleigh(np.sqrt(0.5), 300)

    model = fit_error_model(errors, apart, unlike)

    low, high = model.expected_px(np.full(2, 50.0), np.array([1.0, 10.0]), np.zeros(2))
    assert high > 1.7 * low
    near, far = model.expected_px(np.array([10.0, 100.0]), np.full(2, 5.0), np.zeros(2))
    assert far < 1.3 * near


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), n=st.integers(4, 60), unit=st.floats(0.01, 100))
def test_expected_errors_are_positive_grow_with_every_sign_and_know_no_unit(seed, n, unit):
    rng = np.random.default_rng(seed)
    errors, apart, unlike = rng.rayleigh(50, n), rng.rayleigh(30, n), rng.gamma(2, 1, n)

    model = fit_error_model(errors, apart, unlike)
    other = fit_error_model(errors * unit, apart * unit, unlike)

    base = model.expected_px(np.array([20.0]), np.array([1.0]), np.zeros(1))
    more = model.expected_px(np.array([90.0]), np.array([9.0]), np.array([30.0]))
    assert 0 < base[0] < more[0]
    again = other.expected_px(np.array([20.0 * unit]), np.array([1.0]), np.zeros(1))
    assert again[0] == pytest.approx(base[0] * unit, rel=1e-6)
    assert model.confidence(base)[0] > model.confidence(more)[0]


def test_confidence_is_the_chance_of_an_error_within_twice_the_median():
    model = ErrorModel(1.0, 0.0, 0.0, median_px=30.0)
    rng = np.random.default_rng(1)
    for expected in (20.0, 36.0, 80.0):
        errors = np.hypot(*rng.normal(0, expected / np.sqrt(2), (2, 20000)))
        share = (errors <= 60).mean()
        assert model.confidence(np.array([expected]))[0] == pytest.approx(share, abs=0.02)


def test_without_any_difference_between_samples_all_get_the_mean():
    model = fit_error_model(np.full(6, 40.0), np.zeros(6), np.zeros(6))
    assert model.expected_px(np.zeros(1), np.zeros(1), np.zeros(1))[0] == pytest.approx(40, rel=0.01)


def test_error_falls_as_confidence_rises(eyes, screen):
    """Samples that were never calibrated on, some blurred, some with a turned head."""
    places = [(x, y) for y in (-12, 0, 12) for x in (-20, 0, 20)]
    px = np.repeat(np.stack(screen.to_px(*np.array(places, float).T), -1), 12, axis=0)
    rows = np.array([eyes.row(x, y) for x, y in places for _ in range(12)], FEATURE_DTYPE)
    mapping = fit(rows, px, np.repeat(np.arange(9), 12), screen)
    rng = np.random.default_rng(2)
    gaze = rng.uniform((-20, -12), (20, 12), (300, 2))
    turn = np.repeat((0.0, 3.0, 6.0, 12.0, 20.0), 60)
    tests = np.array([eyes.row(*g, yaw_deg=t) for g, t in zip(gaze, turn, strict=True)], FEATURE_DTYPE)

    got = mapping.predict(tests)

    errors = screen.angle_deg(got.x_px, got.y_px, *screen.to_px(*gaze.T))
    order = np.argsort(-got.confidence)
    means = [errors[part].mean() for part in np.array_split(order, 3)]
    assert means[0] < 0.8 * means[1] < 0.64 * means[2]
