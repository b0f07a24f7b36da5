"""Folders of faces with known gaze: which pictures, where each looked, how to show them to the landmarker.

A picture's labels are read into one table whatever the folder's layout; the evaluation knows no file names.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import CalibrationError

Padding = tuple[int, int, int, int]
"""top, bottom, left, right in px, by repeating the picture's edge."""

NAME_COLUMBIA = re.compile(r"(?P<person>\d+)_\d+m_-?\d+P_(?P<v>-?\d+)V_(?P<h>-?\d+)H")
NAME_HEADPOSES = re.compile(r"(?P<head>[a-z]\d)(?P<row>[a-z])(?P<col>\d)")

CELL_DEG = (7.0, 5.2)
"""Nominal size of a gaze column and row in the head-pose set."""

LAPTOP_CANVAS = (480, 640)
"""Rows and columns of the camera that the laptop set's face crops were cut from."""

FAINT, FAINTEST = 0.05, 0.01
"""Detection confidence for strips that show no more of a face than the eyes."""

STRIP_ATTEMPTS: tuple[tuple[float, Padding | None], ...] = (
    (FAINT, (100, 243, 170, 170)),
    (FAINT, (60, 160, 80, 80)),
    (FAINT, (160, 300, 200, 200)),
    (FAINT, (120, 180, 170, 170)),
    (FAINT, (40, 120, 50, 50)),
    (FAINT, (120, 260, 130, 130)),
    (FAINTEST, (130, 270, 150, 150)),
    (FAINTEST, (120, 180, 170, 170)),
    (FAINTEST, (60, 160, 80, 80)),
    (FAINTEST, (40, 120, 50, 50)),
)
"""Of 588 strips the first finds 515, the second 67 more, the third one; the others the last five. Each is
tried only where those before found no face."""


@dataclass(frozen=True, slots=True, eq=False)
class FaceSet:
    """Pictures with where each looked.

    Attributes
    ----------
    files : list of Path
    places : numpy.ndarray, shape (n, 2)
        Where each looked; degrees (+x right of the picture, +y up) or screen px, as the layout says.
    target : numpy.ndarray, shape (n,)
        Pictures of one target share a number.
    group : numpy.ndarray, shape (n,), str
        Person, block or head pose: what a calibration is for.
    """

    files: list[Path]
    places: NDArray[np.float64]
    target: NDArray[np.int64]
    group: NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read a folder.

    Attributes
    ----------
    read : callable
        From the folder to a FaceSet.
    attempts : tuple of (float, Padding or None)
        Detection confidence and padding, tried in turn until a face is found; None pads to the camera's
        frame.
    """

    read: Callable[[Path], FaceSet]
    attempts: tuple[tuple[float, Padding | None], ...]


def pad(rgb: NDArray[np.uint8], padding: Padding | None) -> NDArray[np.uint8]:
    """Repeat a picture's edges outward; None centres it on the laptop camera's frame."""
    if padding is None:
        rows, cols = (max(full - own, 0) for full, own in zip(LAPTOP_CANVAS, rgb.shape[:2], strict=True))
        padding = (rows // 2, rows - rows // 2, cols // 2, cols - cols // 2)
    top, bottom, left, right = padding
    return np.pad(rgb, ((top, bottom), (left, right), (0, 0)), mode="edge")


def read_columbia(folder: Path) -> FaceSet:
    """Read eye strips named `<person>_2m_0P_<V>V_<H>H`; places in degrees, one group a person."""
    found = _matching(folder, NAME_COLUMBIA, "<person>_2m_0P_<V>V_<H>H.jpg")
    places = np.array([(float(m["h"]), float(m["v"])) for _, m in found])
    return _face_set([f for f, _ in found], places, [m["person"] for _, m in found])


def read_headposes(folder: Path) -> FaceSet:
    """Read faces named by head row, head column, gaze row and gaze column; places in nominal degrees."""
    found = _matching(folder, NAME_HEADPOSES, "<head row><head column><gaze row><gaze column>.jpg")
    cols = np.array([float(m["col"]) for _, m in found])
    rows = np.array([float(ord(m["row"]) - ord("a")) for _, m in found])
    places = np.stack([cols * CELL_DEG[0], -rows * CELL_DEG[1]], axis=-1)
    return _face_set([f for f, _ in found], places, [m["head"] for _, m in found])


def read_laptop(folder: Path) -> FaceSet:
    """Read face crops with `labels.csv` (file, target_x_px, target_y_px, block); places in screen px."""
    path = folder / "labels.csv"
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        places = np.array([(float(r["target_x_px"]), float(r["target_y_px"])) for r in rows]).reshape(-1, 2)
        files, blocks = [folder / r["file"] for r in rows], [r["block"] for r in rows]
    except (OSError, KeyError, ValueError, TypeError) as fault:
        raise CalibrationError(
            f"no table of labels that can be read ({fault}).",
            where=path,
            todo="It needs the columns file, target_x_px, target_y_px, block.",
        ) from fault
    if not rows:
        raise CalibrationError("the table of labels is empty.", where=path)
    return _face_set(files, places, blocks)


LAYOUTS = {
    "columbia": Layout(read_columbia, STRIP_ATTEMPTS),
    "laptop": Layout(read_laptop, ((0.5, None),)),
    "headposes": Layout(read_headposes, ((0.5, (0, 0, 0, 0)),)),
}


def _matching(folder: Path, pattern: re.Pattern[str], words: str) -> list[tuple[Path, re.Match[str]]]:
    pictures = sorted(p for p in folder.glob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))
    found = [(p, m) for p in pictures if (m := pattern.fullmatch(p.stem))]
    if not found:
        raise CalibrationError("no pictures of this layout.", where=folder, todo=f"They are named {words}.")
    return found


def _face_set(files: list[Path], places: NDArray[np.float64], group: list[str]) -> FaceSet:
    target = np.unique(places, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return FaceSet(files, places, target, np.array(group))
