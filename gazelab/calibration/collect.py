"""Gather the samples of one target: wait, see that the gaze rests, take that stretch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.samples import SampleLog
from gazelab.calibration.targets import Target
from gazelab.processing.features import eyes_closed

MS = 1_000_000

Point = tuple[float, float]
"""(x, y), screen px."""

REST_SD = 0.012
"""Standard deviation of the iris' place, in eye widths, below which the gaze rests: about 1.7 degrees for an
eye 30 mm wide that turns about a centre 12 mm behind the iris. There is no mapping yet, so no degrees."""
REST_SD_NOISY = 0.04
"""The same where the camera's own frame-to-frame noise explains the spread."""
NOISE_RATIO = 2.0
"""Spread over frame-to-frame noise: 1 for noise about one place, larger where the place moves (the root of
von Neumann's ratio)."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take.

    Attributes
    ----------
    settle_ns : int
        From a target's onset until samples count: a saccade needs about 200 ms to start, and children more.
    first_settle_ns : int
        The same for the first target after a start.
    window_ns : int
        The stretch that is kept.
    limit_ns : int
        After this a target is left with the best stretch there was, or with none.
    key_guard_ns : int
        A key this soon after a target's onset was meant for what was there before.
    blink_pad_ns : int
        Samples this close to shut lids are dropped: the lid drags the iris along.
    min_samples : int
        Usable samples below which a target counts as without data.
    min_share : float
        Of usable samples in the stretch, 0..1.
    read_ns : int
        From the appearance of an instruction for the head until samples count: it has to be read.
    move_ns : int
        For one movement of the head and back.
    """

    settle_ns: int = 700 * MS
    first_settle_ns: int = 1500 * MS
    window_ns: int = 800 * MS
    limit_ns: int = 7000 * MS
    key_guard_ns: int = 150 * MS
    blink_pad_ns: int = 100 * MS
    min_samples: int = 8
    min_share: float = 0.7
    read_ns: int = 1200 * MS
    move_ns: int = 3000 * MS


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """What one target gave.

    Attributes
    ----------
    target : Target
    rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
        The stretch that was kept, lost samples and blinks included.
    usable : numpy.ndarray, shape (n,), bool
        Which of `rows` may be learnt from.
    n_seen, n_usable : int
        Over the whole time from settling to the end.
    rested : bool
        Whether the gaze was seen to rest, or the participant pressed the key.
    places_px : numpy.ndarray, shape (n, 2), or None
        Where each row's eye was to look, for a target that moved; None: at `target` all the time.
    """

    target: Target
    rows: NDArray[np.void]
    usable: NDArray[np.bool_]
    n_seen: int
    n_usable: int
    rested: bool
    places_px: NDArray[np.float64] | None = None

    def has_data(self, timing: Timing) -> bool:
        """Whether there are enough usable samples."""
        return int(self.usable.sum()) >= timing.min_samples

    def usable_places(self) -> NDArray[np.float64]:
        """Where the usable rows looked, (n, 2) screen px."""
        if self.places_px is not None:
            return self.places_px[self.usable]
        return np.tile((self.target.x_px, self.target.y_px), (int(self.usable.sum()), 1))


class Collector(Protocol):
    """Gathers the samples of what is shown now; all times are passed in."""

    target: Target
    onset_ns: int

    def press(self, time_ns: int) -> None:
        """Take the participant's word that it may begin."""

    def add(self, row: np.void, time_ns: int) -> None:
        """Take one sample."""

    def at(self, time_ns: int) -> Point:
        """Where the target stands."""

    def progress(self, time_ns: int) -> float:
        """Share of the least time that has gone by, 0..1."""

    def finished(self, time_ns: int) -> bool:
        """Whether it may go."""

    def gathered(self) -> Mapping[Target, Collected]:
        """Give what came of it, by target."""


@dataclass
class TargetCollector:
    """Collects for one target; all times are passed in.

    Parameters
    ----------
    target : Target
    timing : Timing
    onset_ns : int
        When the target was put on the screen.
    settle_ns : int
    wait_for_key : bool
        Start at a key press only, and then without a time limit before it.
    """

    target: Target
    timing: Timing
    onset_ns: int
    settle_ns: int
    wait_for_key: bool = False
    _pressed_ns: int | None = None
    _log: SampleLog = field(init=False)
    _best: tuple[float, int, int] | None = None
    _rested: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self._log = SampleLog(self.timing.blink_pad_ns)

    @property
    def from_ns(self) -> int | None:
        """From when samples count; None while a key is waited for."""
        if self._pressed_ns is not None:
            return self._pressed_ns
        return None if self.wait_for_key else self.onset_ns + self.settle_ns

    def press(self, time_ns: int) -> None:
        """Take the participant's word that the target is being looked at."""
        if self._pressed_ns is None:
            self._pressed_ns = time_ns

    def add(self, row: np.void, time_ns: int) -> None:
        """Take one sample; those before settling and those with a stamp that doesn't grow are left out."""
        start = self.from_ns
        if start is not None and time_ns >= start and self._log.add(row, time_ns):
            self._look_back(time_ns)

    def at(self, time_ns: int) -> Point:
        """Where the target stands: always at one place."""
        return self.target.x_px, self.target.y_px

    def progress(self, time_ns: int) -> float:
        """Share of the time that this target needs at least, 0..1."""
        start = self.from_ns
        if start is None:
            return 0.0
        return float(np.clip((time_ns - start) / self.timing.window_ns, 0.0, 1.0))

    def finished(self, time_ns: int) -> bool:
        """Whether a stretch was kept, or the time is over."""
        start = self.from_ns
        if start is None:
            return False
        return self._rested is not None or time_ns - start >= self.timing.limit_ns

    def gathered(self) -> dict[Target, Collected]:
        """Give what was kept."""
        return {self.target: self.collected()}

    def collected(self) -> Collected:
        """Give what was kept."""
        usable = self._log.usable()
        first, last = self._rested or (self._best or (0.0, 0, len(usable)))[-2:]
        rested = self._rested is not None
        return Collected(
            self.target,
            self._log.rows(first, last),
            usable[first:last],
            len(usable),
            int(usable.sum()),
            rested,
        )

    def _look_back(self, now_ns: int) -> None:
        """Look at the newest stretch: keep it if the gaze rests, else remember the calmest."""
        start = self.from_ns
        if start is None or now_ns - start < 0.9 * self.timing.window_ns:
            return
        first = bisect_left(self._log.times, now_ns - self.timing.window_ns)
        last = len(self._log)
        first = max(0, min(first, last - self.timing.min_samples))
        usable = self._log.usable(first, last)
        if usable.sum() < self.timing.min_samples or usable.mean() < self.timing.min_share:
            return
        spread, rests = rest(self._log.rows(first, last)[usable])
        if rests or self._pressed_ns is not None:
            self._rested = (first, last)
        elif self._best is None or spread < self._best[0]:
            self._best = (spread, first, last)


def rest(rows: NDArray[np.void]) -> tuple[float, bool]:
    """Judge from the irises alone whether the gaze rested.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
        Usable samples in order of time, n >= 2.

    Returns
    -------
    spread : float
        Standard deviation of the iris' place, the larger of x and y, in eye widths.
    rests : bool
    """
    iris = iris_place(rows)
    sd = iris.std(0)
    # Of normal noise, by the median: one saccade among the steps must not pass for a noisy camera.
    noise = np.median(np.abs(np.diff(iris, axis=0)), axis=0) / (0.6745 * np.sqrt(2))
    calm = (sd <= REST_SD) | ((sd <= NOISE_RATIO * noise) & (sd <= REST_SD_NOISY))
    return float(sd.max()), bool(calm.all())


def iris_place(rows: NDArray[np.void]) -> NDArray[np.float64]:
    """Mean place of the irises of the open eyes in their eyes' own frames: (n, 2) in eye widths."""
    iris = np.asarray(rows["iris"], np.float64)
    shown = ~eyes_closed(rows) & np.isfinite(iris).all(-1)
    weight = shown / np.maximum(shown.sum(-1, keepdims=True), 1)
    place: NDArray[np.float64] = (np.where(shown[..., None], iris, 0.0) * weight[..., None]).sum(1)
    place[~shown.any(-1)] = np.nan
    return place
