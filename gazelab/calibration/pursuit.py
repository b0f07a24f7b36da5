"""Calibrate on a slowly moving target: hundreds of known places in the time of nine resting ones.

After Pfeuffer et al. 2013 (10.1145/2501988.2501998), with the test of Vidal et al. 2013
(10.1145/2493432.2493477) of whether the eye follows: the correlation of the eye's path with the target's in a
sliding window. The eye trails the target; the lag is estimated in each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.collect import MS, Collected, Point, Timing, iris_place
from gazelab.calibration.head_box import head_pose
from gazelab.calibration.pursuit_path import PursuitPath
from gazelab.calibration.robust import pad, robust_fit
from gazelab.calibration.samples import SampleLog
from gazelab.calibration.targets import Target

Floats = NDArray[np.float64]

INSTRUCTION = "Follow the target with your eyes."

LAGS_NS = np.arange(0, 301, 10, dtype=np.int64) * MS
DEFAULT_LAG_NS = 100 * MS
"""Predictable targets are followed with about this lag, the camera's own left-over included; taken where the
samples don't tell."""
LAG_SD_NS = 50 * MS
"""How far lags lie from the usual one; what the samples say is weighed against it."""
CORRELATED = 20
"""So many samples in a row go wrong together (the head sways, the landmarker's error goes with the pose), and
count as one: at 30 Hz, 0.7 s."""
MIN_EXPLAINED = 0.5
"""Share of the irises' horizontal variance that must be explained for a lag to be read off."""

WINDOW_NS = 1200 * MS
MIN_CORRELATION = 0.6
"""On the landmarker's own noise an eye that follows reaches this in 98 of 100 windows; one that rests never,
one that jumps about in every fifth or so."""
MIN_SWING = 0.5
"""Of the target's motion to the sides within a window, as a share of the largest: where it hardly moves that
way there is no correlation to speak of (lids hide most of the irises' vertical motion), and the distance
alone decides."""
MAX_RESIDUAL = 3.5
"""Standard deviations of the irises' place about what the target's place predicts, above which the eye was
elsewhere."""
MIN_ROWS = 60
"""Samples below which a run is no run."""
NOISE_FLOOR = 0.006
"""Eye widths; a smaller spread than the landmarker's own isn't believed."""


@dataclass(frozen=True, slots=True)
class PursuitRun:
    """How a run went.

    Attributes
    ----------
    lag_ns : int
        By which the eye trailed the target.
    lag_estimated : bool
        False: the samples didn't tell, and the usual lag was taken.
    n_seen, n_open, n_followed : int
        Samples in all, with open eyes, and of those on the target.
    iris_spread : float
        Standard deviation of the irises' place over the run, eye widths.
    """

    lag_ns: int
    lag_estimated: bool
    n_seen: int
    n_open: int
    n_followed: int
    iris_spread: float


@dataclass
class PursuitCollector:
    """Collects one run along the path; all times are passed in.

    Parameters
    ----------
    path : PursuitPath
    cells : sequence of Target
        Calibration targets: each sample counts for the one that the moving target was nearest to.
    timing : Timing
    onset_ns : int
        When the target appeared.
    settle_ns : int
        It rests so long before it goes.
    wait_for_key : bool
        It rests until a key is pressed.
    """

    path: PursuitPath
    cells: Sequence[Target]
    timing: Timing
    onset_ns: int
    settle_ns: int
    wait_for_key: bool = False
    run: PursuitRun | None = None
    _pressed_ns: int | None = None
    _log: SampleLog = field(init=False)

    def __post_init__(self) -> None:
        self._log = SampleLog(self.timing.blink_pad_ns)
        self.target = self.path.target

    @property
    def from_ns(self) -> int | None:
        """When the target starts to move; None while a key is waited for."""
        if self._pressed_ns is not None:
            return self._pressed_ns
        return None if self.wait_for_key else self.onset_ns + self.settle_ns

    def press(self, time_ns: int) -> None:
        """Let the target go now."""
        if self._pressed_ns is None and (self.from_ns is None or time_ns < self.from_ns):
            self._pressed_ns = time_ns

    def add(self, row: np.void, time_ns: int) -> None:
        """Take one sample."""
        if self.from_ns is not None and time_ns >= self.from_ns:
            self._log.add(row, time_ns)

    def at(self, time_ns: int) -> Point:
        """Where the target stands."""
        x, y = self.path.at(0 if self.from_ns is None else time_ns - self.from_ns)
        return float(x), float(y)

    def progress(self, time_ns: int) -> float:
        """Share of the path that is done, 0..1."""
        if self.from_ns is None:
            return 0.0
        return float(np.clip((time_ns - self.from_ns) / self.path.duration_ns, 0.0, 1.0))

    def finished(self, time_ns: int) -> bool:
        """Whether the target has come to its end, and the eye after it."""
        return self.from_ns is not None and time_ns - self.from_ns >= self.path.duration_ns + int(LAGS_NS[-1])

    def gathered(self) -> dict[Target, Collected]:
        """Pair each sample with where the target was when the eye aimed, and sort them by cell."""
        rows, usable = self._log.rows(), self._log.usable()
        elapsed = np.array(self._log.times, np.int64) - (self.from_ns or 0)
        along = goes_along(rows, elapsed, usable, self.path.at(elapsed - DEFAULT_LAG_NS))
        lag_ns, estimated = pursuit_lag(rows, elapsed, along, self.path)
        places = self.path.at(elapsed - lag_ns)
        on_it = near_target(rows, elapsed, along, places)
        spread = float(np.hypot(*iris_place(rows[usable]).std(0))) if usable.any() else 0.0
        self.run = PursuitRun(lag_ns, estimated, len(rows), int(usable.sum()), int(on_it.sum()), spread)
        anchors = np.array([(c.x_px, c.y_px) for c in self.cells])
        away = np.hypot(*(places[:, None] - anchors[None]).transpose(2, 0, 1))
        nearest = away.argmin(1) if len(rows) else np.empty(0, np.intp)
        out: dict[Target, Collected] = {}
        for k, cell in enumerate(self.cells):
            here = nearest == k
            n_seen, n_open = int(here.sum()), int(usable[here].sum())
            followed = 2 * int(on_it[here].sum()) > n_seen
            out[cell] = Collected(cell, rows[here], on_it[here], n_seen, n_open, followed, places[here])
        return out


def goes_along(
    rows: NDArray[np.void], elapsed_ns: NDArray[np.int64], usable: NDArray[np.bool_], places: Floats
) -> NDArray[np.bool_]:
    """Tell round which samples the irises' path goes with the target's.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
    elapsed_ns : numpy.ndarray, shape (n,)
    usable : numpy.ndarray, shape (n,), bool
        Open eyes.
    places : numpy.ndarray, shape (n, 2)
        Where the target was, about the lag before.

    Returns
    -------
    numpy.ndarray, shape (n,), bool
        False where the correlation over the window is too low: the eye rests, or goes elsewhere.
    """
    out = np.zeros(len(rows), bool)
    index = np.flatnonzero(usable)
    if len(index) < MIN_ROWS:
        return out
    eye, target, elapsed = iris_place(rows[index])[:, 0], places[index, 0], elapsed_ns[index]
    first = np.searchsorted(elapsed, elapsed - WINDOW_NS // 2)
    last = np.searchsorted(elapsed, elapsed + WINDOW_NS // 2)
    swing = np.array([target[a:b].std() for a, b in zip(first, last, strict=True)])
    judged = np.flatnonzero(swing > MIN_SWING * swing.max())
    goes = np.array([_correlation(eye[first[k] : last[k]], target[first[k] : last[k]]) for k in judged])
    # An eye that looks to the screen's right moves to the picture's left, unless the camera mirrors.
    goes *= np.sign(goes.sum())
    # Where the target goes up or down or turns round, the nearest verdict holds.
    nearest = np.abs(elapsed[:, None] - elapsed[judged][None]).argmin(1)
    out[index] = (goes >= MIN_CORRELATION)[nearest]
    return out


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float((a @ b) / max(float(np.sqrt((a @ a) * (b @ b))), 1e-12))


def pursuit_lag(
    rows: NDArray[np.void], elapsed_ns: NDArray[np.int64], along: NDArray[np.bool_], path: PursuitPath
) -> tuple[int, bool]:
    """Estimate by how much the eye trailed the target.

    The likeliest lag of 0 to 300 ms: the one at which the target's place (up to squares) and the head's pose
    explain most of where the irises were. On the way there and on the way back the eye must pass a place of
    the screen at the same turn.

    Returns
    -------
    lag_ns : int
    estimated : bool
        False: nothing to go by (the eye didn't follow, or the best lag is the longest); then the usual lag.
    """
    if along.sum() < MIN_ROWS:
        return DEFAULT_LAG_NS, False
    iris, elapsed = iris_place(rows[along]), elapsed_ns[along]
    pose = np.nan_to_num(head_pose(rows[along]))
    pose = (pose - pose.mean(0)) / np.maximum(pose.std(0), 1e-9)
    costs, explained = np.empty(len(LAGS_NS)), 0.0
    for k, lag in enumerate(LAGS_NS):
        residual, scale = robust_fit(np.column_stack([_powers(path.at(elapsed - lag)), pose]), iris)
        error = np.sqrt((np.minimum(np.abs(residual), 3 * scale) ** 2).mean(0))
        costs[k] = len(iris) / CORRELATED * np.log(np.maximum(error, 1e-6)).sum()
        explained = max(explained, 1.0 - float((error[0] / max(iris[:, 0].std(), 1e-9)) ** 2))
    costs += 0.5 * ((LAGS_NS - DEFAULT_LAG_NS) / LAG_SD_NS) ** 2
    best = int(costs.argmin())
    if explained < MIN_EXPLAINED or best == len(LAGS_NS) - 1:
        return DEFAULT_LAG_NS, False
    return int(LAGS_NS[best]), True


def near_target(
    rows: NDArray[np.void], elapsed_ns: NDArray[np.int64], along: NDArray[np.bool_], places: Floats
) -> NDArray[np.bool_]:
    """Tell in which of the samples that go along the irises are where the target's place predicts them.

    Returns
    -------
    numpy.ndarray, shape (n,), bool
        False also within 100 ms of a sample that is too far off: saccades, glances away, catching up.
    """
    out = np.zeros(len(rows), bool)
    if along.sum() < MIN_ROWS:
        return out
    residual, scale = robust_fit(_powers(places[along]), iris_place(rows[along]))
    off: NDArray[np.bool_] = (np.abs(residual) / np.maximum(scale, NOISE_FLOOR)).max(1) > MAX_RESIDUAL
    out[along] = ~pad(off, elapsed_ns[along], 100 * MS)
    return out


def _powers(places: Floats) -> Floats:
    """Return the target's place up to squares, on a common scale."""
    x, y = ((places - places.mean(0)) / np.maximum(places.std(0), 1e-9)).T
    return np.column_stack([x, y, x * x, x * y, y * y])
