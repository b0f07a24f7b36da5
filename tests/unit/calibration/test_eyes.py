import numpy as np
import pytest

from gazelab.calibration.eyes import N_EYE, N_PATCH, PATCH_WEIGHT, SHIFT, TURN, eye_columns, misplacements
from gazelab.core.gaze import FEATURE_DTYPE, empty_features
from gazelab.processing.features import PATCH_STEP, eye_patch


def _row(patch):
    row = empty_features(1)
    row["patches"], row["iris"], row["valid"] = patch, 0.1, True
    return row


@pytest.fixture
def picture():
    from gazelab.core.opencv import cv2

    rng = np.random.default_rng(0)
    noise = cv2.GaussianBlur(rng.normal(0, 1, (240, 320)), (0, 0), 9)
    return np.repeat(np.clip(128 + 40 * noise / noise.std(), 0, 255).astype(np.uint8)[..., None], 3, 2)


def test_columns_are_a_standardised_patch_and_the_iris(picture):
    columns = eye_columns(_row(eye_patch(picture, (160.0, 120.0), (1.0, 0.0), 100.0)), 0)
    assert columns.shape == (1, N_EYE)
    patch = columns[0, :N_PATCH] / PATCH_WEIGHT
    assert patch.mean() == pytest.approx(0, abs=1e-9)
    assert patch.std() == pytest.approx(1)
    assert columns[0, N_PATCH:] == pytest.approx([2, 2])


@pytest.mark.parametrize(
    ("kind", "centre", "turn", "scale", "size"),
    [
        (0, (161.0, 120.0), 0.0, 1.0, 0.01 / SHIFT),
        (1, (160.0, 121.0), 0.0, 1.0, 0.01 / SHIFT),
        (2, (160.0, 120.0), 0.0, 1.02, 0.02 / TURN),
        (3, (160.0, 120.0), 0.02, 1.0, 0.02 / TURN),
    ],
)
def test_misplacements_are_what_a_misplaced_box_changes(picture, kind, centre, turn, scale, size):
    width = 100.0
    right, wrong = (
        eye_columns(_row(eye_patch(picture, c, (float(np.cos(t)), float(np.sin(t))), width * s)), 0)[
            0, :N_PATCH
        ]
        for c, t, s in (((160.0, 120.0), 0.0, 1.0), (centre, turn, scale))
    )
    row = _row(eye_patch(picture, (160.0, 120.0), (1.0, 0.0), width))
    told = misplacements(row, 0)[0, kind] * size
    change = wrong - right
    assert np.corrcoef(told, change)[0, 1] > 0.9
    assert np.linalg.norm(told) == pytest.approx(np.linalg.norm(change), rel=0.25)


def test_light_multiplies_and_changes_nothing():
    rng = np.random.default_rng(2)
    patch = rng.integers(40, 120, empty_features(1)["patches"].shape).astype(np.uint8)
    dim, bright = (eye_columns(_row(p), 0) for p in (patch, 2 * patch))
    np.testing.assert_allclose(dim, bright, atol=1e-6)


def test_a_flat_patch_changes_nothing():
    row = _row(90)
    assert not misplacements(row, 1).any()
    assert np.isfinite(eye_columns(row, 1)).all()


def test_steps_are_a_twentieth_of_an_eye():
    assert pytest.approx(0.05) == PATCH_STEP
    assert empty_features(1).dtype == FEATURE_DTYPE
