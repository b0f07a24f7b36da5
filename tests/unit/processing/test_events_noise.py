"""Noise that wanders: measured, and no reason to cut a fixation."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from gazelab.core.geometry import Screen
from gazelab.processing.events import OnlineFixations, detect_fixations, uses_ivt
from gazelab.processing.events_noise import (
    NOISE_FLOOR_DEG,
    Noise,
    noise_at_first,
    noise_inside,
    pairs_inside,
    pairs_of,
)
from gazelab.processing.events_samples import usable_samples

SCREEN = Screen("laptop", 1920, 1080, 527.0, 296.0, 600.0)


def wandering(n, sd_deg, carry, seed=1):
    """First-order autoregressive noise, (n, 2)."""
    white = np.random.default_rng(seed).normal(0, sd_deg * math.sqrt(1 - carry**2), (n + 100, 2))
    return lfilter([1], [1, -carry], white, axis=0)[100:]


@pytest.mark.parametrize("carry", [0.0, 0.4, 0.8])
def test_sd_and_carry_are_found_again(carry):
    steps = np.diff(wandering(20_000, 0.5, carry), axis=0)
    for found in (noise_inside(pairs_of(steps)), noise_at_first(steps, pairs_of(steps))):
        assert found.sd_deg == pytest.approx(0.5, rel=0.06)
        assert found.carry == pytest.approx(carry, abs=0.04)
    assert found.step_deg == pytest.approx(0.5 * math.sqrt(1 - carry), rel=0.06)


def test_the_first_guess_looks_past_saccades():
    steps = np.diff(wandering(3000, 0.3, 0.5), axis=0)
    steps[::10] += 8.0
    found = noise_at_first(steps, pairs_of(steps))
    assert found.sd_deg == pytest.approx(0.3, rel=0.3)
    assert found.carry == pytest.approx(0.5, abs=0.2)


def test_pairs_inside_are_those_whose_three_places_lie_in_one_piece():
    steps = np.arange(10, dtype=float).reshape(5, 2)  # six places
    assert pairs_inside(steps, [(0, 2), (3, 5)])[:, 0, 0].tolist() == [0.0, 6.0]
    assert pairs_inside(steps, [(0, 1), (2, 2)]).shape == (0, 2, 2)
    assert pairs_inside(np.zeros((0, 2)), []).shape == (0, 2, 2)


def test_too_few_steps_measure_nothing():
    assert math.isnan(noise_at_first(np.zeros((0, 2)), np.zeros((0, 2, 2))).sd_deg)
    assert noise_inside(np.ones((19, 2, 2))) is None
    assert noise_inside(np.zeros((30, 2, 2))) == Noise(0.0, 0.0)


def test_little_noise_is_raised_to_the_floor_and_its_carry_counts_less():
    assert Noise(math.nan).believed() == Noise(NOISE_FLOOR_DEG)
    assert Noise(0.1, 0.8).believed().carry < 0.02
    assert Noise(0.1, 0.8).believed().sd_deg == NOISE_FLOOR_DEG
    assert Noise(0.6, 0.8).believed().carry == pytest.approx(0.75, abs=0.01)
    assert Noise(0.6, 0.1).believed().carry < 0.03, "some hundred samples may show so much by chance"


def online(t, x, y):
    detector = OnlineFixations(SCREEN)
    rows = zip(t.tolist(), x.tolist(), y.tolist(), strict=True)
    return [event for row in rows for event in detector.push(*row)] + detector.close()


@pytest.mark.parametrize(("rate", "carry"), [(30, 0.0), (30, 0.5), (30, 0.8), (60, 0.7)])
def test_G16_noise_that_wanders_cuts_no_fixation(scanpath, rate, carry):
    """Six fixations each, with half a degree of noise; a device that smooths must not make it more."""
    counts, late = [], []
    for seed in range(8):
        path = scanpath(rate, noise_px=0.0)
        noise = wandering(len(path.time_ns), 0.5 * SCREEN.px_per_deg(), carry, seed)
        columns = path.time_ns, path.x_px + noise[:, 0], path.y_px + noise[:, 1]
        counts.append(len(detect_fixations(*columns, SCREEN)))
        # Online the noise has to be learnt first: the last three of the six.
        late.append(sum(onset > 2.3e9 for onset, _ in online(*columns)))
    assert 5.5 <= np.mean(counts) <= 7.5
    assert 2.5 <= np.mean(late) <= 4.0


@pytest.mark.parametrize(
    ("rate", "sd_deg", "carry", "ivt"),
    [
        (500, 0.02, 0.0, True),
        (500, 0.08, 0.0, True),
        (500, 0.2, 0.0, False),
        (500, 0.3, 0.9, False),  # neighbours differ by .09 only, samples 20 ms apart by .34
        (250, 0.3, 0.8, False),
        (120, 0.05, 0.0, True),
        (120, 0.25, 0.0, False),
        (120, 0.25, 0.8, False),
        (90, 0.02, 0.0, False),
    ],
)
def test_E3_the_method_follows_the_measured_rate_and_noise(scanpath, rate, sd_deg, carry, ivt):
    path = scanpath(rate, noise_px=0.0)
    noise = wandering(len(path.time_ns), sd_deg * SCREEN.px_per_deg(), carry)
    samples = usable_samples(path.time_ns, path.x_px + noise[:, 0], path.y_px + noise[:, 1], SCREEN)
    assert uses_ivt(samples.interval_s, samples.window_noise_deg) == ivt
    found = detect_fixations(path.time_ns, path.x_px + noise[:, 0], path.y_px + noise[:, 1], SCREEN)
    assert len(found) == 6
