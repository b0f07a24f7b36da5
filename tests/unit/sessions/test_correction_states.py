"""The state of each correction: in force, undone, or replaced by a recalibration."""

from __future__ import annotations

import pytest

from gazelab.core.geometry import Placement
from gazelab.processing.shifts import Shift
from gazelab.sessions.correction_entries import RecalibrateEntry, ShiftEntry, UndoEntry
from gazelab.sessions.correction_states import live_states, states, touching
from gazelab.sessions.corrections import CorrectionLog, append_correction, read_corrections
from gazelab.sessions.sections import Section
from gazelab.sessions.trials import Trial

PLACE = Placement(0, 0, 100, 100, 100, 100)
TRIALS = [Trial(i, "c", "q", None, None, PLACE, i * 100, i * 100 + 50, "0" * 64) for i in range(4)]
ALL = Section()


def move(**section) -> ShiftEntry:
    return ShiftEntry(Section(**section), 5.0, 0.0)


def renew(**section) -> RecalibrateEntry:
    return RecalibrateEntry(Section(**section), "calibration/p", "0" * 64)


def log_of(folder, *changes) -> CorrectionLog:
    for change in changes:
        append_correction(folder, change, "why")
    return read_corrections(folder)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ([move()], ["in force"]),
        ([move(), UndoEntry(1)], ["undone", "in force"]),
        ([move(), UndoEntry(1), UndoEntry(2)], ["in force", "undone", "in force"]),
        ([move(), renew()], ["replaced by 2", "in force"]),
        ([move(trials=(1, 2)), renew(trials=(0, 3))], ["replaced by 2", "in force"]),
        ([move(trials=(0, 3)), renew(trials=(1, 2))], ["replaced by 2 in trials 2–3", "in force"]),
        ([move(), renew(trials=(1, 1))], ["replaced by 2 in trial 2", "in force"]),
        ([move(trials=(0, 0)), renew(trials=(1, 1))], ["in force", "in force"]),
        ([renew(trials=(1, 1)), move()], ["in force", "in force"]),
        ([move(), renew(), UndoEntry(2)], ["in force", "undone", "in force"]),
        ([renew(trials=(1, 1)), renew()], ["replaced by 2", "in force"]),
        (
            [move(), renew(trials=(0, 0)), renew(trials=(2, 3))],
            ["replaced by 2 in trial 1, by 3 in trials 3–4", "in force", "in force"],
        ),
        (
            [move(), renew(from_ns=120, until_ns=250)],
            ["replaced by 2 in trial 3, part of trial 2", "in force"],
        ),
        ([move(), renew(from_ns=60, until_ns=90)], ["replaced by 2 outside the trials", "in force"]),
        ([move(trials=(9, 9)), renew()], ["in force", "in force"]),
    ],
)
def test_a_recalibration_replaces_what_was_before_it_in_its_section(tmp_path, changes, wanted):
    assert list(states(log_of(tmp_path, *changes), TRIALS).values()) == wanted


def test_a_drift_checks_correction_counts_until_the_next_or_a_recalibration(tmp_path):
    shifts = [Shift(90, 3.0, 0.0), Shift(190, 0.0, 0.0), Shift(290, 8.0, 0.0)]
    log = log_of(tmp_path, renew(from_ns=80, until_ns=200), renew(trials=(3, 3)))
    assert live_states(shifts, log, TRIALS) == [
        "replaced by 1",
        "replaced by 1 outside the trials",
        "replaced by 2 in trial 4",
    ]
    assert live_states(shifts, CorrectionLog(), TRIALS) == ["in force"] * 3


def test_what_touches_a_trial_and_was_not_replaced_in_all_of_it(tmp_path):
    log = log_of(tmp_path, move(), move(trials=(0, 0)), renew(trials=(1, 1)), move(from_ns=130, until_ns=210))
    shifts = [Shift(90, 3.0, 0.0), Shift(290, 0.0, 0.0)]
    found = []
    for trial in TRIALS:
        live, entries = touching(trial, shifts, log.in_force, TRIALS)
        found.append(([s.from_ns for s in live], [e.number for e in entries]))
    assert found == [([], [1, 2]), ([], [3, 4]), ([90], [1, 4]), ([], [1])]
