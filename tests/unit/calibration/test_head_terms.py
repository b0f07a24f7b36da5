import numpy as np
import pytest

from gazelab.calibration.head_terms import IRIS_PER_DEG, NOISE_DEG, REACH, SCALE_DEG, HeadTerms
from gazelab.core.gaze import empty_features

GAZE_PX = np.array([(x, y) for x in range(0, 2000, 200) for y in range(0, 1000, 200)], float)
EYES = np.ones((len(GAZE_PX), 2), bool)
PER_PX = 0.0075 / 38
"""Eye widths of iris motion a px."""


def _rows(turn_deg=0.0, jitter=0.0005, x=-1, y=1):
    """Eyes of somebody who looks at `GAZE_PX`: a screen's x is against the picture's, y along it."""
    rng = np.random.default_rng(0)
    rows = empty_features(len(GAZE_PX))
    rows["valid"] = True
    rows["iris"] = (GAZE_PX * (x * PER_PX, y * PER_PX / 3))[:, None] + rng.normal(
        0, jitter, (len(rows), 2, 2)
    )
    for name in ("yaw_deg", "pitch_deg", "roll_deg"):
        rows[name] = rng.normal(0, turn_deg, len(rows))
    return rows


@pytest.mark.parametrize(("x", "y"), [(-1, 1), (1, -1), (1, 1)])
def test_beyond_the_calibrations_turns_geometry_adds_what_the_iris_cannot_show(x, y):
    terms = HeadTerms.of(_rows(x=x, y=y), GAZE_PX, EYES)
    turned = _rows()[:1]
    turned["yaw_deg"], turned["pitch_deg"] = 20.0, -10.0

    _, beyond = terms.split(turned, EYES[:1])

    per_deg = IRIS_PER_DEG / PER_PX
    assert beyond[0, 0] == pytest.approx(x * (20 - REACH * NOISE_DEG) * per_deg, rel=0.02)
    assert beyond[0, 1] == pytest.approx(y * (10 - REACH * NOISE_DEG) * per_deg, rel=0.02)


def test_within_the_calibrations_turns_geometry_is_silent():
    rows = _rows(turn_deg=6.0)
    terms = HeadTerms.of(rows, GAZE_PX, EYES)
    inside = (np.abs(rows["yaw_deg"]) < 12) & (np.abs(rows["pitch_deg"]) < 12)
    columns, beyond = terms.split(rows[inside], EYES[inside])
    assert not beyond.any()
    assert np.abs(columns[:, :3]).max() > 1.0


def test_columns_stop_at_the_edge_of_what_was_seen():
    terms = HeadTerms.of(_rows(), GAZE_PX, EYES)
    rows = _rows()[:3]
    rows["yaw_deg"] = 0.0, 30.0, 90.0
    columns, _ = terms.split(rows, EYES[:3])
    assert columns[1, 0] == columns[2, 0] == pytest.approx(REACH * NOISE_DEG / SCALE_DEG, rel=0.05)


def test_irises_that_follow_no_target_keep_geometry_out():
    rng = np.random.default_rng(3)
    rows = _rows()
    rows["iris"] = rng.normal(0, 0.01, rows["iris"].shape)
    assert not HeadTerms.of(rows, GAZE_PX, EYES).px_per_deg.any()


def test_a_head_that_turns_along_with_gaze_does_not_spoil_the_slope():
    rows = _rows(turn_deg=0.3)
    rows["yaw_deg"] += (-GAZE_PX[:, 0] / 38 * 0.15).astype(np.float32)
    got = HeadTerms.of(rows, GAZE_PX, EYES).px_per_deg[0]
    assert got == pytest.approx(-IRIS_PER_DEG / PER_PX, rel=0.15)


def test_unknown_turns_count_as_none():
    rows = _rows()
    for name in ("yaw_deg", "pitch_deg", "roll_deg"):
        rows[name] = np.nan
    columns, beyond = HeadTerms.of(rows, GAZE_PX, EYES).split(rows, EYES)
    assert not columns.any()
    assert not beyond.any()


def test_an_eye_that_cannot_be_used_has_no_say_in_the_products():
    rows = _rows(turn_deg=3.0)
    terms = HeadTerms.of(rows, GAZE_PX, EYES)
    one = EYES & np.array([True, False])
    spoiled = rows.copy()
    spoiled["iris"][:, 1] = 5.0
    for a, b in zip(terms.split(rows, one), terms.split(spoiled, one), strict=True):
        np.testing.assert_array_equal(a, b)
    none, _ = terms.split(spoiled, np.zeros_like(EYES))
    assert np.isfinite(none).all()


def test_products_are_of_second_order():
    rows = _rows(turn_deg=1.0)
    terms = HeadTerms.of(rows, GAZE_PX, EYES)
    twice = rows.copy()
    for k, name in enumerate(("yaw_deg", "pitch_deg", "roll_deg")):
        twice[name] = terms.centre_deg[k] + 2 * (rows[name] - terms.centre_deg[k])
    twice["iris"] = terms.iris + 2 * (rows["iris"] - terms.iris)
    small = np.abs(twice["yaw_deg"]) < 4
    for name in ("pitch_deg", "roll_deg"):
        small &= np.abs(twice[name]) < 4
    a, b = terms.split(rows[small], EYES[small])[0], terms.split(twice[small], EYES[small])[0]
    np.testing.assert_allclose(b[:, :3], 2 * a[:, :3], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(b[:, 3:], 4 * a[:, 3:], rtol=1e-3, atol=1e-5)
