"""From eye features to screen px.

The mapping is linear in standardised eye patches (each of zero mean and unit variance), the irises' place in
their eyes, the lids' opening, MediaPipe's look scores and the head's turn, fitted by a robust ridge whose
penalty is chosen by leaving targets out. Patches carry the height of gaze that the iris alone can't (the lids
hide two thirds of its vertical motion); the ridge on aligned eye patches goes back to the appearance-based
line of Lu et al. 2014 (10.1109/TPAMI.2014.2313123).

Every feature is divided by a *fixed* scale, the size of change that looking across a screen makes, and not by
its own spread in this calibration: a head that kept still has a spread near nothing, and dividing by that
makes the head's terms explode as soon as it moves. This way they stay small until calibrating with a moving
head teaches them.

Gaze is fitted in px, not in degrees: a screen whose size isn't known then goes the same way as any other, and
over the ±20 degrees of a laptop's screen the tangent departs from a line by less than the webcam's own error.

Predictions are never clamped to the screen. How far a sample lies from those of the calibration is told by
its confidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.ridge import Ridge, fit_robust
from gazelab.core.errors import CalibrationError
from gazelab.core.gaze import N_LOOK, PATCH_COLS, PATCH_ROWS
from gazelab.core.geometry import Screen
from gazelab.processing.features import eyes_closed

Floats = NDArray[np.float64]

MAPPING_VERSION = 1

N_PATCH = PATCH_ROWS * PATCH_COLS
IRIS_SCALE = 0.05
"""Eye widths: the motion of the iris over 7 degrees or so."""
OPENNESS_SCALE = 0.1
LOOK_SCALE = 0.3
HEAD_SCALE_DEG = 4.0

MIN_CONTRAST = 2.0
"""Grey levels of standard deviation; a flatter patch shows no eye."""

MAX_SAMPLES = 400
"""A fit uses at most this many samples, evenly from all targets: its cost and the profile's size are
bounded."""

MIN_TARGETS = 4

PARTS = ("both", "left", "right")


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Where the gaze lay, one entry a frame; screen px, NaN where lost.

    Attributes
    ----------
    x_px, y_px : numpy.ndarray, shape (n,)
        From both eyes where both can be used, else from the one that can.
    left_x_px, left_y_px, right_x_px, right_y_px : numpy.ndarray, shape (n,)
        From one eye alone.
    confidence : numpy.ndarray, shape (n,)
        1: as like the calibration's samples as a left-out target; toward 0: unlike them (another head pose,
        light or person), so that the position is an extrapolation. 0 where lost.
    valid : numpy.ndarray, shape (n,), bool
    """

    x_px: Floats
    y_px: Floats
    left_x_px: Floats
    left_y_px: Floats
    right_x_px: Floats
    right_y_px: Floats
    confidence: Floats
    valid: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class GazeMapping:
    """A fitted mapping; make it with `fit`.

    Attributes
    ----------
    parts : dict of str to Ridge
        By "both", "left", "right"; a part is absent where its eyes gave too few samples.
    left_out_px : dict of int to float
        By target: offset of the median gaze when the target is left out of the fit.
    n_samples, n_dropped : int
        Used for the fit, and dropped from it as outliers.
    """

    parts: dict[str, Ridge]
    left_out_px: dict[int, float]
    n_samples: int
    n_dropped: int

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
        good = usable_eyes(rows)
        left_px, left_trust = self._part("left", rows, good[:, 0])
        right_px, right_trust = self._part("right", rows, good[:, 1])
        gaze_px, trust = self._part("both", rows, good[:, 0] & good[:, 1])
        for px, other in ((left_px, left_trust), (right_px, right_trust)):
            lost = ~np.isfinite(gaze_px).all(1) & np.isfinite(px).all(1)
            gaze_px[lost], trust[lost] = px[lost], other[lost]
        valid: NDArray[np.bool_] = np.isfinite(gaze_px[:, 0])
        return Prediction(
            x_px=gaze_px[:, 0],
            y_px=gaze_px[:, 1],
            left_x_px=left_px[:, 0],
            left_y_px=left_px[:, 1],
            right_x_px=right_px[:, 0],
            right_y_px=right_px[:, 1],
            confidence=np.where(valid, trust, 0.0),
            valid=valid,
        )

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Give everything as plain arrays, for an NPZ file without pickle."""
        out: dict[str, NDArray[np.generic]] = {
            "mapping_version": np.array(MAPPING_VERSION),
            "left_out_target": np.array(list(self.left_out_px), np.int64),
            "left_out_px": np.array(list(self.left_out_px.values()), np.float64),
            "n_samples": np.array(self.n_samples),
            "n_dropped": np.array(self.n_dropped),
        }
        for name, part in self.parts.items():
            for field in Ridge.__slots__:
                kind = np.float32 if field == "basis" else np.float64
                out[f"{name}_{field}"] = np.asarray(getattr(part, field), kind)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> GazeMapping:
        """Invert `to_arrays`.

        Raises
        ------
        CalibrationError
            Another version, or arrays that are missing, of a wrong shape or not finite.
        """
        try:
            version = int(np.asarray(arrays["mapping_version"]).item())
            if version != MAPPING_VERSION:
                raise CalibrationError(
                    f"the mapping is of version {version}, this gazelab reads {MAPPING_VERSION}.",
                    todo="Calibrate again.",
                )
            parts = {name: _read_part(arrays, name) for name in PARTS if f"{name}_weights" in arrays}
            targets = np.asarray(arrays["left_out_target"]).astype(np.int64).tolist()
            errors = np.asarray(arrays["left_out_px"]).astype(np.float64).tolist()
            counts = [int(np.asarray(arrays[k]).item()) for k in ("n_samples", "n_dropped")]
        except (KeyError, TypeError, ValueError) as fault:
            raise CalibrationError(f"the mapping is broken ({fault}).", todo="Calibrate again.") from fault
        if not parts:
            raise CalibrationError("the mapping is empty.", todo="Calibrate again.")
        return cls(parts, dict(zip(targets, errors, strict=True)), *counts)

    def _part(self, name: str, rows: NDArray[np.void], use: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        px, trust = np.full((len(rows), 2), np.nan), np.zeros(len(rows))
        if name in self.parts and use.any():
            px[use], trust[use] = self.parts[name].predict(design(rows[use], name))
        return px, trust


def fit(
    features: NDArray[np.void],
    targets_px: NDArray[np.floating],
    target_id: NDArray[np.integer],
    screen: Screen,
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
        Named in errors.

    Raises
    ------
    CalibrationError
        Fewer than four targets have usable eyes.
    """
    places, names = np.asarray(targets_px, np.float64), np.asarray(target_id, np.int64)
    good = usable_eyes(features)
    uses = {"both": good[:, 0] & good[:, 1], "left": good[:, 0], "right": good[:, 1]}
    parts: dict[str, Ridge] = {}
    left_out: dict[int, float] = {}
    n_samples = n_dropped = 0
    for part, use in uses.items():
        index = _thin(np.flatnonzero(use), names)
        if len(np.unique(names[index])) < MIN_TARGETS:
            continue
        fitted = fit_robust(design(features[index], part), places[index], names[index])
        if not parts:
            n_samples, n_dropped = len(index), int((~fitted.kept).sum())
        parts[part] = fitted.ridge
        for target, error in _left_out_errors(fitted.left_out, places[index], names[index]).items():
            left_out.setdefault(target, error)
    if not parts:
        raise CalibrationError(
            f"fewer than {MIN_TARGETS} targets show an open eye.",
            where=screen.name,
            todo="Calibrate again with both eyes in the camera's view.",
        )
    return GazeMapping(parts, left_out, n_samples, n_dropped)


def usable_eyes(rows: NDArray[np.void]) -> NDArray[np.bool_]:
    """Tell which eyes can be read: lids open, iris known, patch not flat.

    Returns
    -------
    numpy.ndarray, shape (n, 2), bool
    """
    seen = rows["valid"][:, None] & np.isfinite(rows["iris"]).all(-1) & np.isfinite(rows["openness"])
    contrast = rows["patches"].reshape(len(rows), 2, N_PATCH).std(-1)
    out: NDArray[np.bool_] = seen & ~eyes_closed(rows) & (contrast >= MIN_CONTRAST)
    return out


def design(rows: NDArray[np.void], part: str) -> Floats:
    """Lay the features of one part out as columns on their fixed scales.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,), FEATURE_DTYPE
    part : {"both", "left", "right"}

    Returns
    -------
    numpy.ndarray, shape (n, p)
        NaN where a look score or the head's pose is missing.
    """
    n = len(rows)
    eyes = {"both": slice(0, 2), "left": slice(0, 1), "right": slice(1, 2)}[part]
    patches = rows["patches"][:, eyes].reshape(n, -1, N_PATCH).astype(np.float64)
    patches -= patches.mean(-1, keepdims=True)
    patches /= np.maximum(patches.std(-1, keepdims=True), 1e-9)
    columns = [
        patches.reshape(n, -1),
        rows["iris"][:, eyes].reshape(n, -1) / IRIS_SCALE,
        rows["openness"][:, eyes].reshape(n, -1) / OPENNESS_SCALE,
        rows["look"].reshape(n, N_LOOK) / LOOK_SCALE,
        np.stack([rows[k] for k in ("yaw_deg", "pitch_deg", "roll_deg")], -1) / HEAD_SCALE_DEG,
    ]
    return np.concatenate(columns, axis=1, dtype=np.float64)


def _thin(index: NDArray[np.intp], names: NDArray[np.int64]) -> NDArray[np.intp]:
    """Keep at most `MAX_SAMPLES`, evenly spread over each target's own samples."""
    if len(index) <= MAX_SAMPLES:
        return index
    groups = [index[names[index] == name] for name in np.unique(names[index])]
    each = max(1, MAX_SAMPLES // len(groups))
    picked = [g[np.linspace(0, len(g) - 1, min(each, len(g))).round().astype(int)] for g in groups]
    return np.sort(np.concatenate(picked))


def _left_out_errors(left_out: Floats, places: Floats, names: NDArray[np.int64]) -> dict[int, float]:
    errors = {}
    for name in np.unique(names).tolist():
        offset = (left_out - places)[names == name]
        errors[name] = float(np.hypot(*np.median(offset, axis=0)))
    return errors


def _read_part(arrays: Mapping[str, NDArray[np.generic]], name: str) -> Ridge:
    values = {f: np.asarray(arrays[f"{name}_{f}"]).astype(np.float64) for f in Ridge.__slots__}
    p = len(values["centre"])
    shapes_fit = values["weights"].shape == (p, 2) and values["offset"].shape == (2,)
    if not shapes_fit or values["basis"].ndim != 2 or values["basis"].shape[0] != p:
        raise ValueError(f"the arrays of {name!r} don't fit each other")
    if not all(np.isfinite(v).all() for v in values.values()):
        raise ValueError(f"the arrays of {name!r} aren't finite")
    return Ridge(
        values["centre"],
        values["weights"],
        values["offset"],
        values["basis"],
        float(values["novelty"].item()),
        float(values["penalty"].item()),
    )
