"""The offline cut of noisy or coarse gaze: noise measured, segments cut, noise measured again inside."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from gazelab.processing.events_edges import Motion, trim
from gazelab.processing.events_noise import Noise, noise_at_first, noise_inside, pairs_inside, pairs_of
from gazelab.processing.events_samples import Samples
from gazelab.processing.events_segmentation import BIN_S, Segmentation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Piece = tuple[int, int]

ROUNDS = 2
"""How often the noise is measured again inside the fixations found; more changes nothing."""
MEASURED_PLACES = 4000
"""The noise of a long recording is measured on its first places, up to this many: 50 seconds or more."""


@dataclass(frozen=True, eq=False)
class Places:
    """One segment's samples, those faster than 80 Hz averaged to tame their noise.

    Attributes
    ----------
    time_s, x_deg, y_deg : numpy.ndarray, shape (n,)
    begins : numpy.ndarray, shape (n,), int64
        The first sample of each place, counted in the segment.
    counts : numpy.ndarray, shape (n,), int64
        Of its samples.
    """

    time_s: Floats
    x_deg: Floats
    y_deg: Floats
    begins: Ints
    counts: Ints

    @classmethod
    def of(cls, samples: Samples, segment: tuple[int, int]) -> Places:
        """Average the samples of one segment."""
        part = slice(*segment)
        t = (samples.time_ns[part] - samples.time_ns[segment[0]]) / 1e9
        begins = np.arange(len(t))
        if samples.interval_s < BIN_S:
            begins = np.flatnonzero(np.diff(np.floor(t / BIN_S), prepend=-1.0))
        counts = np.diff(begins, append=len(t))
        columns = (t, samples.x_deg[part], samples.y_deg[part])
        t, x, y = (np.add.reduceat(column, begins) / counts for column in columns)
        return cls(t, x, y, begins, counts)

    def head(self, n: int) -> Places:
        """Give the first `n` places."""
        return Places(self.time_s[:n], self.x_deg[:n], self.y_deg[:n], self.begins[:n], self.counts[:n])

    def steps(self) -> Floats:
        """Give the steps from each place to the next, shape (n - 1, 2), in degrees."""
        return np.stack([np.diff(self.x_deg), np.diff(self.y_deg)], axis=-1)

    def cut(self, noise: Noise, interval_s: float) -> list[Piece]:
        """Find the still pieces: (first, last), in places."""
        cut = Segmentation(noise, interval_s)
        for now, x, y in zip(self.time_s.tolist(), self.x_deg.tolist(), self.y_deg.tolist(), strict=True):
            cut.push(now, x, y)
        return cut.pieces(ended=True)[0]

    def in_samples(self, piece: Piece) -> Piece:
        """Turn a piece of places into one of samples of the segment."""
        first, last = piece
        return int(self.begins[first]), int(self.begins[last] + self.counts[last] - 1)


def still_pieces(samples: Samples) -> list[list[Piece]]:
    """Cut every segment into fixations.

    Returns
    -------
    list of list of (first, last)
        For each segment the positions in it, both inclusive; short ones not yet discarded.
    """
    places = [Places.of(samples, segment) for segment in samples.segments]
    interval_s = max(samples.interval_s, BIN_S)
    noise = place_noise(places, interval_s)
    out = []
    for part in places:
        motion = Motion.between(part.time_s, part.x_deg, part.y_deg, noise.step_deg)
        out.append([part.in_samples(piece) for piece in trim(part.cut(noise, interval_s), motion)])
    return out


def place_noise(places: list[Places], interval_s: float) -> Noise:
    """Measure the noise of places, first from all steps, then from those inside fixations."""
    before = accumulate((len(part.time_s) for part in places), initial=0)
    left = (MEASURED_PLACES - n for n in before)
    looked_at = [part.head(n) for part, n in zip(places, left, strict=False) if n > 0]
    steps = [part.steps() for part in looked_at]
    pairs = [pairs_of(s) for s in steps]
    noise = noise_at_first(np.concatenate([np.zeros((0, 2)), *steps]), _joined(pairs))
    for _ in range(ROUNDS):
        inside = [pairs_inside(s, p.cut(noise, interval_s)) for s, p in zip(steps, looked_at, strict=True)]
        noise = noise_inside(_joined(inside)) or noise
    return noise


def _joined(pairs: list[Floats]) -> Floats:
    return np.concatenate([np.zeros((0, 2, 2)), *pairs])
