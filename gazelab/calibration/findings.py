"""What can be wrong with a calibration, and from which figure on it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """One name for each finding, for translation and for files."""

    FEW_VALID = "few-valid-samples"
    FEW_TARGETS = "too-few-targets"
    CONSTANT = "constant-gaze"
    UNRELATED = "gaze-does-not-follow-targets"
    NO_VALIDATION = "no-validation-data"
    FAILED_VALIDATION = "validation-no-better-than-chance"
    SCREEN_CHANGED = "screen-changed"
    MISSING_TARGETS = "targets-without-data"
    SUSPECT_TARGETS = "suspect-targets"
    SHRINK = "gaze-pulled-to-the-centre"
    INACCURATE = "low-accuracy"
    FAR_TARGETS = "validation-targets-far-off"
    LOSS = "high-data-loss"
    NOT_FOLLOWED = "moving-target-not-followed"
    HEAD_STILL = "head-did-not-move"
    HEAD_GAZE = "eyes-moved-with-the-head"
    HEAD_UNSEEN = "eyes-not-seen-while-the-head-moved"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a calibration.

    Attributes
    ----------
    code : Code
    message : str
        What was seen, with its numbers, and what to do.
    refuses : bool
        True: the calibration can't be used. False: somebody has to say that it may.
    """

    code: Code
    message: str
    refuses: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """When a calibration is refused, and when it needs somebody's word.

    Attributes
    ----------
    min_valid_share : float
        Share of usable samples, mean over the targets, 0..1; refused below.
    min_target_share : float
        Targets with data, 0..1, and never fewer than four; refused below.
    min_iris_spread : float
        Standard deviation of the iris' place over the targets, eye widths; refused below as constant gaze.
        0.015 is about 2 degrees of eye rotation.
    chance_ratio : float
        Error on targets left out of the fit over the error of always answering the targets' mean; refused
        above as gaze that doesn't follow the targets.
    min_slope : float
        Of gaze on target; a concern below (predictions are pulled to the centre).
    max_accuracy_deg, max_accuracy_share : float
        Mean offset on the validation targets, in degrees, or as a share of the screen's width where its size
        is unknown; a concern above, and for a single target too.
    max_loss : float
        Share of lost samples during validation; a concern above.
    suspect_ratio : float
        A target whose left-out error is over this many medians is offered for a redo.
    min_followed_share : float
        Of the samples with open eyes on a moving target, 0..1; refused below.
    min_turn_deg : float
        Range of the head's turn, to the sides or up and down, in the head's part; a concern below.
    """

    min_valid_share: float = 0.3
    min_target_share: float = 0.75
    min_iris_spread: float = 0.015
    chance_ratio: float = 0.7
    min_slope: float = 0.9
    max_accuracy_deg: float = 4.0
    max_accuracy_share: float = 0.1
    max_loss: float = 0.3
    suspect_ratio: float = 3.0
    min_followed_share: float = 0.5
    min_turn_deg: float = 6.0
