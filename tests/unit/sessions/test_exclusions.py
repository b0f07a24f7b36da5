from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.errors import SessionError
from gazelab.sessions.exclusions import FILE_NAME, decide, decisions
from gazelab.sessions.trials import Trial

from .conftest import PLACEMENT

TRIALS = [Trial(k, f"c{k}", "q", None, None, PLACEMENT, 1000 * k, 1000 * k + 900, "0" * 64) for k in range(3)]


def test_without_the_file_nothing_was_decided(tmp_path):
    assert decisions(tmp_path, TRIALS) == ({}, [])
    assert list(tmp_path.iterdir()) == []


def test_the_newest_decision_of_a_trial_counts_and_every_line_stays(tmp_path):
    decide(tmp_path, TRIALS[1], "exclude", "the bell rang", "keep")
    decide(tmp_path, TRIALS[2], "keep", "looked at, fine", "review")
    decide(tmp_path, TRIALS[1], "review", "only at its\n end", "keep")
    in_force, problems = decisions(tmp_path, TRIALS)
    assert problems == []
    assert {k: (d.verdict, d.reason) for k, d in in_force.items()} == {
        1: ("review", "only at its end"),
        2: ("keep", "looked at, fine"),
    }
    assert len((tmp_path / FILE_NAME).read_text().splitlines()) == 3


def test_a_decision_is_taken_back_by_a_line_of_its_own(tmp_path):
    decide(tmp_path, TRIALS[0], "exclude", "why", "keep")
    decide(tmp_path, TRIALS[0], None, "", "keep")
    assert decisions(tmp_path, TRIALS) == ({}, [])
    lines = [json.loads(line) for line in (tmp_path / FILE_NAME).read_text().splitlines()]
    assert [line["verdict"] for line in lines] == ["exclude", None]


@pytest.mark.parametrize(("verdict", "reason"), [("keep", " \n"), ("maybe", "why"), ("keep", "x" * 3000)])
def test_a_verdict_needs_a_name_and_a_reason_of_some_length(tmp_path, verdict, reason):
    with pytest.raises(SessionError):
        decide(tmp_path, TRIALS[0], verdict, reason, "keep")
    assert not (tmp_path / FILE_NAME).exists()


def test_a_line_that_was_cut_off_is_told_and_the_next_begins_anew(tmp_path):
    decide(tmp_path, TRIALS[0], "exclude", "why", "keep")
    file = tmp_path / FILE_NAME
    file.write_bytes(file.read_bytes() + b'{"trial": 1, "onset')
    assert decisions(tmp_path, TRIALS)[1] == ["1 unreadable line of exclusions.jsonl left out"]
    decide(tmp_path, TRIALS[2], "review", "why", "keep")
    in_force, problems = decisions(tmp_path, TRIALS)
    assert sorted(in_force) == [0, 2]
    assert problems == ["1 unreadable line of exclusions.jsonl left out"]


@pytest.mark.parametrize(
    "line",
    [b"[]", b"\xff\xfe", b'{"trial": true, "onset_ns": 0, "verdict": "keep"}', b'{"verdict": ["keep"]}'],
)
def test_a_line_that_is_no_decision_is_left_out_and_told(tmp_path, line):
    (tmp_path / FILE_NAME).write_bytes(line + b"\n")
    in_force, problems = decisions(tmp_path, TRIALS)
    assert in_force == {}
    assert problems == ["1 unreadable line of exclusions.jsonl left out"]


def test_a_decision_about_a_trial_that_began_otherwise_stands_for_none(tmp_path):
    decide(tmp_path, TRIALS[1], "exclude", "why", "keep")
    others = [TRIALS[0], TRIALS[2]]
    assert decisions(tmp_path, others) == ({}, ["1 decision of no trial of this session left out"])


def test_a_link_is_refused(tmp_path):
    (tmp_path / "real").write_text("")
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "real")
    with pytest.raises(SessionError, match="not a plain file"):
        decisions(tmp_path, TRIALS)
    with pytest.raises(SessionError, match="not a plain file"):
        decide(tmp_path, TRIALS[0], "keep", "why", "review")


WRITER = """
import sys
from pathlib import Path
from gazelab.core.geometry import Placement
from gazelab.sessions.exclusions import decide
from gazelab.sessions.trials import Trial
place = Placement(0, 0, 10, 10, 10, 10)
for k in range(20):
    trial = Trial(k, "c", "q", None, None, place, 0, 9, "0" * 64)
    decide(Path(sys.argv[1]), trial, "exclude", sys.argv[2], "keep")
"""


def test_two_programs_that_decide_at_once_lose_no_decision(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines = [json.loads(line) for line in (tmp_path / FILE_NAME).read_text().splitlines()]
    assert sorted((line["reason"], line["trial"]) for line in lines) == [
        (name, k) for name in "ab" for k in range(20)
    ]


@given(st.text(min_size=1, max_size=200).filter(lambda t: t.strip()))
def test_a_reason_of_any_kind_survives(tmp_path_factory, reason):
    folder = tmp_path_factory.mktemp("s")
    decide(folder, TRIALS[0], "exclude", reason, "keep")
    in_force, problems = decisions(folder, TRIALS)
    assert in_force[0].reason == " ".join(reason.split())
    assert problems == []
