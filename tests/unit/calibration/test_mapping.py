import numpy as np
import pytest

from gazelab.calibration.mapping import MAX_SAMPLES, GazeMapping, fit
from gazelab.core.errors import CalibrationError
from gazelab.core.gaze import FEATURE_DTYPE

from .conftest import EyeModel

GRID = [(x, y) for y in (-12, 0, 12) for x in (-20, 0, 20)]


def _samples(eyes, screen, places, each=12, **how):
    rows = np.array([eyes.row(x, y, **how) for x, y in places for _ in range(each)], FEATURE_DTYPE)
    px = np.repeat(np.stack(screen.to_px(*np.array(places, float).T), -1), each, axis=0)
    return rows, px, np.repeat(np.arange(len(places)), each)


@pytest.fixture
def mapping(eyes, screen):
    return fit(*_samples(eyes, screen, GRID), screen)


def test_it_finds_gaze_between_the_targets(mapping, eyes, screen):
    rows, px, _ = _samples(eyes, screen, [(-10, 6), (10, 6), (3, -7)], each=1)

    got = mapping.predict(rows)

    error_deg = screen.angle_deg(got.x_px, got.y_px, *px.T)
    assert (error_deg < 3.5).all()
    assert got.valid.all()


def test_one_record_gives_one_prediction(mapping, eyes):
    got = mapping.predict(eyes.row(0, 0))
    assert got.x_px.shape == got.confidence.shape == got.valid.shape == (1,)


def test_shut_lids_and_lost_faces_are_nan_not_a_place(mapping, eyes):
    rows = np.array([eyes.row(0, 0), eyes.row(0, 0, shut=(True, True)), eyes.row(0, 0)], FEATURE_DTYPE)
    rows["valid"][2] = False

    got = mapping.predict(rows)

    assert got.valid.tolist() == [True, False, False]
    for name in ("x_px", "y_px", "left_x_px", "left_y_px", "right_x_px", "right_y_px"):
        assert np.isfinite(getattr(got, name)).tolist() == [True, False, False]
    assert got.confidence[1:].tolist() == [0, 0]


def test_one_open_eye_is_enough_and_names_are_the_subjects(mapping, eyes, screen):
    rows = np.array([eyes.row(8, 4, shut=(True, False)), eyes.row(8, 4, shut=(False, True))], FEATURE_DTYPE)

    got = mapping.predict(rows)

    assert np.isnan(got.left_x_px).tolist() == [True, False]
    assert np.isnan(got.right_x_px).tolist() == [False, True]
    assert got.valid.all()
    assert got.x_px[0] == got.right_x_px[0]
    assert got.x_px[1] == got.left_x_px[1]
    assert (screen.angle_deg(got.x_px, got.y_px, *screen.to_px(8, 4)) < 4).all()


def test_gaze_does_not_jump_when_an_eye_is_lost(screen):
    """One eye's estimates are brought to both's: no offset is left over the screen, only noise."""
    eyes = EyeModel(noise=3.0, seed=5)
    mapping = fit(*_samples(eyes, screen, GRID, each=20), screen)
    rng = np.random.default_rng(1)
    rows = np.array([eyes.row(*g) for g in rng.uniform((-20, -12), (20, 12), (200, 2))], FEATURE_DTYPE)
    both = mapping.predict(rows)
    for eye in range(2):
        one = rows.copy()
        one["openness"][:, eye] = 0.0
        got = mapping.predict(one)
        step = np.stack([got.x_px - both.x_px, got.y_px - both.y_px], -1)
        assert np.abs(step.mean(0)).max() < 0.25 * mapping.errors["both"].median_px
        assert np.median(np.hypot(*step.T)) < 1.5 * mapping.errors["both"].median_px
        assert got.confidence.mean() < both.confidence.mean() + 0.05


def test_an_eye_without_contrast_is_no_eye(mapping, eyes):
    row = eyes.row(0, 0)
    row["patches"][0] = 90
    got = mapping.predict(row)
    assert np.isnan(got.left_x_px[0])
    assert np.isfinite(got.right_x_px[0])


def test_G25_gaze_beyond_the_screen_is_not_clamped(eyes, screen):
    rows, px, names = _samples(eyes, screen, GRID)
    got = fit(rows, px - (900, 600), names, screen).predict(rows)
    assert got.valid.all()
    assert got.x_px.min() < -500
    assert got.y_px.min() < -100


def test_confidence_is_high_on_the_calibration_and_low_far_from_it(mapping, eyes):
    same = mapping.predict(np.array([eyes.row(x, y) for x, y in GRID], FEATURE_DTYPE)).confidence
    turned = mapping.predict(np.array([eyes.row(0, 0, yaw_deg=25)], FEATURE_DTYPE)).confidence
    assert (same > 0.7).all()
    assert turned[0] < 0.5


def test_a_still_head_in_calibration_does_not_make_pose_explode(mapping, eyes, screen):
    """The eyes' picture stays; only the head's turn goes up to 30 degrees away."""
    rows = np.array([eyes.row(0, 0) for _ in range(61)], FEATURE_DTYPE)
    rows["yaw_deg"] = np.linspace(-30, 30, 61)

    got = mapping.predict(rows)

    gaze_deg, _ = screen.to_deg(got.x_px, got.y_px)
    assert (np.abs(gaze_deg) <= np.abs(rows["yaw_deg"]) + 1.5).all()
    assert np.ptp(got.y_px) < 100
    assert (np.diff(got.confidence[30::6]) < 0.02).all()
    assert got.confidence[-1] < 0.4


def test_leaning_back_spreads_gaze_from_the_camera_and_angles_stay(eyes, screen):
    """The same angle at the eye reaches further down the screen from further away."""
    rows, px, names = _samples(eyes, screen, GRID)
    far = rows.copy()
    far["head_mm"][:, 2] *= 1.1
    camera = np.array([screen.width_px / 2, 0.0])

    mapping = fit(rows, px, names, screen)
    a, b = mapping.predict(rows), mapping.predict(far)
    np.testing.assert_allclose(
        np.stack([b.x_px, b.y_px], -1) - camera, 1.1 * (np.stack([a.x_px, a.y_px], -1) - camera), rtol=1e-5
    )
    angles = fit(rows, px, names, screen, on_screen=False)
    np.testing.assert_array_equal(angles.predict(rows).x_px, angles.predict(far).x_px)


def test_a_calibration_that_leans_learns_the_same_as_one_that_does_not(eyes, screen):
    rows, px, names = _samples(eyes, screen, GRID)
    still = fit(rows, px, names, screen).predict(rows)
    camera = np.array([screen.width_px / 2, 0.0])
    ratio = np.where(np.arange(len(rows)) % 3 == 0, 0.92, 1.0)
    leaning = rows.copy()
    leaning["head_mm"][:, 2] *= ratio
    fitted = fit(leaning, camera + (px - camera) * ratio[:, None], names, screen)
    np.testing.assert_allclose(fitted.predict(rows).x_px, still.x_px, atol=1.0)


def test_an_unknown_distance_counts_as_the_calibrations(mapping, eyes):
    rows = np.array([eyes.row(8, -4)] * 3, FEATURE_DTYPE)
    rows["head_mm"][1], rows["head_mm"][2] = np.nan, (0, 0, -50)
    x = mapping.predict(rows).x_px
    np.testing.assert_allclose(x, x[0], rtol=1e-12)


def test_light_does_not_matter(mapping, eyes, screen):
    bright, dark = (mapping.predict(eyes.row(6, 3, grey=g)) for g in (230.0, 90.0))
    assert screen.angle_deg(bright.x_px, bright.y_px, dark.x_px, dark.y_px)[0] < 2


def test_G17_a_round_trip_through_npz_predicts_the_same(mapping, eyes, tmp_path):
    rows = np.array([eyes.row(x, y) for x, y in GRID], FEATURE_DTYPE)
    np.savez(tmp_path / "m.npz", **mapping.to_arrays())
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        again = GazeMapping.from_arrays(dict(arrays))

    before, after = mapping.predict(rows), again.predict(rows)
    for name in ("x_px", "y_px", "left_x_px", "right_y_px", "confidence"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), rtol=0, atol=1e-9)
    assert again.left_out_px == mapping.left_out_px
    assert again.parts.keys() == mapping.parts.keys()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("mapping_version", np.array(99), "version 99"),
        ("both_ridge_weights", np.zeros((3, 2)), "don't fit"),
        ("left_ridge_centre", np.full(303, np.nan), "broken"),
        ("left_familiar_basis", np.zeros(5), "don't fit"),
        ("head_reach_deg", np.full(3, np.inf), "broken"),
        ("both_error_median_px", np.array(np.nan), "broken"),
        ("n_samples", np.array(["x"]), "broken"),
    ],
)
def test_G17_broken_arrays_are_refused(mapping, name, value, words):
    arrays = mapping.to_arrays() | {name: value}
    with pytest.raises(CalibrationError, match=words):
        GazeMapping.from_arrays(arrays)
    del arrays["mapping_version"]
    with pytest.raises(CalibrationError, match="broken"):
        GazeMapping.from_arrays(arrays)


def test_G15_neither_the_mapping_nor_the_cost_grows_with_the_samples(eyes, screen):
    rows, px, names = _samples(eyes, screen, GRID, each=10)
    many = fit(np.tile(rows, 300), np.tile(px, (300, 1)), np.tile(names, 300), screen)

    assert many.n_samples <= MAX_SAMPLES
    size = sum(a.nbytes for a in many.to_arrays().values())
    for _ in range(3):
        many.predict(np.tile(rows, 10))
    assert sum(a.nbytes for a in many.to_arrays().values()) == size < 400_000


def test_small_targets_stay_whole_when_a_large_one_is_thinned(eyes, screen):
    rows, px, names = _samples(eyes, screen, GRID, each=10)
    large = np.repeat(np.flatnonzero(names == 4)[:1], 900)
    index = np.concatenate([np.arange(len(rows)), large])
    assert fit(rows[index], px[index], names[index], screen).n_samples == MAX_SAMPLES


def test_wrong_labels_do_not_spoil_the_fit(eyes, screen):
    rng = np.random.default_rng(1)
    places = list(zip(rng.uniform(-20, 20, 60), rng.uniform(-11, 11, 60), strict=True))
    rows, px, names = _samples(eyes, screen, places, each=1)
    wrong = px.copy()
    wrong[[5, 20, 40]] = wrong[[20, 40, 5]]
    test_rows, test_px, _ = _samples(eyes, screen, places, each=1)

    got = fit(rows, wrong, names, screen).predict(test_rows)

    assert np.median(np.hypot(got.x_px - test_px[:, 0], got.y_px - test_px[:, 1])) < 40


def test_an_eye_that_is_always_shut_gets_no_part(eyes, screen):
    rows, px, names = _samples(eyes, screen, GRID, shut=(True, False))
    mapping = fit(rows, px, names, screen)

    assert list(mapping.parts) == ["right"]
    assert set(mapping.left_out_px) == set(range(9))
    assert mapping.predict(rows).valid.all()


def test_too_few_targets_are_refused(eyes, screen):
    with pytest.raises(CalibrationError, match="fewer than 4 targets"):
        fit(*_samples(eyes, screen, GRID[:3]), screen)


def test_a_screen_without_millimetres_goes_the_same_way(eyes, screen):
    from gazelab.core.geometry import Screen

    rows, px, names = _samples(eyes, screen, GRID)
    a = fit(rows, px, names, screen).predict(rows)
    b = fit(rows, px, names, Screen("bare", 1920, 1080)).predict(rows)
    np.testing.assert_array_equal(a.x_px, b.x_px)


def test_frames_of_two_good_eyes_go_the_short_way_to_the_same_place(mapping, eyes):
    rows = np.array([eyes.row(x, y, yaw_deg=x / 2) for x in (-9.0, 0.0, 7.0) for y in (-5.0, 4.0)])
    together = mapping.predict(rows)
    half_shut = np.concatenate([rows, rows[:1]])
    half_shut["blink_score"][-1, 0] = 0.9  # one frame with one eye: now every part is predicted by itself
    apart = mapping.predict(half_shut)
    for name in ("x_px", "y_px", "left_x_px", "right_y_px", "confidence"):
        np.testing.assert_allclose(getattr(together, name), getattr(apart, name)[:-1], atol=1e-9)
