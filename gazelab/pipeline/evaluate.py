"""How well the mapping does on faces with known gaze: the same features and the same fit as in the app."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.mapping import fit
from gazelab.core.errors import CalibrationError, ConfigError
from gazelab.core.gaze import empty_features
from gazelab.core.geometry import Screen
from gazelab.core.picture import load_picture
from gazelab.pipeline.evaluate_layouts import LAYOUTS, FaceSet, Layout, pad
from gazelab.sources.face import FaceReader, FaceReading

log = logging.getLogger(__name__)

Index = NDArray[np.intp]
Progress = Callable[[int, int], None]

N_CALIBRATE = 60
"""Pictures at the start of each of the laptop set's blocks that calibrate; the rest test."""

NINE_H_DEG, NINE_V_DEG = (-15.0, 0.0, 15.0), (-10.0, 0.0, 10.0)
"""The nine of Columbia's 21 directions that calibrate in "nine to twelve"."""

LAPTOP_SCREEN = Screen("laptop", 1920, 1080)


class StillReader(Protocol):
    """What `FaceReader` does for a picture that belongs to no stream."""

    def still(self, rgb: NDArray[np.uint8], min_confidence: float = 0.5) -> FaceReading:
        """Find the face."""


def evaluate_gaze(
    folder: Path, layout: str, progress: Progress | None = None, reader: StillReader | None = None
) -> dict[str, Any]:
    """Calibrate and test on a folder of pictures with known gaze.

    Parameters
    ----------
    folder : Path
    layout : {"columbia", "laptop", "headposes"}
    progress : callable, optional
        Gets (pictures read, pictures in all).
    reader : StillReader, optional
        The face landmarker; a FaceReader by default.

    Returns
    -------
    dict
        `layout`, `n_pictures`, `n_no_face` and

        - columbia: `loo_deg` (each picture by the person's other ones, mean error), `nine_to_twelve_deg`;
        - laptop: `block_median_px` (by block: median error of the pictures after the first 60, which
          calibrate), `median_px` (their mean);
        - headposes: `loo_nominal_deg`, `unseen_pose_deg` (each head pose by all others), `one_pose_deg`
          (calibrated at one head pose, tested at the rest; mean over poses).

        A test picture without a face, or with both eyes shut, scores the error of answering the mean
        calibration target.

    Raises
    ------
    ConfigError
        There is no such layout.
    CalibrationError
        The folder isn't laid out like that.
    PictureError
        A picture can't be read.
    """
    if layout not in LAYOUTS:
        near = get_close_matches(layout, LAYOUTS, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose one of {', '.join(LAYOUTS)}."
        raise ConfigError(f"there is no layout {layout!r}.", todo=hint)
    if not folder.is_dir():
        raise CalibrationError("there is no such folder.", where=folder)
    how = LAYOUTS[layout]
    faces = how.read(folder)
    if reader is None:
        with FaceReader() as own:
            features = _read_all(faces, how, own, progress)
    else:
        features = _read_all(faces, how, reader, progress)
    scores = {"columbia": _columbia, "laptop": _laptop, "headposes": _headposes}[layout](faces, features)
    return {
        "layout": layout,
        **scores,
        "n_pictures": len(faces.files),
        "n_no_face": int((~features["valid"]).sum()),
    }


def _read_all(
    faces: FaceSet, how: Layout, reader: StillReader, progress: Progress | None
) -> NDArray[np.void]:
    rows = empty_features(len(faces.files))
    for i, path in enumerate(faces.files):
        rgb = load_picture(path).rgb
        for confidence, padding in how.attempts:
            found = reader.still(pad(rgb, padding), confidence).features
            if found["valid"]:
                rows[i] = found
                break
        if progress:
            progress(i + 1, len(rows))
    return rows


def _columbia(faces: FaceSet, features: NDArray[np.void]) -> dict[str, Any]:
    nine = np.isin(faces.places[:, 0], NINE_H_DEG) & np.isin(faces.places[:, 1], NINE_V_DEG)
    left_out, twelve = [], []
    for own in _groups(faces):
        left_out += [_errors(faces, features, own[own != i], np.array([i])) for i in own]
        twelve.append(_errors(faces, features, own[nine[own]], own[~nine[own]]))
    return {"loo_deg": _mean(left_out), "nine_to_twelve_deg": _mean(twelve)}


def _laptop(faces: FaceSet, features: NDArray[np.void]) -> dict[str, Any]:
    medians = {}
    for own in _groups(faces):
        errors = _errors(faces, features, own[:N_CALIBRATE], own[N_CALIBRATE:], on_screen=True)
        medians[str(faces.group[own[0]])] = float(np.median(errors)) if len(errors) else float("nan")
    return {"median_px": float(np.mean(list(medians.values()))), "block_median_px": medians}


def _headposes(faces: FaceSet, features: NDArray[np.void]) -> dict[str, Any]:
    every = np.arange(len(features))
    left_out = [_errors(faces, features, every[every != i], np.array([i])) for i in every]
    unseen, one = [], []
    for own in _groups(faces):
        rest = np.setdiff1d(every, own)
        unseen.append(_errors(faces, features, rest, own))
        one.append(_mean([_errors(faces, features, own, rest)]))
    return {
        "loo_nominal_deg": _mean(left_out),
        "unseen_pose_deg": _mean(unseen),
        "one_pose_deg": float(np.mean(one)),
    }


def _groups(faces: FaceSet) -> Iterator[Index]:
    """Give the pictures of each person, block or head pose, in the folder's order."""
    for name in dict.fromkeys(faces.group.tolist()):
        yield np.flatnonzero(faces.group == name)


def _errors(
    faces: FaceSet, features: NDArray[np.void], calibrate: Index, test: Index, on_screen: bool = False
) -> NDArray[np.float64]:
    """Distances between predicted and true places of the test pictures, in the places' unit."""
    if not len(calibrate) or not len(test):
        return np.empty(0)
    places = faces.places
    answer = np.tile(places[calibrate].mean(0), (len(test), 1))
    try:
        mapping = fit(
            features[calibrate], places[calibrate], faces.target[calibrate], LAPTOP_SCREEN, on_screen
        )
        gaze = mapping.predict(features[test])
        answer[gaze.valid] = np.stack([gaze.x_px, gaze.y_px], axis=-1)[gaze.valid]
    except CalibrationError as fault:
        log.info("%s: every answer stays the mean target", fault)
    errors: NDArray[np.float64] = np.hypot(*(answer - places[test]).T)
    return errors


def _mean(errors: list[NDArray[np.float64]]) -> float:
    every = np.concatenate(errors)
    return float(every.mean()) if len(every) else float("nan")
