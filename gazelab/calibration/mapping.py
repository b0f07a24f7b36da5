"""From eye features to screen px.

The mapping is linear in standardised eye patches (each of zero mean and unit variance), the irises' place in
their eyes and the head's turn, fitted by a robust ridge whose penalty is chosen by leaving targets out.
Patches carry the height of gaze that the iris alone can't (the lids hide two thirds of its vertical motion);
the ridge on aligned eye patches goes back to the appearance-based line of Lu et al. 2014
(10.1109/TPAMI.2014.2313123). Two things make it hold on few targets and a live head: weights pay for reading
a misplaced box (`gazelab.calibration.eyes`), and beyond the calibration's turns geometry takes over from what
was learnt (`gazelab.calibration.head_terms`). Leaning scales the screen's places
(`gazelab.calibration.distance`).

Features have *fixed* scales, the size of change that looking across a screen makes, and are not divided by
their own spread in this calibration: a head that kept still has a spread near nothing, and dividing by that
makes the head's terms explode as soon as it moves.

Three ridges are fitted: on both eyes together, on the left, on the right. Where both eyes can be read, gaze
is half the first and a quarter each of the others. One eye alone is brought to what both would have said, by
a plane fitted to left-out targets, so that gaze doesn't jump when an eye is lost.

Gaze is fitted in px, not in degrees: a screen whose size isn't known then goes the same way as any other, and
over the ±20 degrees of a laptop's screen the tangent departs from a line by less than the webcam's own error.

Predictions are never clamped to the screen. How far off a sample may be is told by its confidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.confidence import MAX_KEPT, ErrorModel, Familiarity, familiarity, fit_error_model
from gazelab.calibration.distance import Distance
from gazelab.calibration.eyes import both_eyes, usable_eyes
from gazelab.calibration.head_terms import HeadTerms
from gazelab.calibration.mapping_arrays import read_arrays, write_arrays
from gazelab.calibration.parts import (
    PARTS,
    SIDES,
    Eyes,
    Joint,
    Plane,
    apart,
    combined,
    fit_part,
    fit_plane,
    part_columns,
)
from gazelab.calibration.prediction import Prediction
from gazelab.calibration.ridge import Ridge, RidgeFit
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen

Floats = NDArray[np.float64]

MAX_SAMPLES = 400
"""A fit uses at most this many samples, evenly from all targets: its cost and the profile's size are
bounded."""

MIN_TARGETS = 4


@dataclass(frozen=True, slots=True, eq=False)
class GazeMapping:
    """A fitted mapping; make it with `fit`.

    Attributes
    ----------
    parts : dict of str to Ridge
        By "both", "left", "right"; a part is absent where its eyes gave too few samples.
    errors : dict of str to ErrorModel
        Of the same names: how far off a sample may be.
    planes : dict of str to Plane
        By "left" and "right": what the eye alone lacks to both.
    familiar : dict of str to Familiarity
        By "left" and "right": what the calibration has seen of the eye.
    head : HeadTerms
    distance : Distance
    left_out_px : dict of int to float
        By target: offset of the median gaze when the target is left out of the fit.
    n_samples, n_dropped : int
        Used for the fit, and dropped from it as outliers.
    """

    parts: dict[str, Ridge]
    errors: dict[str, ErrorModel]
    planes: dict[str, Plane]
    familiar: dict[str, Familiarity]
    head: HeadTerms
    distance: Distance
    left_out_px: dict[int, float]
    n_samples: int
    n_dropped: int
    _joint: Joint | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_joint", Joint.of(self.parts))

    def predict(self, features: NDArray[np.void] | np.void) -> Prediction:
        """Predict gaze for each record.

        Parameters
        ----------
        features : numpy.ndarray, shape (n,), FEATURE_DTYPE; or one record

        Returns
        -------
        Prediction
            Arrays of shape (n,), of (1,) for one record.
        """
        rows = np.atleast_1d(np.asarray(features))
        eyes, good = both_eyes(rows), usable_eyes(rows)
        (head, beyond_px), ratio = self.head.split(rows, good), self.distance.ratio(rows)
        if self._joint is not None and good.all():
            near_px = self._joint.predict(eyes, head) + beyond_px
        else:
            near_px = np.array([self._part(name, eyes, head, good) for name in PARTS]) + beyond_px
        px = dict(zip(PARTS, self.distance.from_neutral(near_px, ratio), strict=True))
        px["both"] = combined(px)
        for name in SIDES:
            px[name] = self.planes[name].apply(px[name]) if name in self.planes else px[name]
        gaze, confidence = np.full((len(rows), 2), np.nan), np.zeros(len(rows))
        valid = np.zeros(len(rows), bool)
        for name in PARTS:  # the better one first
            use = np.isfinite(px[name]).all(1) & ~valid
            if not use.any():
                continue
            given = self._confidence(name, eyes, px, beyond_px)
            if use.all():
                gaze, confidence, valid = px[name], given, use
                break
            gaze[use], confidence[use], valid[use] = px[name][use], given[use], True
        return Prediction(
            x_px=gaze[:, 0],
            y_px=gaze[:, 1],
            left_x_px=px["left"][:, 0],
            left_y_px=px["left"][:, 1],
            right_x_px=px["right"][:, 0],
            right_y_px=px["right"][:, 1],
            confidence=confidence,
            valid=valid,
        )

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Give everything as plain arrays, for an NPZ file without pickle."""
        return write_arrays(
            {"ridge": self.parts, "error": self.errors, "plane": self.planes, "familiar": self.familiar},
            self.head,
            self.distance,
            self.left_out_px,
            (self.n_samples, self.n_dropped),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> GazeMapping:
        """Invert `to_arrays`.

        Raises
        ------
        CalibrationError
            Another version, or arrays that are missing, of a wrong shape or not finite.
        """
        return cls(*read_arrays(arrays))

    def _part(self, name: str, eyes: Eyes, head: Floats, good: NDArray[np.bool_]) -> Floats:
        px = np.full((len(head), 2), np.nan)
        use = good.all(1) if len(PARTS[name]) > 1 else good[:, PARTS[name][0]]
        if name not in self.parts or not use.any():
            return px
        if use.all():
            return self.parts[name].predict(part_columns(name, eyes, head))
        px[use] = self.parts[name].predict(part_columns(name, (eyes[0][use], eyes[1][use]), head[use]))
        return px

    def _confidence(self, name: str, eyes: Eyes, px: dict[str, Floats], beyond_px: Floats) -> Floats:
        unfamiliar = sum((self.familiar[SIDES[e]].unfamiliar(eyes[e]) for e in PARTS[name]), np.zeros(1))
        model = self.errors[name]
        return model.confidence(model.expected_px(apart(name, px), unfamiliar, np.hypot(*beyond_px.T)))


def fit(
    features: NDArray[np.void],
    targets_px: NDArray[np.floating],
    target_id: NDArray[np.integer],
    screen: Screen,
    on_screen: bool = True,
) -> GazeMapping:
    """Fit a mapping to samples of known gaze.

    Parameters
    ----------
    features : numpy.ndarray, shape (n,), FEATURE_DTYPE
    targets_px : numpy.ndarray, shape (n, 2)
        Where each sample looked, screen px.
    target_id : numpy.ndarray, shape (n,)
        Samples of one target share a number: whole targets are left out to choose the penalty.
    screen : Screen
        For the camera's place at its upper edge, and named in errors.
    on_screen : bool
        False: the places are angles, which don't grow with the distance.

    Raises
    ------
    CalibrationError
        Fewer than four targets have usable eyes.
    """
    names = np.asarray(target_id, np.int64)
    good = usable_eyes(features)
    pool = _thin(np.flatnonzero(good.any(1)), names, MAX_SAMPLES)
    rows, names, good = features[pool], names[pool], good[pool]
    places = np.asarray(targets_px, np.float64)[pool]
    distance = Distance.of(rows, screen) if on_screen else Distance.ignored()
    ratio = distance.ratio(rows)
    neutral_px = distance.to_neutral(places, ratio)
    terms = HeadTerms.of(rows, neutral_px, good)
    eyes, (head, beyond_px) = both_eyes(rows), terms.split(rows, good)
    fits: dict[str, RidgeFit] = {}
    left_out = {name: np.full((len(rows), 2), np.nan) for name in PARTS}
    for name in PARTS:
        use = np.flatnonzero(good[:, list(PARTS[name])].all(1))
        if len(np.unique(names[use])) < MIN_TARGETS:
            continue
        columns = part_columns(name, (eyes[0][use], eyes[1][use]), head[use])
        fits[name] = fit_part(name, rows[use], columns, (neutral_px - beyond_px)[use], names[use])
        left_out[name][use] = distance.from_neutral(fits[name].left_out + beyond_px[use], ratio[use])
    if not fits:
        raise CalibrationError(
            f"fewer than {MIN_TARGETS} targets show an open eye.",
            where=screen.name,
            todo="Calibrate again with both eyes in the camera's view.",
        )
    left_out["both"] = combined(left_out)
    planes = {n: fit_plane(left_out[n], left_out["both"]) for n in SIDES if n in fits}
    left_out |= {n: plane.apply(left_out[n]) for n, plane in planes.items()}
    errors, familiar = _trust(fits, left_out, eyes, places, names)
    first = next(iter(fits.values()))
    return GazeMapping(
        {name: fitted.ridge for name, fitted in fits.items()},
        errors,
        planes,
        familiar,
        terms,
        distance,
        _left_out_errors(left_out, places, names),
        len(first.kept),
        int((~first.kept).sum()),
    )


def _trust(
    fits: dict[str, RidgeFit],
    left_out: dict[str, Floats],
    eyes: Eyes,
    places: Floats,
    names: NDArray[np.int64],
) -> tuple[dict[str, ErrorModel], dict[str, Familiarity]]:
    """Learn what is familiar of each eye, and what that and the eyes' agreement tell of the error."""
    errors: dict[str, ErrorModel] = {}
    familiar: dict[str, Familiarity] = {}
    unfamiliar: dict[str, Floats] = {}
    kept: dict[str, NDArray[np.intp]] = {}
    for name in (n for n in (*SIDES, "both") if n in fits):
        first = left_out["both" if "both" in fits else name]
        kept[name] = _thin(np.flatnonzero(np.isfinite(first).all(1)), names, MAX_KEPT)
        if name == "both":
            unlike = unfamiliar["left"] + unfamiliar["right"]
        else:
            familiar[name], unlike = familiarity(eyes[SIDES.index(name)][kept[name]], names[kept[name]])
            unfamiliar[name] = unlike
        own, best = (np.hypot(*(px - places)[kept[name]].T) for px in (left_out[name], first))
        far = apart(name, left_out)[kept[name]]
        errors[name] = fit_error_model(own, far, unlike, float(np.median(best)))
    return errors, familiar


def _thin(index: NDArray[np.intp], names: NDArray[np.int64], at_most: int) -> NDArray[np.intp]:
    """Keep at most so many, evenly spread over each target's own samples; small targets stay whole."""
    if len(index) <= at_most:
        return index
    groups = [index[names[index] == name] for name in np.unique(names[index])]
    sizes = np.array([len(g) for g in groups])
    each = max((n for n in range(1, at_most + 1) if np.minimum(sizes, n).sum() <= at_most), default=1)
    picked = [g[np.linspace(0, len(g) - 1, min(each, len(g))).round().astype(int)] for g in groups]
    every = np.sort(np.concatenate(picked))
    # With more targets than places, every so manieth target.
    chosen: NDArray[np.intp] = every[np.linspace(0, len(every) - 1, min(at_most, len(every))).astype(int)]
    return chosen


def _left_out_errors(
    left_out: dict[str, Floats], places: Floats, names: NDArray[np.int64]
) -> dict[int, float]:
    errors: dict[int, float] = {}
    for part in PARTS:
        for name in np.unique(names).tolist():
            offset = (left_out[part] - places)[(names == name) & np.isfinite(left_out[part]).all(1)]
            if len(offset):
                errors.setdefault(name, float(np.hypot(*np.median(offset, axis=0))))
    return errors
