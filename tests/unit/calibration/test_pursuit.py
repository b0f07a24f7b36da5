from __future__ import annotations

import numpy as np
import pytest

from gazelab.calibration.collect import MS, Timing
from gazelab.calibration.findings import Code
from gazelab.calibration.plan import Part, Style
from gazelab.calibration.procedure import RUNNING, Advance, CalibrationProcedure
from gazelab.calibration.pursuit import DEFAULT_LAG_NS, INSTRUCTION, PursuitCollector
from gazelab.calibration.pursuit_path import PursuitPath
from gazelab.calibration.result import CalibrationState
from gazelab.calibration.targets import TargetKind, calibration_targets
from gazelab.core.geometry import Screen

LAG = 120 * MS


class Follower:
    """Follows a moving target with a lag and looks at standing ones, at 30 samples a second."""

    def __init__(self, screen, eyes, lag_ns=LAG, away=lambda elapsed_ns: None, shut=lambda elapsed_ns: False):
        self.screen, self.eyes, self.lag_ns, self.away, self.shut = screen, eyes, lag_ns, away, shut
        self.time_ns = 10_000 * MS

    def work(self, procedure):
        """Go through the procedure; `away` and `shut` count from the moving target's appearance."""
        procedure.start(self.time_ns)
        target, since, motion = None, 0, None
        while procedure.state in RUNNING:
            self.time_ns += round(1e9 / 30)
            if procedure.current_target != target:
                target, since, motion = procedure.current_target, self.time_ns, procedure.motion
            elapsed = self.time_ns - since
            place = motion(self.time_ns - self.lag_ns)
            moving = target.kind is TargetKind.PURSUIT
            if moving and self.away(elapsed) is not None:
                place = self.away(elapsed)
            x, y = (float(v) for v in self.screen.to_deg(*place))
            shut = moving and self.shut(elapsed)
            procedure.add(self.eyes.row(x, y, self.time_ns, shut=(shut, shut)), self.time_ns)
        return procedure.result()


@pytest.fixture
def path(screen):
    return PursuitPath(screen)


def test_the_path_goes_along_the_edges_and_through_every_corner(path, screen):
    places = path.at(np.arange(0, path.duration_ns, 10 * MS))
    inset = 0.03 * screen.height_px
    assert places.min(0) == pytest.approx([inset, inset], abs=1)
    assert places.max(0) == pytest.approx([screen.width_px - inset, screen.height_px - inset], abs=1)
    for corner in calibration_targets(9, screen)[0::2]:
        assert np.hypot(*(places - (corner.x_px, corner.y_px)).T).min() < 20


def test_the_target_is_never_faster_than_nine_degrees_a_second_and_never_jumps(path, screen):
    places = path.at(np.arange(0, path.duration_ns, 10 * MS))
    speed = np.hypot(*np.diff(places, axis=0).T) / 0.010 / screen.px_per_deg()
    assert speed.max() == pytest.approx(9.0, rel=0.02)
    assert np.abs(np.diff(speed)).max() < 1.0  # it speeds up over 0.4 s
    assert 15 < path.duration_ns / 1e9 < 45


def test_without_millimetres_the_speed_is_a_share_of_the_screen():
    path = PursuitPath(Screen("bare", 1000, 600))
    x = path.at(np.arange(0, 2000, 100) * MS)[:, 0]
    assert np.diff(x).max() == pytest.approx(0.28 * 1000 * 0.1, rel=0.01)


def test_a_follower_is_calibrated_as_well_as_with_nine_points(screen, eyes, participant):
    got = Follower(screen, eyes).work(CalibrationProcedure(screen, 9, style="pursuit"))
    points = participant.work(CalibrationProcedure(screen, 9)).result()

    assert (got.state, got.findings) == (CalibrationState.VALID, ())
    assert got.validation.accuracy_deg < max(1.0, 1.2 * points.validation.accuracy_deg)
    assert [c.target.index for c in got.collected] == list(range(9))
    assert all(c.has_data(Timing()) for c in got.collected)
    assert got.run.n_followed > 0.9 * got.run.n_seen


def test_M15_a_camera_that_mirrors_or_not_makes_no_difference(screen, eyes):
    plain = eyes.row

    def mirrored(*where, **more):
        row = plain(*where, **more)
        row["iris"][:, 0] *= -1
        row["patches"] = row["patches"][:, :, ::-1].copy()
        return row

    eyes.row = mirrored
    got = Follower(screen, eyes).work(CalibrationProcedure(screen, style="pursuit"))
    assert got.run.n_followed > 0.9 * got.run.n_seen
    assert got.validation.accuracy_deg < 1.0


@pytest.mark.parametrize("lag_ms", [60, 120, 200])
def test_the_lag_is_read_off_the_samples(lag_ms, screen, eyes):
    got = Follower(screen, eyes, lag_ms * MS).work(CalibrationProcedure(screen, style="pursuit"))
    assert got.run.lag_estimated
    assert got.run.lag_ns / MS == pytest.approx(lag_ms, abs=20)


def test_samples_are_paired_with_where_the_target_was_when_the_eye_aimed(screen, eyes):
    follower = Follower(screen, eyes, 150 * MS)
    procedure = CalibrationProcedure(screen, style="pursuit")
    got = follower.work(procedure)
    places = np.concatenate([c.places_px[c.usable] for c in got.collected])
    rows = np.concatenate([c.rows[c.usable] for c in got.collected])
    x_deg, _ = screen.to_deg(places[:, 0], places[:, 1])
    # the model's iris is at 0.0075 eye widths a degree: unpaired, 9 deg/s * 0.15 s would be 1.35 degrees off
    on_the_way = np.sign(np.gradient(places[np.argsort(rows["time_ns"]), 0]))
    off = (rows["iris"][:, 0, 0] / 0.0075 - x_deg)[np.argsort(rows["time_ns"])]
    assert abs(off[on_the_way > 0].mean() - off[on_the_way < 0].mean()) < 0.4


def test_stretches_off_the_target_are_dropped_and_counted(screen, eyes):
    """For 1.5 s the eye rests in the middle, later it jumps to a corner for half a second, and it blinks."""

    def away(elapsed_ns):
        if 5000 * MS <= elapsed_ns < 6500 * MS:
            return screen.width_px / 2, screen.height_px / 2
        return (0.0, 0.0) if 12_000 * MS <= elapsed_ns < 12_500 * MS else None

    follower = Follower(screen, eyes, away=away, shut=lambda t: 9000 * MS <= t < 9200 * MS)
    procedure = CalibrationProcedure(screen, style="pursuit")
    start = follower.time_ns
    got = follower.work(procedure)

    rows = np.concatenate([c.rows for c in got.collected])
    used = np.concatenate([c.usable for c in got.collected])
    since_ms = (rows["time_ns"] - start) / MS
    for first, last in ((5150, 6350), (12_050, 12_450), (8950, 9250)):
        assert used[(since_ms > first) & (since_ms < last)].mean() < 0.1
    calm = (since_ms > 13_500) | ((since_ms > 7200) & (since_ms < 8700))
    assert used[calm].mean() > 0.9
    assert got.run.n_seen - got.run.n_followed >= 60
    assert got.validation.accuracy_deg < 1.2


def test_eyes_that_do_not_follow_are_refused_and_told_so(screen, eyes):
    def anywhere(elapsed_ns):
        rng_now = np.random.default_rng(elapsed_ns // (400 * MS))
        return rng_now.uniform(0, screen.width_px), rng_now.uniform(0, screen.height_px)

    got = Follower(screen, eyes, away=anywhere).work(CalibrationProcedure(screen, style="pursuit"))
    assert got.state is CalibrationState.FAILED
    assert [f.code for f in got.findings] == [Code.NOT_FOLLOWED]
    assert got.run.lag_ns == DEFAULT_LAG_NS or got.run.lag_estimated
    assert got.mapping is None


def test_C17_eyes_redrawn_to_look_at_the_lens_are_refused_with_the_hint(screen, eyes):
    middle = screen.width_px / 2, screen.height_px / 2
    got = Follower(screen, eyes, away=lambda t: middle).work(CalibrationProcedure(screen, style="pursuit"))
    assert [f.code for f in got.findings] == [Code.CONSTANT]
    assert "eye-contact correction" in got.findings[0].message


def test_G10_cells_without_data_are_named_and_redone_as_standing_dots(screen, eyes):
    """The eyes are away while the target goes to its last corner."""

    def away(elapsed_ns):
        return (960.0, 100.0) if elapsed_ns > 31_500 * MS else None

    follower = Follower(screen, eyes, away=away)
    procedure = CalibrationProcedure(screen, 9, style="pursuit")
    got = follower.work(procedure)
    assert got.redo
    assert Code.MISSING_TARGETS in [f.code for f in got.findings]

    procedure.redo(got.redo[0])
    assert procedure.current_target == procedure.targets[got.redo[0]]
    assert procedure.part is Part.POINTS


def test_G11_shut_eyes_are_another_refusal(screen, eyes):
    got = Follower(screen, eyes, shut=lambda t: True).work(CalibrationProcedure(screen, style="pursuit"))
    assert [f.code for f in got.findings] == [Code.FEW_VALID]


def test_the_procedure_says_what_it_is_at(screen):
    procedure = CalibrationProcedure(screen, style=Style.PURSUIT)
    assert procedure.target_at(0) is None
    procedure.start(0)
    assert (procedure.part, procedure.instruction) == (Part.PURSUIT, INSTRUCTION)
    rest = Timing().first_settle_ns
    first = procedure.target_at(rest)
    assert first == (procedure.current_target.x_px, procedure.current_target.y_px)
    assert procedure.target_at(rest // 2) == first
    later = procedure.target_at(rest + 2000 * MS)
    assert later[0] > first[0] + 300
    assert later[1] == first[1]
    assert procedure.n_to_show() == 1 + 5


def test_G7_in_space_bar_mode_the_target_waits_for_a_press(screen):
    procedure = CalibrationProcedure(screen, style="pursuit", advance=Advance.SPACE)
    procedure.start(0)
    assert procedure.target_at(60_000 * MS) == procedure.target_at(0)
    assert procedure.key_space(61_000 * MS)
    assert procedure.target_at(63_000 * MS) != procedure.target_at(61_000 * MS)


def test_a_dead_camera_ends_it_without_a_fault(screen, path):
    collector = PursuitCollector(path, calibration_targets(9, screen), Timing(), 0, 700 * MS)
    assert not collector.finished(1000 * MS)
    assert collector.finished(path.duration_ns + 2000 * MS)
    got = collector.gathered()
    assert len(got) == 9
    assert sum(len(c.rows) for c in got.values()) == 0
    assert (collector.run.n_seen, collector.run.lag_estimated) == (0, False)
