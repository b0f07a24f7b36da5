"""Learning rate by steps and the clock, and loss weights by steps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Warm-up, a long stable phase, then a straight fall to zero (WSD, Hu et al. 2024, MiniCPM).

    The stable phase can be prolonged: a run that was stopped before the fall, or one whose time is
    raised, goes on as if it had been planned so. The fall takes the last `decay_share` of the time.

    Letters come first, and only the stem is trained; from `cells_from_step` on, cells are read too: what is
    drawn at a cell first, and after `fetched_from_step` what belongs to it;
    after `answers_from_step` answers are asked; after `reading_falls_from_step` reading becomes a
    side task. Steps, not shares of the time, so that a longer run does not read longer.
    """

    lr: float = 2e-3
    warmup_steps: int = 60
    decay_share: float = 0.3
    cells_from_step: int = 600
    fetched_from_step: int = 900
    answers_from_step: int = 1200
    fetched_weight_start: float = 0.1
    reading_weight_start: float = 1.0
    reading_weight_end: float = 0.15
    reading_falls_from_step: int = 2500
    reading_falls_steps: int = 1000
    line_weight: float = 0.5
    look_weight: float = 0.1

    def lr_at(self, steps: int, progress: float) -> float:
        """Learning rate after so many steps of this run, with a share of 0..1 of its time gone."""
        warm = min(1.0, (steps + 1) / max(1, self.warmup_steps))
        left = (1.0 - progress) / self.decay_share
        return self.lr * min(warm, max(0.0, left))

    def cells_at(self, step: int) -> bool:
        """Whether cells are read yet, and not only letters."""
        return step >= self.cells_from_step

    def answers_at(self, step: int) -> bool:
        """Whether answers are trained yet."""
        return step >= self.answers_from_step

    def fetched_weight_at(self, step: int) -> float:
        """Weight, among the reading targets, of what is not drawn at the cell itself."""
        return self.fetched_weight_start if step < self.fetched_from_step else 1.0

    def reading_weight_at(self, step: int) -> float:
        """Weight of the reading losses beside the answers' weight of 1."""
        done = (step - self.reading_falls_from_step) / max(1, self.reading_falls_steps)
        fallen = min(1.0, max(0.0, done))
        return self.reading_weight_start + fallen * (self.reading_weight_end - self.reading_weight_start)
