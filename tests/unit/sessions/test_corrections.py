from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gazelab.core.errors import SessionError
from gazelab.sessions import corrections
from gazelab.sessions.correction_entries import RecalibrateEntry, ShiftEntry, UndoEntry
from gazelab.sessions.corrections import FILE_NAME, append_correction, read_corrections
from gazelab.sessions.drift import live_shifts
from gazelab.sessions.sections import Section

from .test_sections import trials

RIGHT = ShiftEntry(Section(), 12.0, -30.0)
SHA = "ab" * 32


def shift(folder, dx=1.0, **section):
    return append_correction(folder, ShiftEntry(Section(**section), dx, 0.0), "why", "me")


def states(folder):
    return [entry.in_force for entry in read_corrections(folder).entries]


def test_without_a_file_there_are_none_and_none_is_made(tmp_path):
    log = read_corrections(tmp_path)
    assert log.entries == ()
    assert list(tmp_path.iterdir()) == []


def test_an_entry_comes_back_as_it_was_written(tmp_path):
    made = append_correction(tmp_path, RIGHT, "  the chair slid  ", "RA 2")
    recal = RecalibrateEntry(Section(trials=(1, 3)), "calibration/007_x", SHA)
    second = append_correction(tmp_path, recal, "better profile", "RA 2")
    assert read_corrections(tmp_path).entries == (made, second)
    assert (made.number, made.change, made.reason, made.author) == (1, RIGHT, "the chair slid", "RA 2")
    assert made.in_force
    assert made.utc.endswith("Z")
    assert second.change == recal
    line = json.loads((tmp_path / FILE_NAME).read_text().splitlines()[0])
    assert {"kind": "shift", "dx": 12.0, "dy": -30.0, "unit": "px", "section": {}}.items() <= line.items()


def test_nobody_is_named_unless_asked_for(tmp_path, monkeypatch):
    """A session that is passed on must not carry the name of an account."""
    monkeypatch.setenv("LOGNAME", "jane-doe-account")
    made = append_correction(tmp_path, RIGHT, "why")
    assert made.author == ""
    assert b"jane-doe" not in (tmp_path / FILE_NAME).read_bytes()
    assert made.text().endswith(f"[{made.utc}: why]")


def test_undo_takes_back_and_undoing_the_undo_puts_back(tmp_path):
    shift(tmp_path)
    shift(tmp_path)
    undo = append_correction(tmp_path, UndoEntry(1), "wrong trial", "me")
    assert states(tmp_path) == [False, True, True]
    assert [e.number for e in read_corrections(tmp_path).in_force] == [2]
    append_correction(tmp_path, UndoEntry(undo.number), "right after all", "me")
    assert states(tmp_path) == [True, True, False, True]
    assert len((tmp_path / FILE_NAME).read_text().splitlines()) == 4, "nothing is taken out"


def test_an_undo_of_nothing_is_refused_and_writes_nothing(tmp_path):
    shift(tmp_path)
    append_correction(tmp_path, UndoEntry(1), "wrong", "me")
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(SessionError, match="undone already"):
        append_correction(tmp_path, UndoEntry(1), "wrong", "me")
    with pytest.raises(SessionError, match=r"no correction 7 \(there are: 1, 2\)"):
        append_correction(tmp_path, UndoEntry(7), "wrong", "me")
    assert (tmp_path / FILE_NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        (RIGHT, "  ", "needs a reason"),
        (ShiftEntry(Section(), float("nan"), 0.0), "why", "cannot be"),
        (ShiftEntry(Section(), 0.0, float("inf")), "why", "cannot be"),
        (ShiftEntry(Section(), 1e9, 0.0), "why", "cannot be"),
        (ShiftEntry(Section(), 91.0, 0.0, "deg"), "why", "cannot be"),
        (ShiftEntry(Section(), 1.0, 0.0, "mm"), "why", "no unit"),
        (RecalibrateEntry(Section(), "../../etc", SHA), "why", "profile's copy"),
        (RecalibrateEntry(Section(), "calibration/x", "short"), "why", "profile's copy"),
    ],
)
def test_what_cannot_be_is_not_written(tmp_path, change, reason, words):
    with pytest.raises(SessionError, match=words):
        append_correction(tmp_path, change, reason, "me")
    assert not (tmp_path / FILE_NAME).exists()


def test_a_torn_last_line_counts_for_nothing_and_is_told(tmp_path):
    shift(tmp_path)
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(b'{"kind": "shift", "dx": 5')
    log = read_corrections(tmp_path)
    assert (len(log.entries), log.torn_bytes) == (1, 25)


def test_after_a_torn_line_writing_goes_on_and_numbers_stay(tmp_path):
    shift(tmp_path)
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(b'{"kind": "shift", "dx": 5')
    made = shift(tmp_path, 3.0)
    log = read_corrections(tmp_path)
    assert made.number == 3, "the torn line keeps its number"
    assert [e.number for e in log.entries] == [1, 3]
    assert log.torn_bytes == 0
    append_correction(tmp_path, UndoEntry(3), "no", "me")
    assert states(tmp_path) == [True, False, True]


def test_a_whole_last_line_without_its_end_counts_before_and_after(tmp_path):
    shift(tmp_path)
    file = tmp_path / FILE_NAME
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    assert states(tmp_path) == [True]
    shift(tmp_path)
    assert states(tmp_path) == [True, True]


GOOD = {"kind": "shift", "section": {}, "dx": 1.0, "dy": 2.0, "unit": "px", "author": "a", "reason": "r"}
GOOD["utc"] = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "bad",
    [
        b"no json\n",
        b"[1, 2]\n",
        b"\x00\xff\n",
        b"[" * 100_000 + b"\n",
        b"{}\n",
        *(
            json.dumps(GOOD | change).encode() + b"\n"
            for change in (
                {"kind": "delete"},
                {"kind": None},
                {"dx": "1e5"},
                {"dx": True},
                {"dx": 10**400},
                {"dx": float("nan")},
                {"dy": None},
                {"unit": ["px"]},
                {"section": None},
                {"section": {"rows": [1, 2]}},
                {"section": {"trial_indices": [3, 1]}},
                {"section": {"trial_indices": [-1, 1]}},
                {"section": {"trial_indices": [0.5, 1]}},
                {"section": {"trial_indices": [0, 10**30]}},
                {"section": {"from_ns": 5, "until_ns": 5}},
                {"section": {"trial_indices": [0, 1], "from_ns": 5}},
                {"author": 5},
                {"reason": ""},
                {"kind": "undo", "reverts": 1},
                {"kind": "undo", "reverts": "1"},
                {"kind": "recalibrate", "profile": "/etc/passwd", "mapping_sha256": SHA},
                {"kind": "recalibrate", "profile": "calibration/../x", "mapping_sha256": SHA},
                {"kind": "recalibrate", "profile": 7, "mapping_sha256": SHA},
            )
        ),
    ],
)
def test_hostile_lines_are_refused_with_the_line_and_never_passed_over(tmp_path, bad):
    (tmp_path / FILE_NAME).write_bytes(bad + json.dumps(GOOD).encode() + b"\n")
    with pytest.raises(SessionError, match="line 1 of the corrections"):
        read_corrections(tmp_path)
    with pytest.raises(SessionError, match="line 1 of the corrections"):
        shift(tmp_path)


def test_P5_a_link_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    (tmp_path / FILE_NAME).symlink_to(elsewhere)
    with pytest.raises(SessionError, match="plain file"):
        read_corrections(tmp_path)
    with pytest.raises(SessionError):
        shift(tmp_path)
    assert elsewhere.read_bytes() == b""


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(SessionError, match="the correction does not count"):
        shift(tmp_path)


WRITER = """
import sys
from pathlib import Path
from gazelab.sessions import corrections
from gazelab.sessions.correction_entries import ShiftEntry
from gazelab.sessions.corrections import append_correction
from gazelab.sessions.sections import Section
for k in range(20):
    append_correction(Path(sys.argv[1]), ShiftEntry(Section(), float(k), 0.0), "why", "me")
"""


def test_two_programs_that_write_at_once_lose_nothing(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen(command) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    entries = read_corrections(tmp_path).entries
    assert [e.number for e in entries] == list(range(1, 41))
    assert sorted(e.change.dx for e in entries) == sorted([float(k) for k in range(20)] * 2)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([1, 2, 1, 3], 0)  # undone by two undos at once
@given(st.lists(st.integers(0, 20), max_size=20), st.integers(0, 400))
def test_any_history_of_undos_and_any_cut_can_be_read(tmp_path, wanted, cut):
    file = tmp_path / FILE_NAME
    file.unlink(missing_ok=True)
    shift(tmp_path)
    undoes: dict[int, int] = {}

    def counts(number: int) -> bool:
        """An entry counts unless an undo of it counts."""
        return not any(counts(later) for later, named in undoes.items() if named == number)

    for number in wanted:
        if 1 <= number <= 1 + len(undoes) and counts(number):
            append_correction(tmp_path, UndoEntry(number), "why", "me")
            undoes[2 + len(undoes)] = number
    assert states(tmp_path) == [counts(k + 1) for k in range(1 + len(undoes))]
    whole = file.read_bytes()
    file.write_bytes(whole[: max(len(whole) - cut, 0)])
    read_corrections(tmp_path)
    shift(tmp_path)
    assert read_corrections(tmp_path).entries[-1].in_force


def test_a_text_that_is_too_long_is_cut_and_odd_characters_survive(tmp_path):
    made = append_correction(tmp_path, RIGHT, "\udc80 né\u2028" + "x" * 5000, "me\nyou")
    (again,) = read_corrections(tmp_path).entries
    assert again == made
    assert len(again.reason) == 1000
    assert again.text().isprintable()


@pytest.mark.parametrize("section", [{"from_ns": 10**25}, {"until_ns": -(10**25)}, {"trials": (0, 10**25)}])
def test_a_section_that_could_not_be_read_again_is_never_written(tmp_path, section):
    """Else the session could not be read any more."""
    with pytest.raises(SessionError, match="in the section"):
        shift(tmp_path, **section)
    assert not (tmp_path / FILE_NAME).exists()


def test_an_entry_beyond_what_can_be_read_again_is_not_written(tmp_path, monkeypatch):
    shift(tmp_path)
    before = (tmp_path / FILE_NAME).read_bytes()
    monkeypatch.setattr(corrections, "MAX_FILE_BYTES", len(before) + 10)
    with pytest.raises(SessionError, match="the correction does not count"):
        shift(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_many_undos_are_read_in_time_that_grows_with_their_number(tmp_path):
    """Quadratic reading took minutes for what is allowed in a file."""
    rest = {"author": "", "reason": "r", "utc": "2026-01-01T00:00:00Z"}
    lines = [
        json.dumps(GOOD),
        *(json.dumps({"kind": "undo", "reverts": k, **rest}) for k in range(1, 40_000)),
    ]
    (tmp_path / FILE_NAME).write_text("\n".join(lines) + "\n")
    log = read_corrections(tmp_path)
    assert len(log.entries) == 40_000
    with pytest.raises(SessionError, match="no correction 50000") as refused:
        log.entry(50_000)
    assert len(str(refused.value)) < 300


def drift(time_ns, correction, decision="corrected"):
    return {"kind": "drift_check", "time_ns": time_ns, "decision": decision, "correction_px": correction}


def test_the_live_shifts_are_those_of_the_drift_checks_that_changed_something():
    markers = [
        drift(5, [0, 0], "fine"),
        drift(10, [3.5, -2]),
        {"kind": "note", "time_ns": 11, "text": "x", "correction_px": [9, 9]},
        drift(20, [3.5, -2], "recalibrate"),
        drift(30, [1, 1]),
    ]
    shifts, problems = live_shifts(markers)
    assert [(s.from_ns, s.dx_px, s.dy_px) for s in shifts] == [(10, 3.5, -2.0), (30, 1.0, 1.0)]
    assert problems == []


@pytest.mark.parametrize(
    "bad", [None, [1], [1, 2, 3], "ab", [True, 1], [float("nan"), 0], [0, float("inf")], [10**400, 0], 7]
)
def test_a_drift_check_whose_correction_cannot_be_read_changes_nothing_and_is_told(bad):
    shifts, problems = live_shifts([drift(5, [1, 1]), drift(10, bad)])
    assert len(shifts) == 1
    assert len(problems) == 1
    assert "10 ns" in problems[0]


def test_rows_of_a_section_of_an_unknown_trial(tmp_path):
    with pytest.raises(SessionError, match="no trial 4: the session has 2"):
        Section(trials=(0, 3)).rows(np.arange(5), trials())
