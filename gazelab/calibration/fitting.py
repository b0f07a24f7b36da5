"""From collected targets to a mapping, or to the reason why there is none; the verdict on a validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.checks import (
    check_collected,
    check_left_out,
    check_pursuit,
    check_validation,
    missing_targets,
    suspect_targets,
)
from gazelab.calibration.collect import Collected, Timing
from gazelab.calibration.findings import Code, Finding, Limits
from gazelab.calibration.head_box import HeadBox
from gazelab.calibration.head_phase import FIRST_ID, STRETCHES, HeadPhase, judge_moves
from gazelab.calibration.mapping import GazeMapping
from gazelab.calibration.pursuit import PursuitRun
from gazelab.calibration.targets import TargetKind
from gazelab.calibration.validation import Validation
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen

FitMapping = Callable[[NDArray[np.void], NDArray[np.float64], NDArray[np.int64], Screen], GazeMapping]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What came of a fit.

    Attributes
    ----------
    mapping : GazeMapping or None
        None where the fit was refused.
    refusal : Finding or None
    suspects : tuple of int
        Targets that contradict the others, by index.
    left_out_px : dict of int to float
        By index: the error on a target when it is left out of the fit.
    head : HeadPhase or None
        What the head's part gave; None without one.
    head_box : HeadBox or None
        Of the samples of the fit.
    """

    mapping: GazeMapping | None = None
    refusal: Finding | None = None
    suspects: tuple[int, ...] = ()
    left_out_px: dict[int, float] = field(default_factory=dict)
    head: HeadPhase | None = None
    head_box: HeadBox | None = None


def fit_collected(
    shown: Sequence[Collected],
    timing: Timing,
    limits: Limits,
    screen: Screen,
    fit_mapping: FitMapping,
    moves: Sequence[Collected] = (),
    run: PursuitRun | None = None,
) -> Fitted:
    """Check the samples of the calibration targets, fit those that have data, and check the fit.

    Parameters
    ----------
    shown : sequence of Collected
        Of the calibration targets.
    timing : Timing
    limits : Limits
    screen : Screen
    fit_mapping : callable
    moves : sequence of Collected
        Of the head's part, if there was one; what can't be used of it is left out and said.
    run : PursuitRun, optional
        Where the target moved: how that went.
    """
    good = [c for c in shown if c.has_data(timing)]
    refusal = (check_pursuit(run, limits) if run else None) or check_collected(shown, good, limits)
    if refusal:
        return Fitted(refusal=refusal)
    head = judge_moves(moves, limits) if moves else None
    parts = [*good, *(c for c in (head.moves if head else ()) if c.has_data(timing))]
    index = np.array([c.target.index for c in good])
    names = np.concatenate([_names(c) for c in parts])
    rows = np.concatenate([c.rows[c.usable] for c in parts])
    try:
        mapping = fit_mapping(rows, np.concatenate([c.usable_places() for c in parts]), names, screen)
    except CalibrationError as fault:
        return Fitted(refusal=Finding(Code.FEW_TARGETS, str(fault), True))
    places = np.array([(c.target.x_px, c.target.y_px) for c in good])
    errors = np.array([mapping.left_out_px.get(i, np.nan) for i in index.tolist()])
    refusal, suspects = check_left_out(errors, places, limits)
    return Fitted(
        mapping=None if refusal else mapping,
        refusal=refusal,
        suspects=tuple(index[list(suspects)].tolist()),
        left_out_px=dict(zip(index.tolist(), errors.tolist(), strict=True)),
        head=head,
        head_box=HeadBox.of(rows),
    )


def _names(c: Collected) -> NDArray[np.int64]:
    """Give the usable rows the number of what is left out together: a target, or a stretch of a movement."""
    n = int(c.usable.sum())
    if c.target.kind is not TargetKind.HEAD:
        return np.full(n, c.target.index, np.int64)
    return FIRST_ID + STRETCHES * c.target.index + np.arange(n) * STRETCHES // max(n, 1)


def judge(validation: Validation, redo: Sequence[int], fitted: Fitted, limits: Limits) -> list[Finding]:
    """Gather refusals and concerns once the validation is done."""
    found = check_validation(validation, limits) + missing_targets(redo) + suspect_targets(fitted.suspects)
    if fitted.head is not None and fitted.head.concern is not None:
        found.append(fitted.head.concern)
    return found
