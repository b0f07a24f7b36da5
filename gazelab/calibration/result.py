"""What a calibration came to, and whether a recording may begin on it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gazelab.calibration.collect import Collected
from gazelab.calibration.findings import Finding
from gazelab.calibration.head_box import HeadBox
from gazelab.calibration.head_phase import HeadPhase
from gazelab.calibration.mapping import GazeMapping
from gazelab.calibration.pursuit import PursuitRun
from gazelab.calibration.validation import Validation


class CalibrationState(StrEnum):
    """Where a calibration stands.

    REVIEW: usable, but with concerns; somebody has to accept them in writing, or redo.
    """

    NONE = "none"
    COLLECTING = "collecting"
    VALIDATING = "validating"
    REVIEW = "review"
    VALID = "valid"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationResult:
    """What a calibration came to, at any moment.

    Attributes
    ----------
    state : CalibrationState
    mapping : GazeMapping or None
        None unless the state is review or valid: a failed or cancelled calibration leaves nothing in force.
    validation : Validation or None
        Kept for a failed calibration too, so that it can be looked at.
    findings : tuple of Finding
        Refusals and concerns.
    redo : tuple of int
        Calibration targets without data, by index.
    suspects : tuple of int
        Calibration targets that contradict the others, by index.
    collected : tuple of Collected
        Of the calibration targets shown so far, by index.
    left_out_px : dict of int to float
        By index: the error on a target when it is left out of the fit.
    note : str
        What was written when concerns were accepted or a failure was overridden.
    head_box : HeadBox or None
        The head poses in which it holds.
    head : HeadPhase or None
        What the head's part gave; None without one.
    run : PursuitRun or None
        How the run of a moving target went; None with standing ones.
    """

    state: CalibrationState
    mapping: GazeMapping | None
    validation: Validation | None
    findings: tuple[Finding, ...]
    redo: tuple[int, ...]
    suspects: tuple[int, ...]
    collected: tuple[Collected, ...]
    left_out_px: dict[int, float]
    note: str
    head_box: HeadBox | None = None
    head: HeadPhase | None = None
    run: PursuitRun | None = None

    @property
    def calibrated(self) -> bool:
        """What a recording's header says: False for an overridden failure."""
        return self.state is CalibrationState.VALID

    @property
    def may_record(self) -> bool:
        """The gate: valid, or a failure overridden in writing."""
        return self.calibrated or (self.state is CalibrationState.FAILED and bool(self.note))

    def to_mapping(self) -> dict[str, Any]:
        """Give what a profile keeps beside the mapping and the validation, as JSON-ready values."""
        return {
            "state": self.state.value,
            "findings": [
                {"code": f.code.value, "message": f.message, "refuses": f.refuses} for f in self.findings
            ],
            "redo": list(self.redo),
            "suspects": list(self.suspects),
            "note": self.note,
            "targets": [self._target(c) for c in self.collected],
            "pursuit": None if self.run is None else _known(asdict(self.run)),
            "head_phase": None if self.head is None else self.head.to_mapping(),
        }

    def _target(self, c: Collected) -> dict[str, Any]:
        values = {
            "index": c.target.index,
            "x_px": c.target.x_px,
            "y_px": c.target.y_px,
            "n_seen": c.n_seen,
            "n_usable": c.n_usable,
            "rested": c.rested,
            "left_out_px": self.left_out_px.get(c.target.index),
        }
        return _known(values)


def _known(values: dict[str, Any]) -> dict[str, Any]:
    """Write None where nothing was measured: JSON has no NaN, and 0 would be a lie."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
