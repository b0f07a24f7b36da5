"""What there is to show of a calibration, whether it was made just now or comes from disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gazelab.calibration.error_map import ErrorMap, PlacedError, error_map, left_out_deg
from gazelab.calibration.result import CalibrationResult
from gazelab.calibration.targets import Target
from gazelab.calibration.validation import Validation
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen

if TYPE_CHECKING:
    from gazelab.calibration.profile import Profile

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """One calibration target.

    Attributes
    ----------
    index : int
        Counted from 0; people are told `index + 1`.
    x_px, y_px : float
    left_out_px, left_out_deg : float
        Error when it is left out of the fit; NaN if unknown.
    redo : bool
        Without data, or in contradiction to the others.
    """

    index: int
    x_px: float
    y_px: float
    left_out_px: float = NAN
    left_out_deg: float = NAN
    redo: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """A calibration's targets, validation and error map.

    Attributes
    ----------
    screen : Screen
    targets : tuple of ShownTarget
    validation : Validation or None
        None before there is one.
    concerns : tuple of str
        Sentences.
    note : str
        Why it was accepted all the same.
    """

    screen: Screen
    targets: tuple[ShownTarget, ...]
    validation: Validation | None = None
    concerns: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, screen: Screen, targets: Sequence[Target], result: CalibrationResult | None) -> Overview:
        """Show a result; None: the targets alone."""
        if result is None:
            return cls(screen, tuple(ShownTarget(t.index, t.x_px, t.y_px) for t in targets))
        redo = {*result.redo, *result.suspects}
        shown = (
            _shown(screen, t.index, t.x_px, t.y_px, result.left_out_px.get(t.index), t.index in redo)
            for t in targets
        )
        concerns = tuple(f.message for f in result.findings)
        return cls(screen, tuple(shown), result.validation, concerns, result.note)

    @classmethod
    def of_profile(cls, profile: Profile) -> Overview:
        """Show a profile, by what its record keeps.

        Raises
        ------
        CalibrationError
            The record isn't one that gazelab wrote.
        """
        record, screen = profile.record, profile.screen
        try:
            redo = {*record.get("redo", ()), *record.get("suspects", ())}
            shown = tuple(
                _shown(screen, int(t["index"]), t["x_px"], t["y_px"], t["left_out_px"], t["index"] in redo)
                for t in record.get("targets", ())
            )
            concerns = tuple(str(f["message"]) for f in record.get("findings", ()))
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise CalibrationError(
                f"the record of the calibration is broken ({fault!r}).", todo="Calibrate again."
            ) from fault
        return cls(screen, shown, profile.validation, concerns, str(record.get("note", "")))

    def error_map(self) -> ErrorMap:
        """Average over regions what is known of targets that a fit hasn't seen."""
        held_out = () if self.validation is None else self.validation.targets
        errors = [PlacedError(t.x_px, t.y_px, t.accuracy_px, t.accuracy_deg, True) for t in held_out]
        errors += [PlacedError(t.x_px, t.y_px, t.left_out_px, t.left_out_deg, False) for t in self.targets]
        return error_map(self.screen, errors)


def _shown(
    screen: Screen, index: int, x_px: float, y_px: float, left_out_px: float | None, redo: bool
) -> ShownTarget:
    error_px = NAN if left_out_px is None else float(left_out_px)
    x_px, y_px = float(x_px), float(y_px)
    return ShownTarget(index, x_px, y_px, error_px, left_out_deg(screen, x_px, y_px, error_px), redo)
