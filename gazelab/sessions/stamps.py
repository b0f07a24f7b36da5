"""Time stamps as they come: which are bad, and where the clock leapt."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BACK_LEAP_NS = 1_000_000_000
"""A step back of more than this is a clock that was set anew, not a sample out of order."""
FORWARD_LEAP_NS = 10_000_000_000
"""A step forward of more than this is a sleep or a restart: nothing joins the two sides."""


@dataclass(frozen=True, slots=True)
class StampState:
    """Where a run of stamps stands: hand it on to check the next block as if both were one."""

    last_ns: int
    newest_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class StampCheck:
    """What was found in a run of stamps.

    Attributes
    ----------
    bad : numpy.ndarray, shape (n,), bool
        Stamps equal to or before an earlier one of the same segment.
    starts : numpy.ndarray, shape (m,), int64
        Rows at which a segment begins; `[0]` where the clock never leapt, empty without stamps.
    state : StampState or None
        After the last row; None if there has been none.
    """

    bad: NDArray[np.bool_]
    starts: NDArray[np.int64]
    state: StampState | None

    def segments(self) -> list[slice]:
        """Give the rows of each segment, in the order of recording."""
        return [slice(a, b) for a, b in pairwise([*self.starts.tolist(), len(self.bad)])]


def check_stamps(time_ns: NDArray[np.int64], state: StampState | None = None) -> StampCheck:
    """Flag stamps that do not increase and split at leaps of the clock; nothing is sorted or changed.

    A leap is a step between neighbours, back by more than `BACK_LEAP_NS` or forward by more than
    `FORWARD_LEAP_NS`.

    Parameters
    ----------
    time_ns : numpy.ndarray, shape (n,), int64
        In the order of recording.
    state : StampState, optional
        Of the block before; without it the first row starts a segment.

    Returns
    -------
    StampCheck
        With `state` given, `starts` holds only leaps (the first row may continue a segment).
    """
    n = len(time_ns)
    if n == 0:
        return StampCheck(np.zeros(0, bool), np.zeros(0, np.int64), state)
    if state is not None and _goes_on(time_ns.tolist(), state):
        newest_ns = int(time_ns[-1])
        return StampCheck(np.zeros(n, bool), np.zeros(0, np.int64), StampState(newest_ns, newest_ns))
    last, newest = (state.last_ns, state.newest_ns) if state else (int(time_ns[0]), None)
    step = _differences(np.concatenate([np.array([last], np.int64), time_ns]))
    leap = (step < -BACK_LEAP_NS) | (step > FORWARD_LEAP_NS)
    leap[0] |= state is None
    starts = np.flatnonzero(leap).astype(np.int64)
    bad = np.zeros(n, bool)
    edges = sorted({0, n, *starts.tolist()})
    for a, b in pairwise(edges):
        newest = _flag(time_ns[a:b], bad[a:b], None if leap[a] else newest)
    return StampCheck(bad, starts, StampState(int(time_ns[-1]), newest if newest is not None else last))


def _goes_on(stamps: list[int], state: StampState) -> bool:
    """Tell whether all is well, the usual case: a writer asks it of a row or two at a time."""
    if stamps[0] <= state.newest_ns or stamps[0] - state.last_ns > FORWARD_LEAP_NS:
        return False
    return all(0 < b - a <= FORWARD_LEAP_NS for a, b in pairwise(stamps))


def _differences(stamps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the steps in ns as floats, so that stamps at the ends of the int64 range cannot wrap around."""
    rough = np.diff(stamps.astype(np.float64))
    return np.where(np.abs(rough) < 2.0**62, np.diff(stamps).astype(np.float64), rough)


def _flag(times: NDArray[np.int64], bad: NDArray[np.bool_], newest: int | None) -> int:
    """Fill `bad` for one segment; give its latest stamp."""
    top = np.maximum.accumulate(times)
    bad[1:] = times[1:] <= top[:-1]
    if newest is None:
        return int(top[-1])
    bad |= times <= newest
    return max(newest, int(top[-1]))
