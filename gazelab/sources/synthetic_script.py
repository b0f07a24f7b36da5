"""What the synthetic participant does: where it looks from when to when, and when it blinks."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import EventKind, empty_events
from gazelab.core.geometry import Screen

SACCADE_BASE_MS, SACCADE_MS_PER_DEG = 21.0, 2.2
"""Duration of a saccade by its size: the main sequence, Carpenter (1988), Movements of the Eyes."""

REACTION_NS = 200_000_000
"""From a target's appearance to the saccade."""

BLINK_NS = 250_000_000
"""A blink from the lids' first movement to their last: closing .3, shut .3, opening .4 of it."""

PURSUIT_LAG_NS = 110_000_000
"""By which the eye trails a target that moves evenly: people's lags go from nothing for one they know by
heart to 150 ms (Barnes 2008, 10.1016/j.bandc.2008.08.020)."""

FOREVER_NS = 2**62

Motion = Callable[[int], tuple[float, float]]
"""Place (screen px) by time (ns)."""


class LookLike(Protocol):
    """One scripted fixation: where (screen px), and from when to when, ns."""

    @property
    def onset_ns(self) -> int:
        """First moment."""

    @property
    def offset_ns(self) -> int:
        """Last moment."""

    @property
    def x_px(self) -> float:
        """Across."""

    @property
    def y_px(self) -> float:
        """Down."""


@dataclass(frozen=True, slots=True)
class Look:
    """One scripted fixation, or the following of something that moves."""

    onset_ns: int
    offset_ns: int
    x_px: float
    y_px: float
    motion: Motion | None = None

    def at(self, time_ns: int) -> tuple[float, float]:
        """Where it is directed at a moment."""
        return (self.x_px, self.y_px) if self.motion is None else self.motion(time_ns)


class GazeScript:
    """A scanpath that may grow while it is being followed.

    Between two fixations the eye stays where it was until there is just time for a saccade; the saccade
    follows a minimum-jerk course. Before the first fixation the eye is at its place, after the last it stays.

    Parameters
    ----------
    screen : Screen
        With millimetres, since a saccade's duration goes with degrees.
    looks : iterable
        Fixations in order of time, each with onset_ns, offset_ns, x_px, y_px.
    blinks : sequence of (onset_ns, offset_ns)
    """

    def __init__(
        self, screen: Screen, looks: Iterable[LookLike] = (), blinks: Sequence[tuple[int, int]] = ()
    ) -> None:
        self._screen = screen
        self._looks: list[Look] = []
        self._onsets: list[int] = []
        self.blinks: list[tuple[int, int]] = sorted(blinks)
        for look in looks:
            self.add(look)

    def add(self, look: LookLike) -> None:
        """Append a fixation; it must begin after the one before ended.

        Raises
        ------
        ValueError
            It ends before it begins, or begins before the last one ended.
        """
        if look.offset_ns < look.onset_ns or (self._looks and look.onset_ns < self._looks[-1].offset_ns):
            raise ValueError(f"a look from {look.onset_ns} to {look.offset_ns} ns is out of order")
        motion = look.motion if isinstance(look, Look) else None
        self._looks.append(Look(look.onset_ns, look.offset_ns, float(look.x_px), float(look.y_px), motion))
        self._onsets.append(look.onset_ns)

    def look_at(self, x_px: float, y_px: float, now_ns: int, reaction_ns: int = REACTION_NS) -> Look:
        """React to a target that appears now: leave the present place, look there until told otherwise."""
        return self._turn_to(x_px, y_px, None, now_ns, reaction_ns)

    def follow(self, motion: Motion, now_ns: int, lag_ns: int = PURSUIT_LAG_NS) -> Look:
        """React to a moving target that appears now: follow it until told otherwise.

        Parameters
        ----------
        motion : callable
            The target's place (screen px) by time (ns).
        now_ns : int
        lag_ns : int
            By which the eye trails.
        """

        def trailing(time_ns: int) -> tuple[float, float]:
            return motion(time_ns - lag_ns)

        return self._turn_to(*motion(now_ns), trailing, now_ns, REACTION_NS)

    def _turn_to(
        self, x_px: float, y_px: float, motion: Motion | None, now_ns: int, reaction_ns: int
    ) -> Look:
        leave = now_ns + reaction_ns
        if not self._looks:
            look = Look(now_ns, FOREVER_NS, x_px, y_px, motion)
        else:
            last = self._looks[-1]
            leave = max(leave, last.onset_ns)
            self._looks[-1] = replace(last, offset_ns=min(last.offset_ns, leave))
            onset_ns = leave + saccade_ns(self._screen, last.at(leave), (x_px, y_px))
            look = Look(onset_ns, FOREVER_NS, x_px, y_px, motion)
        self.add(look)
        return look

    def leave(self, time_ns: int) -> None:
        """Stop looking at the last place from a moment on; what comes next is added."""
        if self._looks:
            last = self._looks[-1]
            self._looks[-1] = replace(last, offset_ns=max(last.onset_ns, min(last.offset_ns, time_ns)))

    def blink_at(self, onset_ns: int, duration_ns: int = BLINK_NS) -> None:
        """Add a blink."""
        bisect.insort(self.blinks, (onset_ns, onset_ns + duration_ns))

    def position(self, time_ns: int) -> tuple[float, float]:
        """Where the eye is directed, screen px.

        Raises
        ------
        ValueError
            The script is empty.
        """
        if not self._looks:
            raise ValueError("the script has no fixation yet")
        k = max(bisect.bisect_right(self._onsets, time_ns) - 1, 0)
        here = self._looks[k]
        start = self._leaves(k)
        if k + 1 == len(self._looks) or time_ns <= start:
            return here.at(time_ns)
        there = self._looks[k + 1]
        u = (time_ns - start) / max(there.onset_ns - start, 1)
        s = u**3 * (10 - 15 * u + 6 * u * u)
        (x0, y0), (x1, y1) = here.at(start), there.at(there.onset_ns)
        return x0 + s * (x1 - x0), y0 + s * (y1 - y0)

    def lid_closure(self, time_ns: int) -> float:
        """How far a blink has shut the lids: 0 open, 1 shut."""
        k = bisect.bisect_right(self.blinks, (time_ns, FOREVER_NS)) - 1
        if k < 0 or time_ns > self.blinks[k][1]:
            return 0.0
        onset, offset = self.blinks[k]
        u = (time_ns - onset) / max(offset - onset, 1)
        return float(np.interp(u, (0.0, 0.3, 0.6, 1.0), (0.0, 1.0, 1.0, 0.0)))

    def truth(self, from_ns: int, to_ns: int) -> NDArray[np.void]:
        """Give the fixations and blinks between two moments, cut at them.

        Returns
        -------
        numpy.ndarray, shape (n,), EVENT_DTYPE
            Sorted by onset. A fixation ends when the eye leaves; a blink doesn't end the fixation round it.
            Following something that moves is no fixation.
        """
        nowhere = float("nan")
        events = [
            (k.onset_ns, self._leaves(i), EventKind.FIXATION, k.x_px, k.y_px)
            for i, k in enumerate(self._looks)
            if k.motion is None
        ]
        events += [(a, b, EventKind.BLINK, nowhere, nowhere) for a, b in self.blinks]
        events = sorted((e for e in events if e[1] > from_ns and e[0] < to_ns), key=lambda e: e[:3])
        rows = empty_events(len(events))
        for row, (onset, offset, kind, x_px, y_px) in zip(rows, events, strict=True):
            row["kind"], row["onset_ns"], row["offset_ns"] = kind, max(onset, from_ns), min(offset, to_ns)
            row["x_px"], row["y_px"] = x_px, y_px
        return rows

    def _leaves(self, k: int) -> int:
        """When the eye leaves the k-th place."""
        here = self._looks[k]
        if k + 1 == len(self._looks):
            return here.offset_ns
        there = self._looks[k + 1]
        duration_ns = saccade_ns(
            self._screen, here.at(min(here.offset_ns, there.onset_ns)), (there.x_px, there.y_px)
        )
        return max(here.offset_ns, there.onset_ns - duration_ns)


def random_blinks(
    start_ns: int, end_ns: int, rate_per_min: float, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Blinks at a mean rate, at least half a second apart.

    Readers blink some 5 to 15 times a minute (Bentivoglio et al. 1997).
    """
    blinks: list[tuple[int, int]] = []
    if rate_per_min <= 0:
        return blinks
    pause_ns = max(60e9 / rate_per_min - 0.5e9 - BLINK_NS, 0.0)
    time_ns = start_ns + 0.5e9
    while True:
        time_ns += rng.exponential(pause_ns)
        if time_ns + BLINK_NS >= end_ns:
            return blinks
        blinks.append((int(time_ns), int(time_ns) + BLINK_NS))
        time_ns += BLINK_NS + 0.5e9


def random_looks(screen: Screen, start_ns: int, duration_ns: int, rng: np.random.Generator) -> list[Look]:
    """Fixations of 200 to 450 ms anywhere on the screen, a saccade apart."""
    looks: list[Look] = []
    time_ns = start_ns
    while time_ns < start_ns + duration_ns:
        x, y = rng.uniform(0, screen.width_px), rng.uniform(0, screen.height_px)
        if looks:
            time_ns += saccade_ns(screen, looks[-1].at(time_ns), (x, y))
        end_ns = time_ns + int(rng.uniform(200e6, 450e6))
        looks.append(Look(time_ns, end_ns, x, y))
        time_ns = end_ns
    return looks


def saccade_ns(screen: Screen, here: tuple[float, float], there: tuple[float, float]) -> int:
    """How long the eye takes from one place (screen px) to another."""
    amplitude = float(screen.angle_deg(*here, *there))
    return int((SACCADE_BASE_MS + SACCADE_MS_PER_DEG * amplitude) * 1e6)
