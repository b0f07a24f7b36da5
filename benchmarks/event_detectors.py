"""The contestants of events.py: ours, plain ones written out here, and those of others that are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from gazelab.core.geometry import Screen
from gazelab.processing.detectors import DETECTORS
from gazelab.processing.events import OnlineFixations, detect_fixations

Recording = tuple[np.ndarray, np.ndarray, np.ndarray]
Interval = tuple[int, int]

FAST_DEG_S, LEAST_NS = 30.0, 60_000_000
ANY_SCREEN = Screen | Mapping[str, Any]


class Online(Protocol):
    """What finds fixations while samples arrive."""

    def push(self, time_ns: int, x_px: float, y_px: float) -> list[Interval]: ...

    def close(self) -> list[Interval]: ...


def screen_of(given: ANY_SCREEN) -> Screen:
    return given if isinstance(given, Screen) else Screen.from_mapping(given)


def plain_ivt(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN) -> np.ndarray:
    """Speed since the sample before, 30 degrees a second, at least 60 ms; nothing else."""
    x, y = screen_of(screen).to_deg(x_px, y_px)
    speed = np.hypot(np.diff(x), np.diff(y)) / (np.diff(time_ns) / 1e9)
    slow = np.concatenate([[0], np.concatenate([[False], speed < FAST_DEG_S]).astype(np.int8), [0]])
    first, last = np.flatnonzero(np.diff(slow) == 1), np.flatnonzero(np.diff(slow) == -1) - 1
    out = np.stack([time_ns[first], time_ns[last]], -1)
    return out[out[:, 1] - out[:, 0] >= LEAST_NS]


class CausalIvt:
    """The same while samples arrive: a fixation is given out with the first fast or lost sample after it."""

    def __init__(self, screen: ANY_SCREEN) -> None:
        self._screen = screen_of(screen)
        self._before: tuple[int, float, float] | None = None
        self._onset: int | None = None

    def push(self, time_ns: int, x_px: float, y_px: float) -> list[Interval]:
        x, y = (float(v) for v in self._screen.to_deg(x_px, y_px))
        before, self._before = self._before, (time_ns, x, y)
        if before is None:
            return []
        step_s = (time_ns - before[0]) / 1e9
        if np.hypot(x - before[1], y - before[2]) < FAST_DEG_S * step_s:
            self._onset = before[0] if self._onset is None else self._onset
            return []
        return self._end(before[0])

    def close(self) -> list[Interval]:
        return self._end(self._before[0]) if self._before is not None else []

    def _end(self, offset: int) -> list[Interval]:
        onset, self._onset = self._onset, None
        return [(onset, offset)] if onset is not None and offset - onset >= LEAST_NS else []


def run_online(make: Callable[[ANY_SCREEN], Online]) -> Callable[..., np.ndarray]:
    def detect(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN) -> np.ndarray:
        detector, found = make(screen), []
        for row in zip(time_ns.tolist(), x_px.tolist(), y_px.tolist(), strict=True):
            found += detector.push(*row)
        return np.array(found + detector.close(), np.int64).reshape(-1, 2)

    return detect


def blind(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN) -> np.ndarray:
    start = np.arange(time_ns[0], time_ns[-1], 300_000_000)
    return np.stack([start, start + 299_999_999], -1)


def by_name(name: str) -> Callable[..., np.ndarray]:
    """Take a detector of others through gazelab's adapter: even gaze in, the package's own defaults."""

    def detect(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN) -> np.ndarray:
        events = DETECTORS[name].find(
            time_ns, np.asarray(x_px, float), np.asarray(y_px, float), screen_of(screen)
        )
        return np.stack([events["onset_ns"], events["offset_ns"]], -1)

    return detect


def pymovements_ivt(
    time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN
) -> np.ndarray:
    """Its velocities (smooth) and its I-VT with 30 degrees a second and 60 ms."""
    times, velocities = _velocities(time_ns, x_px, y_px, screen)
    frame = _ivt(times, velocities).frame
    return np.stack([frame["onset"].to_numpy(), frame["offset"].to_numpy()], -1).reshape(-1, 2) * 1_000_000


def pymovements_cost(
    recording: Recording, screen: ANY_SCREEN
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Give its work from screen px on, and its I-VT alone with the velocities given."""
    times, velocities = _velocities(*recording, screen)
    return lambda: _ivt(*_velocities(*recording, screen)), lambda: _ivt(times, velocities)


def _velocities(
    time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN
) -> tuple[np.ndarray, np.ndarray]:
    from pymovements.transforms.numpy import pos2vel

    x, y = screen_of(screen).to_deg(x_px, y_px)
    rate_hz = 1e9 / float(np.median(np.diff(time_ns)))
    return time_ns / 1e6, pos2vel(np.stack([x, y], -1), rate_hz, "smooth")


def _ivt(times_ms: np.ndarray, velocities: np.ndarray) -> Any:
    from pymovements.events.detection import ivt

    return ivt(velocities, timesteps=times_ms, minimum_duration=60, velocity_threshold=FAST_DEG_S)


def ours(time_ns: np.ndarray, x_px: np.ndarray, y_px: np.ndarray, screen: ANY_SCREEN) -> np.ndarray:
    return detect_fixations(time_ns, x_px, y_px, screen)


# Name: (what must be installed, the detector).
OFFLINE: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
    "gazelab offline": ("", ours),
    "plain I-VT": ("", plain_ivt),
    "pymovements ivt": ("pymovements", pymovements_ivt),
    "I2MC": ("I2MC", by_name("i2mc")),
    "REMoDNaV": ("remodnav", by_name("remodnav")),
    "blind": ("", blind),
}
ONLINE: dict[str, Callable[[ANY_SCREEN], Online]] = {
    "gazelab online": OnlineFixations,
    "causal I-VT": CausalIvt,
}


def there(
    contestants: dict[str, tuple[str, Callable[..., np.ndarray]]],
) -> dict[str, Callable[..., np.ndarray]]:
    """Keep those whose package is installed."""
    return {
        name: detect
        for name, (package, detect) in contestants.items()
        if not package or importlib.util.find_spec(package) is not None
    }
