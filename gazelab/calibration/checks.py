"""The checks of a calibration: of its samples before the fit, of the fit, and of the validation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.collect import Collected, iris_place
from gazelab.calibration.findings import Code, Finding, Limits
from gazelab.calibration.pursuit import PursuitRun
from gazelab.calibration.validation import Validation
from gazelab.core.geometry import Screen


def check_collected(
    collected: Sequence[Collected], with_data: Sequence[Collected], limits: Limits
) -> Finding | None:
    """Look at the samples before a fit; the first fault is the answer.

    Parameters
    ----------
    collected : sequence of Collected
        All calibration targets that were shown.
    with_data : sequence of Collected
        Those with enough usable samples.

    Returns
    -------
    Finding or None
        Always a refusing one.
    """
    share = float(np.mean([c.n_usable / c.n_seen if c.n_seen else 0.0 for c in collected]))
    if share < limits.min_valid_share:
        return _few_valid(share)
    needed = max(4, int(np.ceil(limits.min_target_share * len(collected))))
    if len(with_data) < needed:
        return Finding(
            Code.FEW_TARGETS,
            f"Only {len(with_data)} of {len(collected)} targets have data; {needed} are needed.",
            True,
        )
    places = np.array([np.median(iris_place(c.rows[c.usable]), axis=0) for c in with_data])
    spread = float(np.hypot(*places.std(0)))
    return _constant(spread) if spread < limits.min_iris_spread else None


def check_pursuit(run: PursuitRun, limits: Limits) -> Finding | None:
    """Look at the run of a moving target; the first fault is the answer, and refuses."""
    share = run.n_open / run.n_seen if run.n_seen else 0.0
    if share < limits.min_valid_share:
        return _few_valid(share)
    if run.iris_spread < limits.min_iris_spread:
        return _constant(run.iris_spread)
    followed = run.n_followed / run.n_open
    if followed < limits.min_followed_share:
        text = (
            f"The eyes followed the moving dot in only {followed:.0%} of the samples. Try again, or calibrate"
            " with dots that stand."
        )
        return Finding(Code.NOT_FOLLOWED, text, True)
    return None


def _few_valid(share: float) -> Finding:
    text = (
        f"Only {share:.0%} of the samples show open eyes. Check the light, the camera and whether glasses"
        " mirror the screen."
    )
    return Finding(Code.FEW_VALID, text, True)


def _constant(spread: float) -> Finding:
    text = (
        f"The eyes moved by only {spread:.3f} eye widths over all targets. Either the targets weren't looked"
        " at, or the system alters the picture: switch off eye-contact correction, auto-framing and other"
        " camera effects."
    )
    return Finding(Code.CONSTANT, text, True)


def check_left_out(
    error_px: NDArray[np.float64], targets_px: NDArray[np.float64], limits: Limits
) -> tuple[Finding | None, tuple[int, ...]]:
    """Look at the errors on targets that were left out of the fit.

    Parameters
    ----------
    error_px : numpy.ndarray, shape (n,)
        Each target's left-out error.
    targets_px : numpy.ndarray, shape (n, 2)

    Returns
    -------
    finding : Finding or None
        Refusing, if the error is no better than chance.
    suspects : tuple of int
        Positions of targets with a much larger error than the others. A corner left out is extrapolated to,
        so its error must also be over half of what guessing gives.
    """
    n = len(targets_px)
    # The mean of the other targets lies n / (n - 1) times as far away as the mean of all.
    chance_px = np.median(np.hypot(*(targets_px - targets_px.mean(0)).T)) * n / (n - 1)
    middle_px = np.nanmedian(error_px)
    suspects = np.flatnonzero(error_px > max(limits.suspect_ratio * middle_px, 0.5 * float(chance_px)))
    if middle_px > limits.chance_ratio * chance_px:
        return Finding(
            Code.UNRELATED,
            f"The gaze doesn't follow the targets: on targets left out of the fit the error is"
            f" {middle_px:.0f} px, and always guessing their middle gives {chance_px:.0f} px. Look at each"
            " target until it goes on.",
            True,
        ), ()
    return None, tuple(int(i) for i in suspects)


def check_validation(result: Validation, limits: Limits) -> list[Finding]:
    """Look at the held-out validation targets."""
    if result.n_with_data < 3:
        return [
            Finding(
                Code.NO_VALIDATION,
                f"Only {result.n_with_data} of {len(result.targets)} validation targets have data; 3 are"
                " needed.",
                True,
            )
        ]
    if result.accuracy_px > limits.chance_ratio * result.chance_px:
        return [
            Finding(
                Code.FAILED_VALIDATION,
                f"On the validation targets the error is {result.accuracy_px:.0f} px, and always guessing the"
                f" middle of the screen gives {result.chance_px:.0f} px.",
                True,
            )
        ]
    return _concerns(result, limits)


def _concerns(result: Validation, limits: Limits) -> list[Finding]:
    found = []
    for axis, slope in (("horizontally", result.slope_x), ("vertically", result.slope_y)):
        if slope < limits.min_slope:
            text = (
                f"Gaze is pulled to the centre {axis}: slope {slope:.2f} (edges are missed by"
                f" {result.edge_accuracy_px:.0f} px)."
            )
            found.append(Finding(Code.SHRINK, text, False))
    too_far = _too_far(result.accuracy_deg, result.accuracy_px, result, limits)
    if too_far:
        found.append(Finding(Code.INACCURATE, f"The accuracy is {too_far}.", False))
    else:
        found += _far_targets(result, limits)
    if result.data_loss > limits.max_loss:
        found.append(Finding(Code.LOSS, f"{result.data_loss:.0%} of the samples were lost.", False))
    return found


def _too_far(error_deg: float, error_px: float, result: Validation, limits: Limits) -> str:
    """Say how large an error over the limit is; "" for one within it."""
    if np.isfinite(error_deg):
        return f"{error_deg:.1f} degrees" if error_deg > limits.max_accuracy_deg else ""
    limit_px = limits.max_accuracy_share * result.screen_width_px
    return f"{error_px:.0f} px" if error_px > limit_px else ""


def _far_targets(result: Validation, limits: Limits) -> list[Finding]:
    """Name the validation targets that a good mean hides, counted from 1."""
    far = {t.index: _too_far(t.accuracy_deg, t.accuracy_px, result, limits) for t in result.targets}
    names = ", ".join(f"V{index + 1} ({error})" for index, error in sorted(far.items()) if error)
    if not names:
        return []
    text = f"The gaze is far off at {names}. If it wasn't looked at there, validate again."
    return [Finding(Code.FAR_TARGETS, text, False)]


def screen_change(old: Screen, new: Screen) -> Finding | None:
    """Refuse another screen, or another size of it, than the calibration was begun on."""
    if (new.name, new.width_px, new.height_px) == (old.name, old.width_px, old.height_px):
        return None
    text = (
        f"The screen changed from {old.name}, {old.width_px} x {old.height_px} px, to {new.name},"
        f" {new.width_px} x {new.height_px} px. Calibrate again."
    )
    return Finding(Code.SCREEN_CHANGED, text, True)


def missing_targets(redo: Sequence[int]) -> list[Finding]:
    """Name the calibration targets without data, counted from 1."""
    if not redo:
        return []
    names = ", ".join(str(i + 1) for i in redo)
    text = f"No data on target {names}; the others were used. Redo it."
    return [Finding(Code.MISSING_TARGETS, text, False)]


def suspect_targets(suspects: Sequence[int]) -> list[Finding]:
    """Name the calibration targets that contradict the others, counted from 1."""
    if not suspects:
        return []
    names = ", ".join(str(i + 1) for i in suspects)
    text = f"Target {names} contradicts the others: it may not have been looked at. Redo it."
    return [Finding(Code.SUSPECT_TARGETS, text, False)]
