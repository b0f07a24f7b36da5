"""Calibrate with a moving head: the participant keeps looking at a dot and turns, nods, leans and shifts.

A mapping that was made with a still head can't tell a turned eye from a turned head: the eyes turn back as
the head turns, and each degree of that is read as a degree of gaze. Samples in which the head moves and the
gaze does not teach the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.collect import MS, Collected, Point, Timing, iris_place
from gazelab.calibration.findings import Code, Finding, Limits
from gazelab.calibration.head_box import head_pose
from gazelab.calibration.robust import pad, robust_fit
from gazelab.calibration.samples import SampleLog
from gazelab.calibration.targets import Area, Target, TargetKind, place_targets
from gazelab.core.geometry import Screen


@dataclass(frozen=True, slots=True)
class HeadStep:
    """One movement.

    Attributes
    ----------
    share : (float, float)
        Where the dot stands in the inset area, 0..1 from its upper left.
    instruction : str
    length : float
        Of the usual time for a movement.
    """

    share: tuple[float, float]
    instruction: str
    length: float = 1.0


STEPS = (
    HeadStep((0.5, 0.5), "Keep looking at the target. Draw a slow, wide circle with your nose."),
    HeadStep((0.1, 0.1), "Keep looking at the target. Draw a circle again, the other way round."),
    HeadStep((0.9, 0.9), "Keep looking at the target. Draw a circle once more."),
    HeadStep((0.5, 0.5), "Keep looking at the target. Lean left, lean right, come closer, and go back.", 1.5),
)
"""18 s in all. A circle turns the head to every side at once, and three dots tell a turned eye from a turned
head at more than one place: with a prototype of the mapping the synthetic participant's error with a moving
head came to 1.65 degrees, against 1.97 with turns, nods and leans at one dot (medians, mean of three seeds).
Leaning teaches less, but a head box without it would call a person who leans outside."""

FIRST_ID = 1000
STRETCHES = 3
"""Movements go into the fit as targets of their own, numbered from here, each in three stretches of time. So
poses are left out, too, to choose the penalty, and a fit that takes as many rows of each target takes more of
the movements, in which more happens than at a dot with a still head."""

GLANCE = 4.0
"""Standard deviations of the irises' place about what the head's pose predicts, above which the eyes were
elsewhere."""
NOISE_FLOOR = 0.008
"""Eye widths, about one degree; a smaller spread isn't believed."""
GLANCE_PAD_NS = 100 * MS
IRIS_PER_DEG = 0.007
"""How far the iris goes in its eye, eye widths for one degree: 12 mm from the centre of rotation to the iris
over an eye 30 mm wide."""
MIN_ROWS = 30


def head_targets(screen: Screen, area: Area | None = None) -> tuple[Target, ...]:
    """Lay out the dots of the movements, in order; `index` counts the steps."""
    return place_targets([step.share for step in STEPS], screen, area, TargetKind.HEAD)


def step_ns(index: int, timing: Timing) -> int:
    """Tell how long a movement takes once its instruction has been read."""
    return round(STEPS[index].length * timing.move_ns)


@dataclass
class HeadCollector:
    """Collects one movement: reading time, then every sample for a fixed time; all times are passed in.

    Parameters
    ----------
    target : Target
    timing : Timing
    onset_ns : int
        When the instruction appeared.
    wait_for_key : bool
        Begin at a key press only.
    """

    target: Target
    timing: Timing
    onset_ns: int
    wait_for_key: bool = False
    _pressed_ns: int | None = None
    _log: SampleLog = field(init=False)

    def __post_init__(self) -> None:
        self._log = SampleLog(self.timing.blink_pad_ns)

    @property
    def from_ns(self) -> int | None:
        """From when samples count; None while a key is waited for."""
        if self._pressed_ns is not None:
            return self._pressed_ns
        return None if self.wait_for_key else self.onset_ns + self.timing.read_ns

    @property
    def duration_ns(self) -> int:
        """How long the movement takes."""
        return step_ns(self.target.index, self.timing)

    def press(self, time_ns: int) -> None:
        """Begin now: the instruction has been read."""
        if self._pressed_ns is None and (self.from_ns is None or time_ns < self.from_ns):
            self._pressed_ns = time_ns

    def add(self, row: np.void, time_ns: int) -> None:
        """Take one sample."""
        if self.from_ns is not None and time_ns >= self.from_ns:
            self._log.add(row, time_ns)

    def at(self, time_ns: int) -> Point:
        """Where the dot stands."""
        return self.target.x_px, self.target.y_px

    def progress(self, time_ns: int) -> float:
        """Share of the movement's time that has gone by, 0..1."""
        if self.from_ns is None:
            return 0.0
        return float(np.clip((time_ns - self.from_ns) / self.duration_ns, 0.0, 1.0))

    def finished(self, time_ns: int) -> bool:
        """Whether the time is over."""
        return self.from_ns is not None and time_ns - self.from_ns >= self.duration_ns

    def gathered(self) -> dict[Target, Collected]:
        """Give every sample of the movement; which were glances away is judged over all movements."""
        rows, usable = self._log.rows(), self._log.usable()
        return {self.target: Collected(self.target, rows, usable, len(rows), int(usable.sum()), True)}


@dataclass(frozen=True, slots=True, eq=False)
class HeadPhase:
    """What the movements gave.

    Attributes
    ----------
    moves : tuple of Collected
        Glances away taken out of `usable`; empty where the phase can't be used.
    concern : Finding or None
        Why it can't.
    n_glances : int
        Samples taken out.
    yaw_range_deg, pitch_range_deg : float
        From the 5th to the 95th percentile; NaN without samples.
    """

    moves: tuple[Collected, ...] = ()
    concern: Finding | None = None
    n_glances: int = 0
    yaw_range_deg: float = float("nan")
    pitch_range_deg: float = float("nan")

    def to_mapping(self) -> dict[str, Any]:
        """Give what a profile keeps of it, JSON-ready; None where nothing was measured."""
        ranges = {k: getattr(self, k) for k in ("yaw_range_deg", "pitch_range_deg")}
        return {
            "used": bool(self.moves),
            "n_samples": sum(c.n_usable for c in self.moves),
            "n_glances": self.n_glances,
            **{k: v if np.isfinite(v) else None for k, v in ranges.items()},
        }


def judge_moves(collected: Sequence[Collected], limits: Limits) -> HeadPhase:
    """Take glances away out of the movements' samples, and see whether the head moved.

    The gaze rests while the head moves, so the irises' place in their eyes is a function of the head's pose:
    a robust fit of the one on the other (up to squares of the turns) leaves a small residual while the dot is
    looked at and a large one in a glance away.

    Parameters
    ----------
    collected : sequence of Collected
        Of the movements.
    limits : Limits
    """
    rows = np.concatenate([c.rows for c in collected])
    usable = np.concatenate([c.usable for c in collected])
    usable &= np.isfinite(head_pose(rows)).all(1)
    if usable.sum() < MIN_ROWS:
        text = "The eyes were hardly seen while the head moved. The calibration was made without that part."
        return HeadPhase(concern=Finding(Code.HEAD_UNSEEN, text, False))
    steps = np.concatenate([np.full(len(c.rows), c.target.index) for c in collected])
    places = np.concatenate([np.tile((c.target.x_px, c.target.y_px), (len(c.rows), 1)) for c in collected])
    kept = usable.copy()
    kept[usable] = _on_the_dot(rows[usable], places[usable])
    yaw, pitch = (_range(rows[kept][k]) for k in ("yaw_deg", "pitch_deg"))
    n_glances = int(usable.sum() - kept.sum())
    if yaw < limits.min_turn_deg and pitch < limits.min_turn_deg:
        text = (
            f"The head hardly moved: {yaw:.0f}° to the sides, {pitch:.0f}° up and down, and at least"
            f" {limits.min_turn_deg:.0f}° is needed. The calibration was made without that part and holds for"
            " a still head."
        )
        return HeadPhase((), Finding(Code.HEAD_STILL, text, False), n_glances, yaw, pitch)
    if _eyes_went_along(rows[kept], places[kept], yaw, limits):
        text = (
            "The eyes turned with the head instead of staying on the dot. The calibration was made without"
            " that part and holds for a still head."
        )
        return HeadPhase((), Finding(Code.HEAD_GAZE, text, False), n_glances, yaw, pitch)
    moves = tuple(
        replace(c, usable=kept[steps == c.target.index], n_usable=int(kept[steps == c.target.index].sum()))
        for c in collected
    )
    return HeadPhase(moves, None, n_glances, yaw, pitch)


def _on_the_dot(rows: NDArray[np.void], places: NDArray[np.float64]) -> NDArray[np.bool_]:
    pose = head_pose(rows)
    pose = (pose - pose.mean(0)) / (4.0, 4.0, 4.0, 20.0, 20.0, 20.0)
    design = np.column_stack([pose, pose[:, :2] ** 2, _dots(places)])
    residual, scale = robust_fit(design, iris_place(rows))
    away: NDArray[np.bool_] = (np.abs(residual) / np.maximum(scale, NOISE_FLOOR)).max(1) > GLANCE
    on_it: NDArray[np.bool_] = ~pad(away, rows["time_ns"].astype(np.int64), GLANCE_PAD_NS)
    return on_it


def _eyes_went_along(
    rows: NDArray[np.void], places: NDArray[np.float64], yaw_range_deg: float, limits: Limits
) -> bool:
    """Whether the irises kept their place while the head turned: eyes on the dot must turn back."""
    if yaw_range_deg < limits.min_turn_deg:
        return False
    columns = np.column_stack([rows["yaw_deg"], np.ones(len(rows)), _dots(places)]).astype(np.float64)
    per_deg = np.linalg.lstsq(columns, iris_place(rows)[:, 0], rcond=None)[0][0]
    return bool(abs(per_deg) < 0.3 * IRIS_PER_DEG)


def _dots(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column for each dot but the first: 1 where the row belongs to it."""
    others = np.unique(places, axis=0)[1:]
    at_dot: NDArray[np.bool_] = (places[:, None] == others[None]).min(-1)
    return at_dot.astype(np.float64)


def _range(values: NDArray[np.floating]) -> float:
    if not len(values):
        return float("nan")
    low, high = np.percentile(values, (5, 95))
    return float(high - low)
