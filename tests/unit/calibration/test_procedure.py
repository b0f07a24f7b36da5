import numpy as np
import pytest

from gazelab.calibration.collect import MS
from gazelab.calibration.findings import Code
from gazelab.calibration.procedure import Advance, CalibrationProcedure
from gazelab.calibration.result import CalibrationState
from gazelab.calibration.targets import TargetKind
from gazelab.core.errors import CalibrationError, ConfigError
from gazelab.core.geometry import Screen


def _codes(procedure):
    return [f.code for f in procedure.result().findings]


@pytest.fixture
def procedure(screen):
    return CalibrationProcedure(screen, 13)


def test_a_good_participant_is_calibrated(procedure, participant, screen):
    participant.work(procedure)

    got = procedure.result()
    assert (procedure.state, got.findings) == (CalibrationState.VALID, ())
    assert got.calibrated
    assert got.may_record
    assert got.validation.n_with_data == 5
    assert got.validation.accuracy_deg < 1.5
    assert got.validation.rate_hz == pytest.approx(30, rel=0.01)
    assert procedure.current_target is None


@pytest.mark.parametrize("points", [5, 9, 13, 16])
def test_every_layout_shows_each_target_once_then_the_held_out_ones(points, screen, participant):
    procedure = CalibrationProcedure(screen, points, n_validation=4)
    procedure.start(participant.time_ns)
    shown = []
    for time_ns, row in participant.frames(procedure):
        if not shown or shown[-1] != procedure.current_target:
            shown.append(procedure.current_target)
        procedure.add(row, time_ns)

    calibration = [t.index for t in shown if t.kind is TargetKind.CALIBRATION]
    validation = [t.index for t in shown if t.kind is TargetKind.VALIDATION]
    assert sorted(calibration) == list(range(points))
    assert sorted(validation) == list(range(4))
    assert [t.kind for t in shown] == [TargetKind.CALIBRATION] * points + [TargetKind.VALIDATION] * 4


def test_the_order_is_random_and_the_seed_repeats_it(screen):
    def first_three(seed):
        procedure, seen = CalibrationProcedure(screen, 16, seed=seed), []
        procedure.start(0)
        for time_ns in range(0, 60_000 * MS, 100 * MS):
            procedure.tick(time_ns)
            if procedure.current_target is not None and procedure.current_target not in seen:
                seen.append(procedure.current_target)
        return [t.index for t in seen[:3]]

    assert first_three(1) == first_three(1)
    assert len({tuple(first_three(s)) for s in range(5)}) > 1


def test_the_space_bar_alone_advances_when_asked_to(screen, participant):
    procedure = CalibrationProcedure(screen, 5, advance=Advance.SPACE)
    procedure.start(participant.time_ns)
    target, n_presses, since = None, 0, 0
    for time_ns, row in participant.frames(procedure):
        if procedure.current_target != target:
            target, since = procedure.current_target, time_ns
        if time_ns - since > 1000 * MS:
            n_presses += procedure.key_space(time_ns)
            procedure.key_space(time_ns, pressed=False)
        procedure.add(row, time_ns)

    assert n_presses >= 10
    assert procedure.result().mapping is not None


def test_without_a_press_the_space_bar_mode_waits_for_ever(screen, participant):
    procedure = CalibrationProcedure(screen, 5, advance=Advance.SPACE)
    procedure.start(participant.time_ns)
    first = procedure.current_target
    for _, (time_ns, row) in zip(range(1000), participant.frames(procedure), strict=False):
        procedure.add(row, time_ns)
    assert procedure.current_target == first


def test_G7_keys_from_before_the_step_do_nothing(screen, eyes):
    procedure = CalibrationProcedure(screen, advance=Advance.SPACE)
    for i in range(5):  # pressed before anything was shown
        procedure.key_space(900 * MS + i)
        procedure.key_space(900 * MS + i, pressed=False)
    procedure.start(1000 * MS)
    for i in range(5):  # still in the queue, and delivered just after the target came
        assert not procedure.key_space(1000 * MS + i * MS)
        assert not procedure.key_space(1000 * MS + i * MS, pressed=False)
    procedure.add(eyes.row(0, 0), 1500 * MS)
    assert procedure.progress(1900 * MS) == 0

    assert procedure.key_space(2000 * MS)
    assert procedure.progress(2400 * MS) == pytest.approx(0.5)


def test_G7_a_key_held_down_and_its_auto_repeat_do_nothing(screen):
    procedure = CalibrationProcedure(screen, advance=Advance.SPACE)
    procedure.key_space(900 * MS)  # goes down before the start and stays down
    procedure.start(1000 * MS)
    for time_ns in range(1300 * MS, 3000 * MS, 30 * MS):
        assert not procedure.key_space(time_ns, auto_repeat=True)
        assert not procedure.key_space(time_ns)
    procedure.key_space(3100 * MS, pressed=False)
    assert procedure.key_space(3200 * MS)


def test_G8_a_cancelled_calibration_leaves_none_in_force(procedure, participant):
    participant.work(procedure)
    assert procedure.result().mapping is not None

    procedure.start(participant.time_ns)
    assert procedure.result().mapping is None
    procedure.cancel()

    got = procedure.result()
    assert got.state is CalibrationState.NONE
    assert got.mapping is None
    assert not got.may_record
    assert procedure.current_target is None


def test_G9_a_fit_sees_the_samples_of_its_own_run_only(screen, participant):
    seen = []

    def spy(rows, px, names, on):
        from gazelab.calibration.mapping import fit

        seen.append(rows["time_ns"].copy())
        return fit(rows, px, names, on)

    procedure = CalibrationProcedure(screen, 5, fit_mapping=spy)
    participant.work(procedure)
    second_from = participant.time_ns
    procedure.start(second_from)
    participant.work(procedure)

    assert seen[0].max() < second_from <= seen[1].min()


def test_G10_a_target_without_data_is_named_and_the_rest_is_fitted(screen, participant):
    procedure = CalibrationProcedure(screen, 13)
    participant.sees = lambda index: index != 5
    participant.work(procedure)

    got = procedure.result()
    assert got.redo == (5,)
    assert got.state is CalibrationState.REVIEW
    assert got.mapping is not None
    assert _codes(procedure) == [Code.MISSING_TARGETS]
    assert "target 6" in got.findings[0].message  # people count from 1
    assert {c.target.index: c.n_usable for c in got.collected}[5] == 0


def test_G10_a_redo_mends_it_and_keeps_all_other_samples(screen, participant):
    procedure = CalibrationProcedure(screen, 13)
    participant.sees = lambda index: index != 5
    participant.work(procedure)
    before = {c.target.index: c.rows for c in procedure.result().collected}

    participant.sees = lambda index: True
    procedure.redo(5)
    assert procedure.current_target.index == 5
    assert procedure.result().mapping is None
    participant.work(procedure)

    got = procedure.result()
    assert (got.state, got.redo) == (CalibrationState.VALID, ())
    for c in got.collected:
        if c.target.index != 5:
            assert c.rows is before[c.target.index]


def test_too_few_targets_with_data_are_refused(procedure, participant):
    participant.sees = lambda index: index < 8
    participant.work(procedure)
    assert procedure.state is CalibrationState.FAILED
    assert _codes(procedure) == [Code.FEW_TARGETS]
    assert "8 of 13" in procedure.result().findings[0].message


def test_G11_three_distinct_refusals(screen, participant):
    rng = np.random.default_rng(5)
    cases = {
        Code.UNRELATED: {"looks": lambda x, y: (rng.uniform(-20, 20), rng.uniform(-12, 12))},
        Code.CONSTANT: {"looks": lambda x, y: (2.0, 1.0)},
        Code.FEW_VALID: {"share": 0.05},
    }
    messages = set()
    for code, how in cases.items():
        procedure = CalibrationProcedure(screen)
        worker = type(participant)(screen, **how)
        worker.work(procedure)

        got = procedure.result()
        assert got.state is CalibrationState.FAILED
        assert _codes(procedure) == [code]
        assert got.mapping is None
        assert not got.may_record
        messages.add(got.findings[0].message)
    assert len(messages) == 3


def test_C17_eyes_redrawn_to_look_at_the_lens_are_refused_with_a_hint(screen, participant):
    participant.looks = lambda x, y: (0.0, 0.0)
    procedure = participant.work(CalibrationProcedure(screen))
    assert "eye-contact correction" in procedure.result().findings[0].message


def test_G2_shrunk_gaze_is_reported_and_not_accepted_silently(procedure, participant):
    """On the validation targets the eyes go only 70 % of the way."""
    participant.looks = lambda x, y: (
        (x, y) if procedure.state is CalibrationState.COLLECTING else (0.7 * x, 0.7 * y)
    )
    participant.work(procedure)

    got = procedure.result()
    assert got.state is CalibrationState.REVIEW
    assert not got.may_record
    assert Code.SHRINK in _codes(procedure)
    assert got.validation.slope_x == pytest.approx(0.7, abs=0.1)
    assert got.validation.edge_accuracy_deg > 2
    text = next(f.message for f in got.findings if f.code is Code.SHRINK)
    assert f"{got.validation.slope_x:.2f}" in text

    with pytest.raises(CalibrationError, match="note"):
        procedure.accept("  ")
    procedure.accept("only the middle of the screen is used")
    assert procedure.state is CalibrationState.VALID
    assert procedure.result().to_mapping()["note"] == "only the middle of the screen is used"


def test_one_validation_target_that_was_not_looked_at_is_not_hidden_by_a_good_mean(procedure, participant):
    def looks(x, y):
        first = procedure.current_target == procedure.validation_targets[0]
        return (x + 10.0, y) if procedure.state is CalibrationState.VALIDATING and first else (x, y)

    participant.looks = looks
    participant.work(procedure)

    got = procedure.result()
    assert got.validation.accuracy_deg < procedure.limits.max_accuracy_deg
    assert got.state is CalibrationState.REVIEW
    text = next(f.message for f in got.findings if f.code is Code.FAR_TARGETS)
    assert "V1" in text
    assert "V2" not in text


def test_G14_a_failure_closes_the_gate_and_an_override_is_written_down(screen, participant):
    participant.looks = lambda x, y: (0.0, 0.0)
    procedure = participant.work(CalibrationProcedure(screen))
    assert not procedure.result().may_record

    procedure.accept("pilot without gaze")

    got = procedure.result()
    assert got.may_record
    assert not got.calibrated
    assert got.state is CalibrationState.FAILED
    assert got.mapping is None
    assert got.to_mapping()["note"] == "pilot without gaze"


def test_G4_a_change_of_the_screen_ends_it(procedure, participant, screen):
    procedure.start(0)
    procedure.add(participant.eyes.row(0, 0), 100 * MS)
    assert not procedure.screen_changed(screen)

    assert procedure.screen_changed(Screen("laptop", 1024, 768))

    assert procedure.state is CalibrationState.FAILED
    assert _codes(procedure) == [Code.SCREEN_CHANGED]
    assert procedure.current_target is None


def test_G4_a_valid_calibration_is_no_longer_one_on_another_screen(procedure, participant):
    participant.work(procedure)
    procedure.screen_changed(Screen("beamer", 1920, 1080))
    assert procedure.state is CalibrationState.FAILED
    assert procedure.result().mapping is None


def test_G13_sizes_in_another_unit_are_refused():
    with pytest.raises(ConfigError, match="millimetres"):
        CalibrationProcedure(Screen("cm", 1920, 1080, 53.1, 29.9, 60.0))


def test_G13_one_degree_is_one_degree(screen):
    """At 600 mm, 531 mm / 1920 px: 1 degree is 37.9 px."""
    assert screen.angle_deg(960, 540, 960 + 37.87, 540) == pytest.approx(1.0, abs=0.02)


def test_without_millimetres_degrees_are_nan_and_px_are_not(participant):
    bare = Screen("bare", 1920, 1080)
    procedure = participant.work(CalibrationProcedure(bare, 13))
    got = procedure.result().validation
    assert np.isnan([got.accuracy_deg, got.sd_deg, got.rms_s2s_deg, got.edge_accuracy_deg]).all()
    assert 0 < got.accuracy_px < 60
    assert procedure.state is CalibrationState.VALID


def test_a_target_that_was_not_looked_at_is_suspect(screen, participant):
    procedure = CalibrationProcedure(screen, 13)
    corner = procedure.targets[0]
    x, y = screen.to_deg(corner.x_px, corner.y_px)
    participant.looks = lambda a, b: (6.0, -3.0) if (a, b) == (float(x), float(y)) else (a, b)
    participant.work(procedure)
    assert procedure.result().suspects == (0,)
    assert Code.SUSPECT_TARGETS in _codes(procedure)


def test_a_dead_camera_ends_at_the_time_limits(screen):
    procedure = CalibrationProcedure(screen, 5)
    procedure.start(0)
    for time_ns in range(0, 60_000 * MS, 100 * MS):
        procedure.tick(time_ns)
    assert procedure.state is CalibrationState.FAILED
    assert _codes(procedure) == [Code.FEW_VALID]


def test_no_validation_data_is_a_refusal_and_can_be_redone(procedure, participant):
    procedure.start(participant.time_ns)
    for time_ns, row in participant.frames(procedure):
        if procedure.current_target.kind is TargetKind.VALIDATION:
            row["valid"] = False
        procedure.add(row, time_ns)
    got = procedure.result()
    assert _codes(procedure) == [Code.NO_VALIDATION]
    assert np.isnan(got.validation.accuracy_px)  # no data is not 0
    assert got.validation.data_loss == 1

    procedure.redo_validation()
    participant.work(procedure)
    assert procedure.state is CalibrationState.VALID


def test_what_cannot_be_done_says_so(procedure):
    with pytest.raises(CalibrationError, match="nothing to redo"):
        procedure.redo(3)
    with pytest.raises(CalibrationError, match="no target 13"):
        procedure.redo(13)
    with pytest.raises(CalibrationError, match="no mapping"):
        procedure.redo_validation()
    with pytest.raises(CalibrationError, match="calibration is none"):
        procedure.accept("because")
