from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.errors import SessionError
from gazelab.sessions.sections import Section, section_from_mapping
from gazelab.sessions.trials import Trial

from .conftest import PLACEMENT


def trials() -> list[Trial]:
    """Two trials: 10 to 20 ns and 30 to 40 ns."""
    return [
        Trial(k, "c", "q", None, None, PLACEMENT, onset, onset + 10, "0" * 64)
        for k, onset in enumerate((10, 30))
    ]


@pytest.mark.parametrize(
    ("section", "inside"),
    [
        (Section(), range(50)),
        (Section(trials=(0, 0)), range(10, 20)),
        (Section(trials=(0, 1)), range(10, 40)),
        (Section(from_ns=25), range(25, 50)),
        (Section(until_ns=25), range(25)),
        (Section(from_ns=5, until_ns=7), [5, 6]),
    ],
)
def test_rows(section, inside):
    assert np.flatnonzero(section.rows(np.arange(50), trials())).tolist() == list(inside)
    assert section_from_mapping(section.to_mapping()) == section


@pytest.mark.parametrize(
    ("section", "text"),
    [
        (Section(), "the whole session"),
        (Section(trials=(0, 0)), "trial 1"),
        (Section(trials=(2, 6)), "trials 3 to 7"),
        (Section(from_ns=5), "from 5 ns to the end"),
        (Section(until_ns=5), "from the start to 5 ns"),
    ],
)
def test_trials_are_counted_from_1_where_people_read_them(section, text):
    assert section.text() == text


@pytest.mark.parametrize(
    "more",
    [
        {"trials": (2, 1)},
        {"trials": (-1, 0)},
        {"trials": (0, 0), "from_ns": 1},
        {"from_ns": 2, "until_ns": 1},
    ],
)
def test_what_is_no_section(more):
    with pytest.raises(SessionError, match="no section"):
        Section(**more)
