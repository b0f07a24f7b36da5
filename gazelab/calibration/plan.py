"""What a calibration shows, and in which order: settled before it starts."""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum

import numpy as np

from gazelab.calibration import head_phase, pursuit
from gazelab.calibration.collect import Collector, TargetCollector, Timing
from gazelab.calibration.head_phase import HeadCollector, head_targets
from gazelab.calibration.pursuit import PursuitCollector
from gazelab.calibration.pursuit_path import PursuitPath
from gazelab.calibration.targets import Area, Target, TargetKind, calibration_targets, validation_targets
from gazelab.core.geometry import Screen


class Advance(StrEnum):
    """What makes the next target appear."""

    AUTO = "auto"
    SPACE = "space"


class Style(StrEnum):
    """How the screen is sampled: targets that stand, or one that moves."""

    POINTS = "points"
    PURSUIT = "pursuit"


class Part(StrEnum):
    """What the participant is at."""

    POINTS = "points"
    PURSUIT = "pursuit"
    HEAD = "head"
    VALIDATION = "validation"


PART_OF = {
    TargetKind.CALIBRATION: Part.POINTS,
    TargetKind.PURSUIT: Part.PURSUIT,
    TargetKind.HEAD: Part.HEAD,
    TargetKind.VALIDATION: Part.VALIDATION,
}


class Plan:
    """Targets of one calibration.

    Parameters
    ----------
    screen : Screen
    points : {5, 9, 13, 16}
        With a moving target: the number of places that its samples are sorted by.
    n_validation : int
    area : (left, top, width, height), optional
    seed : int
        Of the order of standing targets.
    style : Style
    head_phase : bool
        Add the movements of the head.

    Raises
    ------
    CalibrationError
        No such layout, or an area off the screen.
    """

    def __init__(
        self,
        screen: Screen,
        points: int,
        n_validation: int,
        area: Area | None,
        seed: int,
        style: Style,
        head_phase: bool,
    ) -> None:
        self.targets = calibration_targets(points, screen, area)
        self.validation_targets = validation_targets(n_validation, screen, area)
        self.head_targets = head_targets(screen, area) if head_phase else ()
        self.path = PursuitPath(screen, area) if style is Style.PURSUIT else None
        rng = np.random.default_rng(seed)
        self._order = [self.targets[i] for i in rng.permutation(len(self.targets))]
        self._held_out = [self.validation_targets[i] for i in rng.permutation(n_validation)]

    def to_collect(self, done: Container[Target]) -> list[Target]:
        """Give what is still to be shown before the fit, in order."""
        missing = [t for t in self._order if t not in done]
        if self.path is not None and len(missing) == len(self.targets):
            missing = [self.path.target]
        return missing + [t for t in self.head_targets if t not in done]

    def to_validate(self, done: Container[Target]) -> list[Target]:
        """Give the held-out targets that are still to be shown, in order."""
        return [t for t in self._held_out if t not in done]

    def collector(
        self, target: Target, timing: Timing, time_ns: int, settle_ns: int, by_key: bool
    ) -> Collector:
        """Make what gathers the samples of a target that appears at `time_ns`."""
        if target.kind is TargetKind.HEAD:
            return HeadCollector(target, timing, time_ns, by_key)
        if target.kind is TargetKind.PURSUIT and self.path is not None:
            return PursuitCollector(self.path, self.targets, timing, time_ns, settle_ns, by_key)
        return TargetCollector(target, timing, time_ns, settle_ns, by_key)


def instruction(target: Target | None) -> str:
    """Say what the participant is asked to do; "" where looking at the target is all."""
    if target is None:
        return ""
    if target.kind is TargetKind.HEAD:
        return head_phase.STEPS[target.index].instruction
    return pursuit.INSTRUCTION if target.kind is TargetKind.PURSUIT else ""
