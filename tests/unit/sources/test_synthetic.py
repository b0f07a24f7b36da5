"""The synthetic participant through the real face landmarker; frame counts are small on purpose."""

from __future__ import annotations

import numpy as np
import pytest

from gazelab.calibration.mapping import fit
from gazelab.core.errors import ConfigError
from gazelab.core.gaze import EventKind, Frame, SourceState
from gazelab.core.geometry import Screen
from gazelab.processing.features import eyes_closed
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.face import FaceReader
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_face import SyntheticFace
from gazelab.sources.synthetic_head import STILL, HeadMotion, HeadPose
from gazelab.sources.synthetic_script import GazeScript, Look

MS = 1_000_000
LEFT, RIGHT = 0, 1
SCREEN = Screen("test", 1920, 1080, 344, 194, 600)
EYES_OPEN = (0.0, 0.0)


def looking(x_px: float = 960, y_px: float = 540, **more) -> SyntheticParticipant:
    script = GazeScript(SCREEN, [Look(0, 10_000 * MS, x_px, y_px)])
    return SyntheticParticipant(script, SCREEN, start_ns=0, **more)


def take(source, n: int) -> list[Frame]:
    return [frame for _ in range(n) if (frame := source.read()) is not None]


def gaze_at(face: SyntheticFace, right_deg: float, down_deg: float, pose: HeadPose = STILL) -> np.ndarray:
    return face.render(np.array([[right_deg, down_deg]] * 2), EYES_OPEN, pose)


@pytest.fixture(scope="module")
def face() -> SyntheticFace:
    return SyntheticFace((640, 480), focal_px=554.0, distance_mm=600.0)


@pytest.fixture(scope="module")
def reader():
    with FaceReader() as made:
        made.still(np.zeros((48, 64, 3), np.uint8))  # its threads belong to the fixture, not to a test
        yield made


def test_the_same_seed_gives_the_same_pixels_and_another_does_not():
    frames = []
    for seed in (3, 3, 4):
        with looking(seed=seed) as source:
            frames.append(take(source, 2))
    a, b, c = ([f.rgb for f in some] for some in frames)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a[0], c[0])
    assert not np.array_equal(a[0], a[1]), "the camera's noise never repeats"


def test_frames_come_at_their_rate_and_the_source_ends():
    with looking(rate_hz=25, jitter_ms=0, duration_ns=200 * MS) as source:
        frames = take(source, 10)
        assert source.state is SourceState.ENDED
    assert [f.time_ns // MS for f in frames] == [0, 40, 80, 120, 160]
    assert [f.index for f in frames] == [0, 1, 2, 3, 4]
    assert len(source.gaze_truth()) == 5


def test_jitter_moves_frame_times_but_never_swaps_them():
    with looking(jitter_ms=20) as source:
        times = np.array([source._time_ns(i) for i in range(500)])
    steps = np.diff(times) / MS
    assert (steps > 0).all()
    assert steps.std() > 8


def test_paced_frames_wait_for_the_clock_and_late_ones_are_not_rendered():
    now = 0

    def wait(seconds: float) -> None:
        nonlocal now
        now += round(seconds * 1e9)

    with looking(paced=True, rate_hz=25, clock=lambda: now, wait=wait) as source:
        assert source.read().index == 0
        assert source.read() is None
        assert source.read(0.1).index == 1
        now += 170 * MS
        assert source.read().index == 5


def test_a_screen_without_millimetres_is_refused():
    bare = Screen("bare", 1920, 1080)
    with pytest.raises(ConfigError, match="mm"):
        SyntheticParticipant(GazeScript(bare), bare)


def test_the_real_landmarker_sees_the_iris_turn_and_the_lids_follow(face, reader):
    rows = {
        name: reader.still(gaze_at(face, *turn)).features
        for name, turn in {
            "ahead": (0, 5),
            "right": (12, 5),
            "left": (-12, 5),
            "up": (0, -4),
            "down": (0, 18),
        }.items()
    }
    assert all(r["valid"] for r in rows.values())
    for eye in (LEFT, RIGHT):
        x = [rows[n]["iris"][eye, 0] for n in ("left", "ahead", "right")]
        assert x[0] < x[1] < x[2]
        # 10.5 mm * sin 12° over an eye 26 mm wide is 0.084 eye widths a side
        assert 0.11 < x[2] - x[0] < 0.22
        assert rows["up"]["iris"][eye, 1] < rows["ahead"]["iris"][eye, 1] < rows["down"]["iris"][eye, 1]
        assert rows["up"]["openness"][eye] > rows["ahead"]["openness"][eye] > rows["down"]["openness"][eye]
    assert not eyes_closed(np.array(list(rows.values()))).any(), "looking down is no blink"


def test_M15_only_the_subjects_left_eye_moves_the_left_column(face, reader):
    """Mirroring a preview must not touch this; the picture itself is never mirrored."""
    ahead = reader.still(gaze_at(face, 0, 5)).features
    one = np.array([[14.0, 5.0], [0.0, 5.0]])
    moved = reader.still(face.render(one, EYES_OPEN, STILL)).features
    change = moved["iris"][:, 0] - ahead["iris"][:, 0]
    assert change[LEFT] > 0.06
    assert abs(change[RIGHT]) < 0.4 * change[LEFT], "the landmarker draws the other iris along a little"
    wink = reader.still(face.render(np.array([[0.0, 5.0]] * 2), (1.0, 0.0), STILL)).features
    assert wink["openness"][LEFT] < 0.5 * wink["openness"][RIGHT]
    assert wink["blink_score"][LEFT] > 2 * wink["blink_score"][RIGHT]
    assert wink["eye_centre_px"][LEFT, 0] > wink["eye_centre_px"][RIGHT, 0]


def test_the_head_turns_and_moves_the_way_it_says(face, reader):
    def row(pose: HeadPose):
        return reader.still(gaze_at(face, 0, 5, pose)).features

    rest = row(STILL)
    assert row(HeadPose(yaw_deg=10))["yaw_deg"] - rest["yaw_deg"] == pytest.approx(10, abs=3.5)
    assert row(HeadPose(pitch_deg=10))["pitch_deg"] - rest["pitch_deg"] == pytest.approx(8, abs=4)
    assert row(HeadPose(roll_deg=10))["roll_deg"] - rest["roll_deg"] == pytest.approx(10, abs=1.5)
    aside = row(HeadPose(x_mm=30, y_mm=20))["eye_centre_px"] - rest["eye_centre_px"]
    np.testing.assert_allclose(aside, np.tile([30, 20], (2, 1)) * 554 / 600, atol=2)
    farther = row(HeadPose(z_mm=120))["eye_width_px"] / rest["eye_width_px"]
    np.testing.assert_allclose(farther, 600 / 720, atol=0.04)


def test_M5_wide_eye_movements_barely_turn_the_head(face, reader):
    """The rest of the leak is in the landmarks: about half a degree of pitch, less of yaw and roll."""
    rows = np.array([reader.still(gaze_at(face, h, v)).features for v in (2, 10, 18) for h in (-15, 0, 15)])
    for name, limit in (("yaw_deg", 0.6), ("pitch_deg", 1.0), ("roll_deg", 0.6)):
        assert np.abs(rows[name] - rows[name].mean()).max() < limit


def test_M11_the_same_face_in_frames_of_other_shapes_gives_the_same_numbers(face, reader):
    small = gaze_at(face, 5, 8)[40:440, 120:520]
    rows = []
    for width, height in ((640, 480), (880, 495), (480, 640)):
        canvas = np.full((height, width, 3), 190, np.uint8)
        top, left = (height - 400) // 2, (width - 400) // 2
        canvas[top : top + 400, left : left + 400] = small
        rows.append(reader.still(canvas).features)
    for row in rows[1:]:
        np.testing.assert_allclose(row["openness"], rows[0]["openness"], atol=0.02)
        np.testing.assert_allclose(row["iris"], rows[0]["iris"], atol=0.02)
        np.testing.assert_allclose(row["eye_width_px"], rows[0]["eye_width_px"], atol=0.8)
        for name in ("yaw_deg", "pitch_deg", "roll_deg"):
            assert row[name] == pytest.approx(rows[0][name], abs=2), "its crop differs a little"


class AlwaysThere:
    """A mapping that would give gaze for anything."""

    def predict(self, features):
        from types import SimpleNamespace

        names = ("x_px", "y_px", "left_x_px", "left_y_px", "right_x_px", "right_y_px", "confidence")
        return SimpleNamespace(
            **{n: np.full(len(features), 1.0) for n in names}, valid=np.ones(len(features), bool)
        )


def test_M4_every_blink_is_found_and_no_gaze_is_given_while_the_lids_are_shut():
    looks = [
        Look(k * 1000 * MS, k * 1000 * MS + 900 * MS, *at)
        for k, at in enumerate([(960, 540), (100, 60), (1800, 1000), (200, 1020)])
    ]
    script = GazeScript(SCREEN, looks, blinks=[(t * MS, (t + 250) * MS) for t in (410, 1405, 2398, 3390)])
    participant = SyntheticParticipant(script, SCREEN, start_ns=0, duration_ns=4000 * MS)
    with CameraGaze(participant, FaceReader(), AlwaysThere(), clock=lambda: 0) as source:
        readings = []
        while source.state is not SourceState.ENDED:
            readings += source.read()
        truth, events = participant.gaze_truth(), participant.events_truth()
    samples = np.array([r.sample for r in readings])
    assert len(samples) == len(truth) == 121
    blinks = events[events["kind"] == EventKind.BLINK]
    assert len(blinks) == 4
    in_a_blink = np.zeros(len(samples), bool)
    for blink in blinks:
        inside = (samples["time_ns"] >= blink["onset_ns"]) & (samples["time_ns"] <= blink["offset_ns"])
        assert samples["blink"][inside].any(), "a blink was missed"
        in_a_blink |= inside
    assert not samples["blink"][~in_a_blink].any(), "looking down or aside is no blink"
    shut = np.array([script.lid_closure(int(t)) for t in samples["time_ns"]]) > 0.99
    assert shut.sum() >= 8
    assert not samples["valid"][shut].any()
    assert np.isnan(samples["x_px"][shut]).all()
    assert samples["valid"][~in_a_blink].all()
    assert np.median(samples["distance_mm"]) == pytest.approx(np.median(truth["distance_mm"]), rel=0.08)


def test_nine_points_through_the_real_landmarker_calibrate_to_about_a_degree():
    grid = [(x, y) for y in (40, 540, 1040) for x in (60, 960, 1860)]
    held_out = [(500, 300), (1400, 800), (1500, 250), (450, 850)]
    looks = [Look(k * 400 * MS, k * 400 * MS + 330 * MS, *at) for k, at in enumerate(grid + held_out)]
    source = SyntheticParticipant(GazeScript(SCREEN, looks), SCREEN, start_ns=0, rate_hz=30)
    with source, FaceReader() as reader:
        frames = take(source, 12 * len(looks))
        rows = np.array([reader.read(f).features for f in frames])
    assert rows["valid"].all()
    target = np.minimum(rows["time_ns"] // (400 * MS), len(looks) - 1)
    settled = rows["time_ns"] - target * 400 * MS < 320 * MS
    places = np.array(grid + held_out, float)
    train, test = settled & (target < 9), settled & (target >= 9)
    mapping = fit(rows[train], places[target[train]], target[train], SCREEN)
    got = mapping.predict(rows[test])
    error = SCREEN.angle_deg(got.x_px, got.y_px, *places[target[test]].T)
    assert np.mean(error) < 2.5
    chance = SCREEN.angle_deg(*places[:9].mean(0), *places[target[test]].T)
    assert np.mean(error) < 0.35 * np.mean(chance)


def test_sway_has_the_size_it_was_given_and_places_are_reached():
    sway = HeadPose(2.0, 1.0, 0.5, 4.0, 3.0, 6.0)
    motion = HeadMotion(sway, seed=1)
    poses = np.array([motion.at(t * 100 * MS).as_array() for t in range(20_000)])
    np.testing.assert_allclose(poses.std(0), sway.as_array(), rtol=0.15)
    moved = HeadMotion(STILL, places=((1000 * MS, HeadPose(z_mm=50)),))
    assert moved.at(999 * MS).z_mm == 0
    assert 0 < moved.at(1250 * MS).z_mm < 50
    assert moved.at(1500 * MS).z_mm == 50


def test_a_wandering_head_stays_within_its_limits_and_reaches_for_them():
    limits = HeadPose(10, 10, 5, 40, 40, 40)
    motion = HeadMotion(STILL, seed=2)
    motion.wander(5000 * MS, limits)
    assert motion.at(4000 * MS) == STILL
    poses = np.array([motion.at(5000 * MS + t * 100 * MS).as_array() for t in range(3000)])
    assert (np.abs(poses) <= limits.as_array() + 1e-9).all()
    assert (np.abs(poses).max(0) > 0.9 * limits.as_array()).all()
    assert np.abs(np.diff(poses[:, 0])).max() < 1.0, "degrees in a tenth of a second: slowly"


def test_the_head_does_what_it_is_told_and_comes_back():
    motion = HeadMotion(STILL)
    motion.act(1000 * MS, 2000 * MS, lambda share: HeadPose(yaw_deg=10 * share * (1 - share)))
    assert [motion.at(t * MS).yaw_deg for t in (500, 2000, 3500)] == [0, 2.5, 0]


def test_a_head_that_moves_aside_is_seen_from_its_side_and_its_eyes_are_where_they_should(face, reader):
    """40 mm at 600 mm are 3.8 degrees, although the head hasn't turned."""
    aside = HeadPose(x_mm=40)
    rest = reader.still(gaze_at(face, 0, 5)).features
    moved = reader.still(gaze_at(face, 0, 5, aside)).features
    assert moved["yaw_deg"] - rest["yaw_deg"] == pytest.approx(3.8, abs=2.0)
    np.testing.assert_allclose(
        moved["eye_centre_px"] - rest["eye_centre_px"], [[40 * 554 / 600, 0]] * 2, atol=2
    )


def test_an_eye_that_turns_back_as_far_as_the_head_turns_moves_its_iris_that_far(face, reader):
    def iris(head_deg: float, eye_deg: float) -> np.ndarray:
        return reader.still(gaze_at(face, eye_deg, 0, HeadPose(yaw_deg=head_deg))).features["iris"][:, 0]

    for head_deg in (-10.0, 10.0):  # to the subject's left is to the picture's right
        back = iris(head_deg, -head_deg) - iris(head_deg, 0.0)
        assert (np.sign(back) == -np.sign(head_deg)).all()
        # 10.5 mm * sin 10 degrees is 1.8 mm of an eye 26 mm wide
        assert 0.04 < np.abs(back).mean() < 0.11
