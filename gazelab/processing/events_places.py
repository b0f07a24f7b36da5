"""What the online detector keeps: places (samples or their means), the open fixation, running measures."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from gazelab.core.gaze import EventArray, EventKind, empty_events
from gazelab.processing.events_samples import (
    GAP_S,
    MAD_TO_SD,
    SPIKE_DEG,
    SPIKE_SIGMAS,
    SPIKE_SPAN_S,
)
from gazelab.processing.events_segmentation import NOISE_FLOOR_DEG, Begun

MEMORY = 64
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

    def distance_deg(self, other: Place) -> float:
        """How far apart two places are."""
        return float(np.hypot(self.x_deg - other.x_deg, self.y_deg - other.y_deg))


@dataclass(slots=True)
class OpenFixation:
    """The settled part of a fixation that goes on, as sums."""

    onset_ns: int
    time_s: float = float("nan")
    n_places: int = 0
    sum_x: float = 0.0
    sum_y: float = 0.0
    sum_sq: float = 0.0
    n_samples: int = 0
    sum_x_px: float = 0.0
    sum_y_px: float = 0.0

    def add(self, place: Place) -> None:
        """Settle one more place."""
        if not self.n_places:
            self.time_s = place.time_s
        self.n_places += 1
        self.sum_x += place.x_deg
        self.sum_y += place.y_deg
        self.sum_sq += place.x_deg**2 + place.y_deg**2
        self.n_samples += place.n
        self.sum_x_px += place.x_px * place.n
        self.sum_y_px += place.y_px * place.n

    def begun(self) -> Begun:
        """Give what the segmentation needs to go on."""
        return Begun(self.n_places, self.sum_x, self.sum_y, self.sum_sq, self.time_s)

    def event(self, offset_ns: int) -> EventArray:
        """Close it: one row of EVENT_DTYPE."""
        event = empty_events(1)
        event["kind"], event["n_samples"] = EventKind.FIXATION, self.n_samples
        event["onset_ns"], event["offset_ns"] = self.onset_ns, offset_ns
        event["x_px"], event["y_px"] = self.sum_x_px / self.n_samples, self.sum_y_px / self.n_samples
        return event


@dataclass(slots=True)
class RunningMeasures:
    """Rate and noise over the last 64 samples, renewed with every fourth.

    Attributes
    ----------
    interval_s : float
        Median time between samples; NaN until eight were seen.
    usual_s : float
        Nine in ten samples come within this time of the one before.
    noise_deg : float
        Robust SD of one place on one axis; until measured, the floor.
    """

    interval_s: float = float("nan")
    usual_s: float = float("nan")
    noise_deg: float = NOISE_FLOOR_DEG
    _steps_s: deque[float] = field(default_factory=lambda: deque(maxlen=MEMORY))
    _jumps_deg: deque[float] = field(default_factory=lambda: deque(maxlen=2 * MEMORY))
    _n_jumps: int = 0

    @property
    def ready(self) -> bool:
        """Whether enough was seen to begin."""
        return self._n_jumps >= WARM_UP

    @property
    def bridge_s(self) -> float:
        """Longest time without a sample that a fixation may span."""
        return GAP_S + (self.usual_s if np.isfinite(self.usual_s) else GAP_S)

    def add_step(self, step_s: float) -> None:
        """Count the time between two samples."""
        self._steps_s.append(step_s)

    def add_jump(self, a: Place, b: Place) -> None:
        """Count the way between two places."""
        self._jumps_deg.append(abs(a.x_deg - b.x_deg))
        self._jumps_deg.append(abs(a.y_deg - b.y_deg))
        self._n_jumps += 1
        if self._n_jumps >= WARM_UP and self._n_jumps % REFRESH == 0:
            self.interval_s = float(np.median(self._steps_s))
            self.usual_s = float(np.quantile(self._steps_s, 0.9))
            self.noise_deg = float(MAD_TO_SD * np.median(self._jumps_deg) / np.sqrt(2))


def is_spike(before: Place, middle: Place, after: Place, measures: RunningMeasures) -> bool:
    """Tell whether the middle place lies far from both neighbours while these lie together."""
    if after.time_s - before.time_s > SPIKE_SPAN_S:
        return False
    nearer = min(before.distance_deg(middle), middle.distance_deg(after))
    least = max(SPIKE_DEG, SPIKE_SIGMAS * measures.noise_deg)
    return nearer > least and before.distance_deg(after) < nearer / 2
