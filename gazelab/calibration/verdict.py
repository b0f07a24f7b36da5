"""What came of a calibration's samples so far: the fit, the validation, the findings and their acceptance."""

from __future__ import annotations

from collections.abc import Sequence

from gazelab.calibration.collect import Collected, Timing
from gazelab.calibration.findings import Finding, Limits
from gazelab.calibration.fitting import FitMapping, Fitted, fit_collected, judge
from gazelab.calibration.pursuit import PursuitRun
from gazelab.calibration.result import CalibrationState
from gazelab.calibration.validation import Validation, validate
from gazelab.core.geometry import Screen


class Verdict:
    """Fit and judgement of one procedure; samples are given, states come back.

    Parameters
    ----------
    screen : Screen
    timing : Timing
    limits : Limits
    fit_mapping : callable
    """

    def __init__(self, screen: Screen, timing: Timing, limits: Limits, fit_mapping: FitMapping) -> None:
        self._screen, self._timing, self._limits, self._fit_mapping = screen, timing, limits, fit_mapping
        self.drop()

    def drop(self) -> None:
        """Forget the fit and all that rests on it."""
        self.fitted = Fitted()
        self.drop_validation()

    def drop_validation(self) -> None:
        """Forget the validation and what was said of it."""
        self.validation: Validation | None = None
        self.findings: list[Finding] = []
        self.note = ""

    def fit(self, shown: Sequence[Collected], moves: Sequence[Collected], run: PursuitRun | None) -> bool:
        """Fit the samples; tell whether there is a mapping, else the reason is in `fitted.refusal`."""
        self.fitted = fit_collected(
            shown, self._timing, self._limits, self._screen, self._fit_mapping, moves, run
        )
        return self.fitted.mapping is not None

    def judge(self, held_out: Sequence[Collected], redo: Sequence[int]) -> CalibrationState:
        """Validate on held-out targets, and say where that leaves the calibration.

        Parameters
        ----------
        held_out : sequence of Collected
            Of the validation targets.
        redo : sequence of int
            Calibration targets without data.
        """
        if self.fitted.mapping is None:
            raise RuntimeError("a validation without a mapping")
        self.validation = validate(self.fitted.mapping, held_out, self._screen, self._timing.min_samples)
        self.findings = judge(self.validation, redo, self.fitted, self._limits)
        if any(f.refuses for f in self.findings):
            return CalibrationState.FAILED
        return CalibrationState.REVIEW if self.findings else CalibrationState.VALID
