"""From collected targets to a mapping, or to the reason why there is none; the verdict on a validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.checks import (
    check_collected,
    check_left_out,
    check_validation,
    missing_targets,
    suspect_targets,
)
from gazelab.calibration.collect import Collected, Timing
from gazelab.calibration.findings import Code, Finding, Limits
from gazelab.calibration.mapping import GazeMapping
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
    """

    mapping: GazeMapping | None = None
    refusal: Finding | None = None
    suspects: tuple[int, ...] = ()
    left_out_px: dict[int, float] = field(default_factory=dict)


def fit_collected(
    shown: Sequence[Collected], timing: Timing, limits: Limits, screen: Screen, fit_mapping: FitMapping
) -> Fitted:
    """Check the samples of the calibration targets, fit those that have data, and check the fit."""
    good = [c for c in shown if c.has_data(timing)]
    refusal = check_collected(shown, good, limits)
    if refusal:
        return Fitted(refusal=refusal)
    counts = [int(c.usable.sum()) for c in good]
    places = np.array([(c.target.x_px, c.target.y_px) for c in good])
    index = np.array([c.target.index for c in good])
    rows = np.concatenate([c.rows[c.usable] for c in good])
    try:
        mapping = fit_mapping(rows, np.repeat(places, counts, axis=0), np.repeat(index, counts), screen)
    except CalibrationError as fault:
        return Fitted(refusal=Finding(Code.FEW_TARGETS, str(fault), True))
    errors = np.array([mapping.left_out_px.get(i, np.nan) for i in index.tolist()])
    refusal, suspects = check_left_out(errors, places, limits)
    left_out_px = dict(zip(index.tolist(), errors.tolist(), strict=True))
    return Fitted(None if refusal else mapping, refusal, tuple(index[list(suspects)].tolist()), left_out_px)


def judge(
    validation: Validation, redo: Sequence[int], suspects: Sequence[int], limits: Limits
) -> list[Finding]:
    """Gather refusals and concerns once the validation is done."""
    return check_validation(validation, limits) + missing_targets(redo) + suspect_targets(suspects)
