"""What is on the screen during a calibration, whose turn it is, and what each target has given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gazelab.calibration.collect import Collected, Collector, Point, Timing
from gazelab.calibration.plan import PART_OF, Part, Plan, instruction
from gazelab.calibration.pursuit import PursuitCollector, PursuitRun
from gazelab.calibration.targets import Target


class Showing:
    """A queue of targets, one of them up, and the samples of those that are done.

    Parameters
    ----------
    plan : Plan
    timing : Timing
    by_key : bool
        A target waits for the space bar.
    """

    def __init__(self, plan: Plan, timing: Timing, by_key: bool) -> None:
        self._plan, self._timing, self._by_key = plan, timing, by_key
        self._key_down = False
        self._collector: Collector | None = None
        self._queue: list[Target] = []
        self._first = True
        self.data: dict[Target, Collected] = {}
        self.run: PursuitRun | None = None

    @property
    def current(self) -> Target | None:
        """What is up."""
        return self._queue[0] if self._queue else None

    @property
    def part(self) -> Part | None:
        """What the target that is up belongs to."""
        return PART_OF[self._queue[0].kind] if self._queue else None

    @property
    def instruction(self) -> str:
        """What the participant is asked to do."""
        return instruction(self.current)

    @property
    def motion(self) -> Callable[[int], Point] | None:
        """Where the target that is up stands at any time; it stays so for whoever keeps it."""
        if not self._queue:
            return None
        if self._collector is not None:
            return self._collector.at
        first = self._queue[0]
        return lambda _time_ns: (first.x_px, first.y_px)

    def progress(self, time_ns: int) -> float:
        """Share of the current target's least time that has gone by, 0..1."""
        return self._collector.progress(time_ns) if self._collector else 0.0

    def forget(self) -> None:
        """Drop all samples; nothing is up."""
        self.data, self.run = {}, None
        self.show([])

    def drop(self, targets: Sequence[Target]) -> None:
        """Drop the samples of some targets."""
        for target in targets:
            self.data.pop(target, None)

    def show(self, queue: list[Target]) -> None:
        """Show these next, one after the other, in place of what is up."""
        self._queue = queue
        self._collector, self._first = None, True

    def of(self, targets: Sequence[Target]) -> tuple[Collected, ...]:
        """Give what these have given, in their order, as far as they are done."""
        return tuple(self.data[t] for t in targets if t in self.data)

    def add(self, features: np.void | None, time_ns: int) -> None:
        """Take one reading for the target that is up; None only lets time pass."""
        collector = self._collecting(time_ns)
        if features is not None:
            collector.add(features, time_ns)
        if not collector.finished(time_ns):
            return
        self.data.update(collector.gathered())
        if isinstance(collector, PursuitCollector):
            self.run = collector.run
        del self._queue[0]
        self._collector, self._first = None, False
        if self._queue:
            self._collecting(time_ns)

    def key(self, time_ns: int, pressed: bool, auto_repeat: bool) -> bool:
        """Take a key event; tell whether it counted for the target that is up."""
        if auto_repeat:
            return False
        fresh = pressed and not self._key_down
        self._key_down = pressed
        if not self._queue or not fresh:
            return False
        collector = self._collecting(time_ns)
        if time_ns - collector.onset_ns < self._timing.key_guard_ns:
            return False
        collector.press(time_ns)
        return True

    def _collecting(self, time_ns: int) -> Collector:
        """Give the current target's collector; the target's onset is the first call after it came up."""
        if self._collector is None:
            t = self._timing
            settle_ns = t.first_settle_ns if self._first else t.settle_ns
            self._collector = self._plan.collector(self._queue[0], t, time_ns, settle_ns, self._by_key)
        return self._collector
