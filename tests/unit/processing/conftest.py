"""A scripted scanpath, sampled at any rate: the same places and times for every detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from gazelab.core.geometry import Screen

PLACES_PX = np.array([(400, 300), (1200, 320), (1000, 800), (500, 820), (960, 540), (300, 900)], float)
FIXATION_S = 0.8
SACCADE_S = 0.04


@dataclass(frozen=True, eq=False)
class Scanpath:
    """Six fixations of 760 ms with saccades of 40 ms between them, as sampled."""

    time_ns: np.ndarray
    x_px: np.ndarray
    y_px: np.ndarray
    screen: Screen

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.time_ns, self.x_px, self.y_px

    def lost(self, first_s: float, last_s: float) -> Scanpath:
        """The same with NaN between two times."""
        gone = (self.time_ns >= first_s * 1e9) & (self.time_ns <= last_s * 1e9)
        x, y = np.where(gone, np.nan, self.x_px), np.where(gone, np.nan, self.y_px)
        return Scanpath(self.time_ns, x, y, self.screen)


def place_at(time_s: np.ndarray) -> np.ndarray:
    """True gaze (n, 2) in px; a saccade is a smooth step of 40 ms that begins 20 ms before the change."""
    index = np.clip(np.floor((time_s + SACCADE_S / 2) / FIXATION_S).astype(int), 0, len(PLACES_PX) - 1)
    since = time_s - index * FIXATION_S + SACCADE_S / 2
    share = np.clip(since / SACCADE_S, 0, 1)
    share = share**3 * (10 - 15 * share + 6 * share**2)
    before = PLACES_PX[np.maximum(index - 1, 0)]
    return before + share[:, None] * (PLACES_PX[index] - before)


@pytest.fixture
def laptop() -> Screen:
    return Screen("laptop", 1920, 1080, 527.0, 296.0, 600.0)


@pytest.fixture
def scanpath(laptop: Screen) -> Callable[..., Scanpath]:
    """Sample the script: `scanpath(rate_hz, noise_px=3.5, times_s=None, seed=1)`."""

    def sample(rate_hz: float = 60.0, noise_px: float = 3.5, times_s=None, seed: int = 1) -> Scanpath:
        t = np.arange(0, len(PLACES_PX) * FIXATION_S, 1 / rate_hz) if times_s is None else np.asarray(times_s)
        noise = np.random.default_rng(seed).normal(0, noise_px, (len(t), 2))
        x, y = (place_at(t) + noise).T
        return Scanpath(np.round(t * 1e9).astype(np.int64), x, y, laptop)

    return sample
