"""What the online detector keeps: places (samples or their means), the open fixation, running measures."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from gazelab.core.gaze import EventArray, EventKind, empty_events
from gazelab.processing.events_candidates import Sums
from gazelab.processing.events_noise import NOISE_FLOOR_DEG, Noise, noise_at_first, noise_inside
from gazelab.processing.events_samples import (
    GAP_S,
    SPIKE_DEG,
    SPIKE_SIGMAS,
    SPIKE_SPAN_S,
)
from gazelab.processing.events_segmentation import BIN_S, NO_SUMS, Begun, Spot, Weights, add_sums

MEMORY = 64
INSIDE_MEMORY = 160
OVERALL_SHARE = 0.3
"""Of all steps' noise in the measure; by those inside fixations alone, too many cuts would bring on more."""
WARM_UP = 8
REFRESH = 4


@dataclass(slots=True)
class Place:
    """One sample, or the mean of several."""

    first_ns: int
    last_ns: int
    x_deg: float
    y_deg: float
    x_px: float
    y_px: float
    n: int = 1

    def add(self, other: Place) -> None:
        """Take another sample into the mean."""
        total = self.n + other.n
        self.x_deg = (self.x_deg * self.n + other.x_deg * other.n) / total
        self.y_deg = (self.y_deg * self.n + other.y_deg * other.n) / total
        self.x_px = (self.x_px * self.n + other.x_px * other.n) / total
        self.y_px = (self.y_px * self.n + other.y_px * other.n) / total
        self.n, self.last_ns = total, other.last_ns

    @property
    def time_s(self) -> float:
        """Its middle, in seconds."""
        return (self.first_ns + self.last_ns) / 2e9

    @property
    def spot(self) -> Spot:
        """When and where it is, as the segmentation takes it."""
        return Spot(self.time_s, self.x_deg, self.y_deg)

    def distance_deg(self, other: Place) -> float:
        """How far apart two places are."""
        return math.hypot(self.x_deg - other.x_deg, self.y_deg - other.y_deg)


@dataclass(frozen=True, slots=True)
class Settled:
    """The settled part of a fixation up to one place, as sums."""

    last: Place
    n_places: int
    sums: Sums
    n_samples: int
    sum_x_px: float
    sum_y_px: float


class OpenFixation:
    """A fixation that goes on; what was settled in the last `keep_ns` can be taken back."""

    def __init__(self, onset_ns: int, keep_ns: int) -> None:
        self.onset_ns = onset_ns
        self._keep_ns = keep_ns
        self._time_s = math.nan
        self._states: deque[Settled] = deque()

    @property
    def last(self) -> Place:
        """The newest place settled."""
        return self._states[-1].last

    @property
    def last_two(self) -> tuple[Place, Place] | None:
        """The two newest places settled, if there are two."""
        return (self._states[-2].last, self._states[-1].last) if len(self._states) > 1 else None

    def add(self, place: Place, weights: Weights) -> None:
        """Settle one more place."""
        if not self._states:
            self._time_s = place.time_s
            n, sums, samples, x, y = 0, NO_SUMS, 0, 0.0, 0.0
            own = weights.first(place.spot)
        else:
            old = self._states[-1]
            n, sums, samples, x, y = old.n_places, old.sums, old.n_samples, old.sum_x_px, old.sum_y_px
            own = weights.later(old.last.spot, place.spot)
        x, y = x + place.x_px * place.n, y + place.y_px * place.n
        self._states.append(Settled(place, n + 1, add_sums(sums, own), samples + place.n, x, y))
        while len(self._states) > 3 and self._states[1].last.last_ns < place.last_ns - self._keep_ns:
            self._states.popleft()

    def take_back(self, since_ns: int) -> bool:
        """Unsettle the places that end at `since_ns` or later; tell whether any is left."""
        while self._states and self._states[-1].last.last_ns >= since_ns:
            self._states.pop()
        return bool(self._states)

    def begun(self) -> Begun:
        """Give what the segmentation needs to go on."""
        now = self._states[-1]
        return Begun(now.n_places, now.sums, self._time_s, now.last.spot)

    def event(self, offset_ns: int) -> EventArray:
        """Close it: one row of EVENT_DTYPE."""
        now = self._states[-1]
        event = empty_events(1)
        event["kind"], event["n_samples"] = EventKind.FIXATION, now.n_samples
        event["onset_ns"], event["offset_ns"] = self.onset_ns, offset_ns
        event["x_px"], event["y_px"] = now.sum_x_px / now.n_samples, now.sum_y_px / now.n_samples
        return event


@dataclass(slots=True)
class RunningMeasures:
    """Rate and noise over the last 64 samples, renewed with every fourth place.

    Attributes
    ----------
    interval_s : float
        Median time between samples; NaN until eight were seen.
    usual_s : float
        Nine in ten samples come within this time of the one before.
    noise : Noise
        Of one place on one axis; until measured, the floor. Measured inside fixations as soon as enough was
        settled there.
    """

    interval_s: float = math.nan
    usual_s: float = math.nan
    noise: Noise = field(default_factory=lambda: Noise(NOISE_FLOOR_DEG))
    _steps_s: deque[float] = field(default_factory=lambda: deque(maxlen=MEMORY))
    _steps_deg: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=INSIDE_MEMORY))
    _pairs_deg: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=INSIDE_MEMORY))
    _inside_deg: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=INSIDE_MEMORY))
    _n_steps: int = 0
    _last: tuple[Place, float, float] | None = None

    @property
    def ready(self) -> bool:
        """Whether enough was seen to begin."""
        return self._n_steps >= WARM_UP

    @property
    def bridge_s(self) -> float:
        """Longest time without a sample that a fixation may span."""
        return GAP_S + (self.usual_s if math.isfinite(self.usual_s) else GAP_S)

    @property
    def place_s(self) -> float:
        """Usual time between places: as many samples as it takes to last 12.5 ms."""
        if not math.isfinite(self.interval_s):
            return self.interval_s
        return self.interval_s * max(1, math.ceil(BIN_S / self.interval_s - 1e-9))

    def add_time(self, step_s: float) -> None:
        """Count the time between two samples."""
        self._steps_s.append(step_s)

    def add_step(self, a: Place, b: Place) -> None:
        """Count the way between two places."""
        step = b.x_deg - a.x_deg, b.y_deg - a.y_deg
        self._steps_deg.append(step)
        if self._last is not None and self._last[0] is a:
            self._pairs_deg.append((*self._last[1:], *step))
        self._last = b, *step
        self._n_steps += 1
        if self._n_steps >= WARM_UP and self._n_steps % REFRESH == 0:
            self._renew()

    def add_inside(self, a: Place, b: Place, c: Place) -> None:
        """Count two ways in a row within one fixation."""
        self._inside_deg.append((b.x_deg - a.x_deg, b.y_deg - a.y_deg, c.x_deg - b.x_deg, c.y_deg - b.y_deg))

    def _renew(self) -> None:
        self.interval_s = float(np.median(self._steps_s))
        self.usual_s = float(np.quantile(self._steps_s, 0.9))
        inside, pairs = (np.array(d).reshape(-1, 2, 2) for d in (self._inside_deg, self._pairs_deg))
        overall, within = noise_at_first(np.array(self._steps_deg), pairs), noise_inside(inside)
        self.noise = overall if within is None else blend(overall, within)


def blend(overall: Noise, within: Noise) -> Noise:
    """Weigh the noise of all steps, too large by saccades, with that inside fixations, too small by cuts."""
    sd = overall.sd_deg**OVERALL_SHARE * within.sd_deg ** (1 - OVERALL_SHARE)
    return Noise(sd, OVERALL_SHARE * overall.carry + (1 - OVERALL_SHARE) * within.carry)


def is_spike(before: Place, middle: Place, after: Place, measures: RunningMeasures) -> bool:
    """Tell whether the middle place lies far from both neighbours while these lie together."""
    if after.time_s - before.time_s > SPIKE_SPAN_S:
        return False
    nearer = min(before.distance_deg(middle), middle.distance_deg(after))
    least = max(SPIKE_DEG, SPIKE_SIGMAS * measures.noise.step_deg)
    return nearer > least and before.distance_deg(after) < nearer / 2
