from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.sessions.stamps import check_stamps

S = 1_000_000_000
stamp_lists = st.lists(st.integers(0, 40) | st.integers(-(2**63), 2**63 - 1), max_size=30).map(
    lambda values: np.array([v * S // 4 if 0 <= v <= 40 else v for v in values], np.int64)
)


def test_increasing_stamps_are_one_sound_segment():
    check = check_stamps(np.array([0, 1, 2 * S]))
    assert not check.bad.any()
    assert check.segments() == [slice(0, 3)]


def test_R1_equal_and_earlier_stamps_are_bad_until_time_goes_on():
    check = check_stamps(np.array([10, 20, 20, 15, 18, 21]))
    assert check.bad.tolist() == [False, False, True, True, True, False]
    assert check.segments() == [slice(0, 6)]


def test_T11_a_clock_that_was_set_anew_splits_the_recording():
    seconds = np.array([74700, 74700.5, 74701, 34, 34.5, 35])
    check = check_stamps((seconds * S).astype(np.int64))
    assert not check.bad.any()
    assert check.segments() == [slice(0, 3), slice(3, 6)]


def test_T11_a_sleep_of_the_machine_splits_the_recording():
    check = check_stamps(np.array([0, 1, 31, 32]) * S)
    assert check.segments() == [slice(0, 2), slice(2, 4)]


def test_T11_stamps_at_the_ends_of_the_range_do_not_wrap():
    low, high = -(2**63), 2**63 - 1
    assert check_stamps(np.array([low, high])).segments() == [slice(0, 1), slice(1, 2)]
    assert check_stamps(np.array([high, low])).segments() == [slice(0, 1), slice(1, 2)]


def test_no_stamps_no_segments():
    check = check_stamps(np.zeros(0, np.int64))
    assert check.segments() == []
    assert check.state is None


@given(stamp_lists)
def test_within_a_segment_the_good_stamps_increase(times):
    check = check_stamps(times)
    rows = [row for part in check.segments() for row in range(part.start, part.stop)]
    assert rows == list(range(len(times)))
    for part in check.segments():
        good = times[part][~check.bad[part]].tolist()
        assert good
        assert all(a < b for a, b in pairwise(good))


@given(stamp_lists, st.integers(0, 30))
def test_block_by_block_is_the_same_as_all_at_once(times, cut):
    whole = check_stamps(times)
    first = check_stamps(times[:cut])
    rest = check_stamps(times[cut:], first.state)
    assert np.concatenate([first.bad, rest.bad]).tolist() == whole.bad.tolist()
    assert [*first.starts.tolist(), *(rest.starts + min(cut, len(times))).tolist()] == whole.starts.tolist()
    assert rest.state == whole.state


@pytest.mark.parametrize("n", [1, 2])
def test_few_stamps(n):
    assert check_stamps(np.arange(n)).segments() == [slice(0, n)]
