from __future__ import annotations

import numpy as np
import pytest

from gazelab.calibration.collect import MS, Timing
from gazelab.calibration.findings import Code, Limits
from gazelab.calibration.head_phase import (
    FIRST_ID,
    STEPS,
    STRETCHES,
    HeadCollector,
    head_targets,
    judge_moves,
)
from gazelab.calibration.plan import Part
from gazelab.calibration.procedure import RUNNING, Advance, CalibrationProcedure
from gazelab.calibration.result import CalibrationState
from gazelab.calibration.targets import TargetKind
from gazelab.core.errors import CalibrationError


def turned(eyes, time_ns, share, size_deg=12.0, on_dot=True, gaze=(0.0, 0.0)):
    """A head that swings left and right while the gaze rests on the dot; `share` of the movement is done."""
    yaw = size_deg * np.sin(2 * np.pi * share)
    x, y = gaze if on_dot else (15.0, 0.0)
    return eyes.row(x, y, time_ns, yaw_deg=yaw)


def moves(eyes, screen, size_deg=12.0, away=lambda step, k: False, gaze=lambda yaw: (0.0, 0.0)):
    """The samples of every step, at 30 Hz."""
    timing, out, time_ns = Timing(), [], 0
    for target in head_targets(screen):
        collector = HeadCollector(target, timing, time_ns)
        time_ns += timing.read_ns
        for k in range(90):
            share = k / 90
            yaw = size_deg * np.sin(2 * np.pi * share)
            on_dot = not away(target.index, k)
            collector.add(turned(eyes, time_ns, share, size_deg, on_dot, gaze(yaw)), time_ns)
            time_ns += 33 * MS
        out.append(collector.gathered()[target])
    return out


def work(procedure, participant, screen, size_deg=12.0):
    """A participant who also turns the head when told to."""
    procedure.start(participant.time_ns)
    parts, said = [], []
    for time_ns, row in participant.frames(procedure):
        if procedure.part is Part.HEAD:
            share = procedure.progress(time_ns)
            dot = procedure.current_target
            at = tuple(float(v) for v in screen.to_deg(dot.x_px, dot.y_px))
            row = turned(participant.eyes, time_ns, share, size_deg, gaze=at)
        if not parts or parts[-1] is not procedure.part:
            parts.append(procedure.part)
        if procedure.instruction and procedure.instruction not in said:
            said.append(procedure.instruction)
        procedure.add(row, time_ns)
    return parts, said


def test_the_heads_part_comes_after_the_points_and_says_what_to_do(participant, screen):
    procedure = CalibrationProcedure(screen, 9, head_phase=True)
    parts, said = work(procedure, participant, screen)

    assert parts == [Part.POINTS, Part.HEAD, Part.VALIDATION]
    assert said == [step.instruction for step in STEPS]
    got = procedure.result()
    assert got.state is CalibrationState.VALID
    assert got.head.moves
    assert got.head_box.yaw_deg[0] < -10
    assert got.head_box.yaw_deg[1] > 10


def test_without_it_nothing_is_said_and_the_box_is_narrow(participant, screen):
    procedure = participant.work(CalibrationProcedure(screen, 9))
    got = procedure.result()
    assert (procedure.instruction, got.head) == ("", None)
    assert got.head_box.yaw_deg[1] < 5


def test_a_mapping_that_has_seen_the_head_turn_holds_when_it_turns(participant, screen):
    still = participant.work(CalibrationProcedure(screen, 9)).result().mapping
    procedure = CalibrationProcedure(screen, 9, head_phase=True)
    work(procedure, participant, screen)
    rows = np.array([participant.eyes.row(5.0, 2.0, yaw_deg=yaw) for yaw in np.linspace(-10, 10, 40)])
    x_px, y_px = screen.to_px(5.0, 2.0)

    def error_px(mapping):
        gaze = mapping.predict(rows)
        return np.hypot(gaze.x_px - x_px, gaze.y_px - y_px).mean()

    assert error_px(procedure.result().mapping) < 0.5 * error_px(still)


def test_its_rows_are_targets_of_their_own_in_the_fit(participant, screen):
    seen = []

    def spy(rows, px, names, on):
        from gazelab.calibration.mapping import fit

        seen.append((names, px))
        return fit(rows, px, names, on)

    procedure = CalibrationProcedure(screen, 5, head_phase=True, fit_mapping=spy)
    work(procedure, participant, screen)
    names, px = seen[0]
    steps = [FIRST_ID + k for k in range(STRETCHES * len(STEPS))]
    assert sorted(set(names.tolist())) == [0, 1, 2, 3, 4, *steps]
    places = {(t.x_px, t.y_px) for t in head_targets(screen)}
    assert {tuple(p) for p in px[names >= FIRST_ID].tolist()} <= places
    assert set(procedure.result().left_out_px) == {0, 1, 2, 3, 4}


def test_glances_away_and_blinks_are_dropped_and_not_averaged(eyes, screen):
    """In the first step the eyes leave the dot for 0.5 s, and in the second they blink."""
    got = moves(eyes, screen, away=lambda step, k: step == 0 and 30 <= k < 45)
    shut = got[1].rows[40:44].copy()
    shut["blink_score"] = 0.9
    collector = HeadCollector(got[1].target, Timing(), 0)
    for k, row in enumerate(got[1].rows):
        collector.add(shut[k - 40] if 40 <= k < 44 else row, Timing().read_ns + 33 * k * MS)
    got[1] = collector.gathered()[got[1].target]

    judged = judge_moves(got, Limits())

    first, second = judged.moves[0].usable, judged.moves[1].usable
    assert not first[30:45].any()
    assert first[:26].mean() > 0.95
    assert first[49:].mean() > 0.95
    assert not second[38:46].any()
    assert 15 <= judged.n_glances <= 40


def test_a_head_that_did_not_move_is_said_and_its_part_left_out(participant, screen):
    procedure = CalibrationProcedure(screen, 9, head_phase=True)
    work(procedure, participant, screen, size_deg=0.5)

    got = procedure.result()
    assert [f.code for f in got.findings] == [Code.HEAD_STILL]
    assert "hardly moved" in got.findings[0].message
    assert got.state is CalibrationState.REVIEW  # somebody has to say that a still head will do
    assert got.head.moves == ()
    assert got.head_box.yaw_deg[1] < 5
    assert got.mapping is not None


def test_eyes_that_turn_with_the_head_teach_nothing(eyes, screen):
    """Who looks where the nose points: the irises keep their place while the head turns."""
    judged = judge_moves(moves(eyes, screen, gaze=lambda yaw: (yaw, 0.0)), Limits())
    assert judged.concern.code is Code.HEAD_GAZE
    assert judged.moves == ()


def test_eyes_that_are_not_seen_teach_nothing(eyes, screen):
    got = moves(eyes, screen)
    for c in got:
        c.usable[:] = False
    judged = judge_moves(got, Limits())
    assert judged.concern.code is Code.HEAD_UNSEEN
    assert judged.to_mapping()["yaw_range_deg"] is None  # no data is not 0


def test_the_part_can_be_done_again_without_the_points(participant, screen):
    procedure = CalibrationProcedure(screen, 9, head_phase=True)
    work(procedure, participant, screen, size_deg=0.5)
    before = procedure.result().collected

    procedure.redo_head()
    shown = set()
    for time_ns, row in participant.frames(procedure):
        shown.add(procedure.part)
        if procedure.part is Part.HEAD:
            row = turned(participant.eyes, time_ns, procedure.progress(time_ns))
        procedure.add(row, time_ns)

    assert Part.POINTS not in shown
    got = procedure.result()
    assert got.findings == ()
    assert all(a.rows is b.rows for a, b in zip(got.collected, before, strict=True))
    with pytest.raises(CalibrationError, match="no head movement"):
        CalibrationProcedure(screen).redo_head()


def test_G7_an_instruction_waits_for_a_fresh_press_in_space_bar_mode(eyes, screen):
    target = head_targets(screen)[0]
    collector = HeadCollector(target, Timing(), 0, wait_for_key=True)
    assert not collector.finished(60_000 * MS)
    collector.press(61_000 * MS)
    collector.add(eyes.row(0, 0), 61_500 * MS)
    assert collector.progress(61_000 * MS + Timing().move_ns // 2) == pytest.approx(0.5)
    assert collector.finished(61_000 * MS + Timing().move_ns)
    assert len(collector.gathered()[target].rows) == 1


def test_a_press_cuts_the_reading_short(screen):
    collector = HeadCollector(head_targets(screen)[0], Timing(), 0)
    collector.press(500 * MS)
    assert collector.finished(500 * MS + Timing().move_ns)


def test_the_space_bar_goes_through_the_whole_of_it(participant, screen):
    procedure = CalibrationProcedure(screen, 5, head_phase=True, advance=Advance.SPACE)
    procedure.start(participant.time_ns)
    target, since, kinds = None, 0, []
    for time_ns, row in participant.frames(procedure):
        if procedure.current_target != target:
            target, since = procedure.current_target, time_ns
            kinds.append(target.kind)
        if time_ns - since > 1000 * MS:
            procedure.key_space(time_ns)
            procedure.key_space(time_ns, pressed=False)
        procedure.add(row, time_ns)
    assert procedure.state not in RUNNING
    assert kinds.count(TargetKind.HEAD) == len(STEPS)
