from __future__ import annotations

import numpy as np
import pytest

from gazelab.calibration.collect import Timing
from gazelab.calibration.validation import TargetValidation, Validation
from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Screen
from gazelab.pipeline.drift import Decision, DriftCheck
from gazelab.pipeline.drift_plan import DriftLimits, DriftSchedule, DriftTarget, drift_target, px_per_deg
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.study import RecordingStudy
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter

from .scripted import MS, SCREEN, ScriptedSource, chart

TARGET = (960.0, 540.0)
CENTRE = DriftTarget(*TARGET)
DEG = px_per_deg(SCREEN)


def stretch(n=90, offset_deg=(0.0, 0.0), sd_deg=0.3, step_ns=33 * MS, start_ns=0, seed=1):
    """Gaze about the target, moved by so many degrees right and down."""
    rows = empty_gaze(n)
    rng = np.random.default_rng(seed)
    rows["time_ns"] = start_ns + np.arange(1, n + 1) * step_ns
    rows["x_px"] = TARGET[0] + DEG * (offset_deg[0] + rng.normal(0, sd_deg, n))
    rows["y_px"] = TARGET[1] + DEG * (offset_deg[1] + rng.normal(0, sd_deg, n))
    rows["valid"] = True
    return rows


def run(rows, check=None, screen=SCREEN, **more):
    """Look after each sample, then let the time run out; give outcome and the time it was given."""
    check = check or DriftCheck(CENTRE, screen, 0, **more)
    for k in range(1, len(rows) + 1):
        now_ns = int(rows["time_ns"][k - 1])
        outcome = check.look(rows[:k], now_ns)
        if outcome is not None:
            return outcome, now_ns
    now_ns = check.from_ns + check.timing.limit_ns
    return check.look(rows, now_ns), now_ns


def test_near_the_target_nothing_is_applied():
    outcome, _ = run(stretch(offset_deg=(0.5, -0.4)))
    assert outcome.decision is Decision.FINE
    assert outcome.correction_px == (0.0, 0.0)
    assert outcome.offset_px == pytest.approx((0.5 * DEG, -0.4 * DEG), abs=0.2 * DEG)
    assert outcome.offset_deg == pytest.approx(np.hypot(0.5, 0.4), abs=0.2)
    assert 22 <= outcome.n_samples <= 25, "of 0.8 s at 30 Hz"


def test_farther_off_the_correction_takes_the_offset_out():
    outcome, now_ns = run(stretch(offset_deg=(2.0, -1.5)))
    assert outcome.decision is Decision.CORRECTED
    assert outcome.correction_px == (-outcome.offset_px[0], -outcome.offset_px[1])
    assert outcome.offset_px == pytest.approx((2.0 * DEG, -1.5 * DEG), abs=0.2 * DEG)
    assert 0.7e9 + 0.7e9 < now_ns < 1.6e9, "settling, then a stretch of 0.8 s"


def test_a_second_correction_is_added_to_the_first():
    outcome, _ = run(stretch(offset_deg=(1.5, 0.0)), correction_px=(-100.0, 20.0))
    assert outcome.correction_px[0] == pytest.approx(-100 - 1.5 * DEG, abs=0.2 * DEG)


@pytest.mark.parametrize(
    ("offset_deg", "correction_px", "why"),
    [((6.0, 0.0), (0.0, 0.0), "too large"), ((3.0, 0.0), (-3.0 * DEG, 0.0), "add up")],
)
def test_too_far_asks_for_a_calibration_and_changes_nothing(offset_deg, correction_px, why):
    outcome, _ = run(stretch(offset_deg=offset_deg), correction_px=correction_px)
    assert outcome.decision is Decision.RECALIBRATE
    assert outcome.correction_px == correction_px
    assert why in outcome.reason
    assert outcome.offset_deg == pytest.approx(offset_deg[0], abs=0.2), "the figure is told all the same"


def test_a_wandering_gaze_is_no_rest_and_its_calmest_stretch_is_told():
    rows = stretch(300, sd_deg=0.1)
    rows["x_px"] += np.where(np.arange(300) // 6 % 2, 2.5, -2.5) * DEG
    outcome, now_ns = run(rows)
    assert outcome.decision is Decision.RECALIBRATE
    assert "did not rest" in outcome.reason
    assert now_ns >= 7.7e9
    assert outcome.spread_deg > 2


def test_one_fixation_is_found_after_wandering():
    wander = stretch(60, sd_deg=0.1)
    wander["x_px"] += np.where(np.arange(60) // 6 % 2, 2.5, -2.5) * DEG
    rest = stretch(60, offset_deg=(0.3, 0.0), start_ns=int(wander["time_ns"][-1]))
    outcome, _ = run(np.concatenate([wander, rest]))
    assert outcome.decision is Decision.FINE


def test_a_noisy_tracker_rests_too_and_the_median_is_taken():
    rows = stretch(sd_deg=1.4, offset_deg=(2.0, 0.0), seed=5)
    rows["x_px"][40] += 900
    outcome, _ = run(rows)
    assert outcome.decision is Decision.CORRECTED
    assert outcome.offset_deg == pytest.approx(2.0, abs=0.8)


def test_G6_lost_gaze_is_no_offset_of_zero():
    rows = empty_gaze(90)
    rows["time_ns"] = np.arange(1, 91) * 33 * MS
    outcome, _ = run(rows)
    assert outcome.decision is Decision.RECALIBRATE
    assert np.isnan(outcome.offset_deg)
    assert outcome.n_samples == 0
    assert "no gaze" in outcome.reason


def test_a_source_that_gives_nothing_runs_out_of_time():
    check = DriftCheck(CENTRE, SCREEN, 0)
    assert check.look(empty_gaze(0), 7_000 * MS) is None
    assert check.look(empty_gaze(0), 7_700 * MS).decision is Decision.RECALIBRATE


def test_blinks_and_what_lies_close_to_them_do_not_count():
    rows = stretch(60, offset_deg=(0.0, 0.2))
    rows["blink"][30:34] = True
    rows["y_px"][28:36] += 6 * DEG
    outcome, _ = run(rows)
    assert outcome.decision is Decision.FINE


def test_the_space_bar_takes_the_stretch_after_it_and_one_for_the_step_before_does_not_count():
    check = DriftCheck(CENTRE, SCREEN, 0)
    check.press(100 * MS)
    assert check.from_ns == 700 * MS
    check.press(200 * MS)
    assert check.from_ns == 200 * MS
    outcome, now_ns = run(stretch(sd_deg=0.2), check)
    assert outcome.decision is Decision.FINE
    assert now_ns < 1_100 * MS
    assert check.progress(600 * MS) == pytest.approx(0.5)


def test_a_press_does_not_make_a_wide_spread_a_measurement():
    check = DriftCheck(CENTRE, SCREEN, 0)
    check.press(200 * MS)
    rows = stretch(sd_deg=0.1)
    rows["x_px"] += np.where(np.arange(90) // 6 % 2, 3.5, -3.5) * DEG
    outcome, _ = run(rows, check)
    assert outcome.decision is Decision.RECALIBRATE
    assert "spread" in outcome.reason


def test_without_millimetres_it_decides_by_px_and_says_no_degrees():
    screen = Screen("unknown", 1920, 1080)
    outcome, _ = run(stretch(offset_deg=(2.0, 0.0)), screen=screen)
    assert outcome.decision is Decision.CORRECTED
    assert np.isnan(outcome.offset_deg)
    assert outcome.offset_px[0] == pytest.approx(2 * DEG, abs=0.2 * DEG)


def test_an_offset_within_the_calibrations_own_error_is_left_alone():
    limits = DriftLimits().known_accuracy(2.4)
    assert run(stretch(offset_deg=(2.2, 0.0)), limits=limits)[0].decision is Decision.FINE
    assert DriftLimits().known_accuracy(0.4) == DriftLimits() == DriftLimits().known_accuracy(float("nan"))
    assert DriftLimits().known_accuracy(9.0).accept_deg == 5.0


def validation_of(*targets):
    """A validation of (target x, y, mean gaze x, y)."""
    nan = float("nan")
    rest = {k: nan for k in Validation.__slots__ if k not in ("targets", "n_with_data", "screen_width_px")}
    found = tuple(TargetValidation(k, x, y, gx, gy, n_samples=20) for k, (x, y, gx, gy) in enumerate(targets))
    return Validation(found, n_with_data=len(found), screen_width_px=1920, **rest)


def test_the_target_is_the_validated_place_nearest_the_centre():
    validation = validation_of(
        (200.0, 200.0, 210.0, 190.0), (1150.0, 600.0, 1180.0, 560.0), (800.0, 400.0, np.nan, np.nan)
    )
    assert drift_target(SCREEN, validation) == DriftTarget(1150.0, 600.0, (30.0, -40.0))


@pytest.mark.parametrize("validation", [None, validation_of((60.0, 60.0, 70.0, 90.0))])
def test_without_a_validated_place_near_it_the_target_is_the_centre(validation):
    target = drift_target(SCREEN, validation)
    assert (target.x_px, target.y_px) == TARGET
    assert not target.is_known


def test_the_calibrations_own_offset_is_no_drift():
    known = DriftTarget(*TARGET, known_px=(1.5 * DEG, 0.0))
    outcome, _ = run(stretch(offset_deg=(1.5, 0.2)), DriftCheck(known, SCREEN, 0))
    assert outcome.decision is Decision.FINE
    assert outcome.known_px == (1.5 * DEG, 0.0)
    outcome, _ = run(stretch(offset_deg=(-1.0, 0.0)), DriftCheck(known, SCREEN, 0))
    assert outcome.correction_px == pytest.approx((2.5 * DEG, 0.0), abs=0.2 * DEG)


@pytest.mark.parametrize(
    ("every", "due"), [(0, []), (1, [0, 1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (3, [3, 6]), (9, [])]
)
def test_how_often(every, due):
    schedule, found = DriftSchedule(every), []
    for index in range(7):
        if schedule.due(index):
            found.append(index)
            schedule.done(index)
    assert found == due


def test_a_check_that_was_asked_for_puts_the_next_one_off():
    schedule = DriftSchedule(5)
    schedule.done(3)
    assert next(k for k in range(12) if schedule.due(k)) == 8


def study_on(tmp_path, source, acquisition, n=2, session_id="s"):
    writer = SessionWriter.create(tmp_path, session_id, header_for(source, SCREEN, "P1"), clock=source.clock)
    acquisition.add_sink(writer)
    return writer, RecordingStudy([chart(str(k)) for k in range(n)], writer, acquisition)


def read_chart(study, source, acquisition, places, live, rng, lag_ns=0):
    study.prepare()
    study.show(reading_layout(SCREEN, 40, 30).chart, source.clock() + lag_ns)
    for place in places:
        for _ in range(15):
            source.place = tuple(rng.normal(place, 6))
            acquisition.pump()
            live.append(acquisition.snapshot())
    study.answer("x", source.clock() + lag_ns + 1)


def check_drift(study, source, acquisition, place, rng, lag_ns=0):
    now_ns = source.clock() + lag_ns
    check = DriftCheck(CENTRE, SCREEN, now_ns, acquisition.correction_px, DriftLimits(), Timing())
    outcome = None
    while outcome is None:
        source.place = tuple(rng.normal(place, 8))
        acquisition.pump()
        outcome = check.look(acquisition.snapshot().samples, source.clock() + lag_ns)
    study.drift_check(outcome, source.clock() + lag_ns)
    return outcome


@pytest.mark.parametrize("lag_ns", [0, 80 * MS, -20 * MS])
def test_G16_live_and_replayed_are_identical_with_drift_checks_between_the_trials(tmp_path, lag_ns):
    """Whether samples come at once, as late as a camera's, or with stamps ahead of the clock."""
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    rng = np.random.default_rng(4)
    live = [[], [], []]
    writer, study = study_on(tmp_path, source, acquisition, 3)
    with writer:
        looks = ((500, 600), (1300, 400), (1200, 900))
        read_chart(study, source, acquisition, looks, live[0], rng, lag_ns)
        first = check_drift(study, source, acquisition, (1060.5, 500), rng, lag_ns)
        read_chart(study, source, acquisition, looks, live[1], rng, lag_ns)
        second = check_drift(study, source, acquisition, (1120, 580), rng, lag_ns)
        read_chart(study, source, acquisition, looks, live[2], rng, lag_ns)
    assert first.decision is second.decision is Decision.CORRECTED
    replay = Replay.open(writer.path, layers="live")
    for trial, seen in zip(replay.trials, live, strict=True):
        assert len(seen[-1].fixations) >= 2
        inside = [view for view in seen if trial.onset_ns <= view.time_ns < trial.offset_ns]
        assert len(inside) >= 40
        for view in inside:
            again = replay.view_at(trial, view.time_ns)
            assert again.samples.tobytes() == view.samples.tobytes()
            assert again.fixations.tobytes() == view.fixations.tobytes()
    raw = Replay.open(writer.path, layers="raw")
    moved = replay.samples(replay.trials[2])["x_px"] - raw.samples(raw.trials[2])["x_px"]
    assert moved[3:] == pytest.approx(second.correction_px[0], abs=0.01)
    assert replay.samples(replay.trials[0]).tobytes() == raw.samples(raw.trials[0]).tobytes()


def test_G16_the_disk_gets_what_was_measured_whatever_is_corrected(tmp_path):
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    writer, study = study_on(tmp_path, source, acquisition)
    with writer:
        check_drift(study, source, acquisition, (1060.5, 500), np.random.default_rng(0))
        source.place = (100.25, 7.5)
        acquisition.pump()
        assert acquisition.snapshot().samples["x_px"][-1] != np.float32(100.25)
    last = Session.open(writer.path).gaze()[-1]
    assert (last["x_px"], last["y_px"]) == (100.25, 7.5)


def test_G8_a_correction_is_not_left_over_for_the_next_study(tmp_path):
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    writer, study = study_on(tmp_path, source, acquisition)
    with writer:
        check_drift(study, source, acquisition, (1060, 500), np.random.default_rng(0))
    assert acquisition.correction_px != (0.0, 0.0)
    acquisition.remove_sink(writer)
    writer, _ = study_on(tmp_path, source, acquisition, session_id="t")
    writer.close()
    assert acquisition.correction_px == (0.0, 0.0)


def test_every_outcome_is_a_marker_with_its_figures(tmp_path):
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    writer, study = study_on(tmp_path, source, acquisition)
    rng = np.random.default_rng(0)
    with writer:
        outcomes = [
            check_drift(study, source, acquisition, place, rng)
            for place in (TARGET, (1060, 540), (1460, 540), (np.nan, np.nan))
        ]
        skipped = DriftCheck(CENTRE, SCREEN, 0, acquisition.correction_px).skipped()
        study.drift_check(skipped, source.clock())
    found = [m for m in Session.open(writer.path).markers() if m["kind"] == "drift_check"]
    assert [m["decision"] for m in found] == ["fine", "corrected", "recalibrate", "recalibrate", "skipped"]
    corrected = found[1]
    assert corrected["target_px"] == list(TARGET)
    assert corrected["offset_px"] == pytest.approx([100, 0], abs=6)
    assert corrected["correction_px"] == [-corrected["offset_px"][0], -corrected["offset_px"][1]]
    assert corrected["offset_deg"] == pytest.approx(outcomes[1].offset_deg)
    assert corrected["n_samples"] == outcomes[1].n_samples >= 22
    assert 4 < corrected["spread_px"] < 13
    assert [m["correction_px"] for m in found[2:]] == [corrected["correction_px"]] * 3
    assert found[3]["offset_px"] == [None, None]
    assert found[3]["reason"]
    assert found[0]["order"] == 0


class EyeTracker:
    """An eye that turns toward the screen, and a tracker that knows where the head was when it calibrated.

    The eye's direction is right to `noise_deg`; a smooth field of about a degree stands for what the
    calibration got wrong. The tracker finds the place on the screen from the calibrated head position.
    """

    def __init__(self, seed: int = 2) -> None:
        self.rng = np.random.default_rng(seed)
        self.head_mm = np.zeros(3)
        self.noise_deg = 0.5

    def gaze_px(self, x_px: float, y_px: float) -> tuple[float, float]:
        mm = SCREEN.width_mm / SCREEN.width_px
        x_mm, y_mm = (x_px - 960) * mm - self.head_mm[0], (y_px - 540) * mm - self.head_mm[1]
        distance = SCREEN.distance_mm + self.head_mm[2]
        right, down = np.arctan2(x_mm, distance), np.arctan2(y_mm, distance)
        bias = 1.0 * np.array([np.sin(x_px / 300 + 1), np.cos(y_px / 250)])
        right, down = np.array([right, down]) + np.radians(bias + self.rng.normal(0, self.noise_deg, 2))
        return (
            float(960 + np.tan(right) * SCREEN.distance_mm / mm),
            float(540 + np.tan(down) * SCREEN.distance_mm / mm),
        )


def test_G1_after_a_head_shift_the_check_brings_the_calibrations_error_back(tmp_path):
    """A head that moves 40 mm right, 15 down and 20 back at 60 s: the same eye, seen wrong ever after."""
    source, eye = ScriptedSource(), EyeTracker()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    writer, study = study_on(tmp_path, source, acquisition)
    places = [(x, y) for x in (200, 600, 960, 1300, 1700) for y in (150, 540, 900)]

    def error_deg() -> float:
        found = []
        for x, y in places:
            for _ in range(20):
                source.place = eye.gaze_px(x, y)
                acquisition.pump()
            gaze = acquisition.snapshot(tail_ns=20 * 33 * MS).samples
            found.append(SCREEN.angle_deg(gaze["x_px"].mean(), gaze["y_px"].mean(), x, y))
        return float(np.mean(found))

    def mean_at(x, y, n=40):
        found = np.mean([eye.gaze_px(x, y) for _ in range(n)], axis=0)
        return float(found[0]), float(found[1])

    def check():
        drift = DriftCheck(target, SCREEN, source.clock(), acquisition.correction_px)
        outcome = None
        while outcome is None:
            source.place = eye.gaze_px(target.x_px, target.y_px)
            acquisition.pump()
            outcome = drift.look(acquisition.snapshot().samples, source.clock())
        study.drift_check(outcome, source.clock())
        return outcome

    held_out = [(700.0, 300.0), (1190.0, 605.0)]
    target = drift_target(SCREEN, validation_of(*((x, y, *mean_at(x, y)) for x, y in held_out)))
    with writer:
        calibrated = error_deg()
        while source.clock() < 60_000 * MS:
            acquisition.pump()
        eye.head_mm = np.array([40.0, 15.0, 20.0])
        moved = error_deg()
        outcome = check()
        restored = error_deg()
    assert moved > 3 * calibrated
    assert outcome.decision is Decision.CORRECTED
    assert restored < 1.2 * calibrated
    marker = next(m for m in Session.open(writer.path).markers() if m["kind"] == "drift_check")
    assert marker["offset_px"] == list(outcome.offset_px)
    assert marker["correction_px"] == list(outcome.correction_px)
