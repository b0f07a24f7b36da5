"""Learning rate and loss weights as a function of the share of the training time that has passed."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Warm-up, then a cosine to zero; reading first, then answers with reading as a side task.

    Reading itself begins with what is drawn at a cell and goes on to what belongs to it.

    Shares are of the whole training time, so the schedule ends when the time does, however fast the
    machine is.
    """

    lr: float = 4e-3
    warmup_share: float = 0.02
    reading_share: float = 0.125
    fetched_from_share: float = 0.08
    fetched_weight_start: float = 0.1
    reading_weight_start: float = 1.0
    reading_weight_end: float = 0.1

    def lr_at(self, progress: float) -> float:
        """Learning rate at a progress of 0..1."""
        if progress < self.warmup_share:
            return self.lr * (0.05 + 0.95 * progress / self.warmup_share)
        done = (progress - self.warmup_share) / (1 - self.warmup_share)
        return self.lr * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def answers_at(self, progress: float) -> bool:
        """Whether answers are trained yet."""
        return progress >= self.reading_share

    def fetched_weight_at(self, progress: float) -> float:
        """Weight, among the reading targets, of what is not drawn at the cell itself."""
        return self.fetched_weight_start if progress < self.fetched_from_share else 1.0

    def reading_weight_at(self, progress: float) -> float:
        """Weight of the reading loss beside the answers' weight of 1."""
        done = (progress - self.reading_share) / (1 - self.reading_share)
        fallen = min(1.0, max(0.0, 2 * done))
        return self.reading_weight_start + fallen * (self.reading_weight_end - self.reading_weight_start)
