"""What every gaze tracker is asked: pictures with known gaze, and which calibrate and which test.

All get the same pictures. The folders' layouts are those of `gazelab evaluate gaze`; the synthetic
participant needs no folder. A picture is padded as gazelab pads it; gazelab's own features of it are kept
beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gazelab.core.gaze import empty_features
from gazelab.core.geometry import Screen
from gazelab.core.picture import load_picture
from gazelab.pipeline.evaluate import N_CALIBRATE, NINE_H_DEG, NINE_V_DEG
from gazelab.pipeline.evaluate_layouts import LAYOUTS, FaceSet, pad
from gazelab.sources.face import FaceReader
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_head import SEATED, HeadMotion, HeadPose
from gazelab.sources.synthetic_script import GazeScript, Look

Split = tuple[np.ndarray, np.ndarray]
"""Numbers of the pictures that calibrate, and of those that test."""

SCREEN = Screen("synthetic", 1920, 1080, 344.0, 193.5, 600.0)
SECOND_NS = 1_000_000_000
REACH = HeadPose(10.0, 10.0, 5.0, 40.0, 40.0, 40.0)
"""How far the synthetic head turns and moves, each number evenly between minus and plus this."""

PHASE_SHARES = ((0.5, 0.5), (0.1, 0.1), (0.9, 0.9))
"""Where the dots of the head-movement phase stand, in shares of the screen."""


@dataclass(frozen=True)
class Measure:
    """One figure: the mean over splits of each split's median error, or the mean of all errors."""

    name: str
    splits: list[Split]
    median: bool


@dataclass(frozen=True)
class Task:
    """One set of pictures."""

    name: str
    unit: str
    pictures: list[np.ndarray]
    features: np.ndarray
    places: np.ndarray
    target: np.ndarray
    measures: list[Measure]
    screen: Screen | None = field(default=None)
    """Where places are px and errors degrees."""

    @property
    def on_screen(self) -> bool:
        """Whether places are px of a screen, and not angles."""
        return self.unit == "px" or self.screen is not None

    def errors(self, answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
        if self.screen is None:
            return np.hypot(*(answers - truth).T)
        return self.screen.angle_deg(*answers.T, *truth.T)


def folder_tasks(data: Path) -> Iterator[Task]:
    """Give a task for each layout that has a folder of its name in `data`."""
    splits = {"laptop": _laptop, "headposes": _headposes, "columbia": _columbia}
    for layout, measures_of in splits.items():
        if (data / layout).is_dir():
            faces = LAYOUTS[layout].read(data / layout)
            pictures, features = _read(faces, LAYOUTS[layout].attempts)
            unit = "px" if layout == "laptop" else "deg"
            yield Task(layout, unit, pictures, features, faces.places, faces.target, measures_of(faces))


def _read(faces: FaceSet, attempts: tuple) -> tuple[list[np.ndarray], np.ndarray]:
    """Each picture padded as gazelab finds a face in it, or else as it tries first, and its features."""
    pictures, rows = [], empty_features(len(faces.files))
    with FaceReader() as reader:
        for i, path in enumerate(faces.files):
            rgb = load_picture(path).rgb
            for confidence, padding in attempts:
                padded = pad(rgb, padding)
                rows[i] = reader.still(padded, confidence).features
                if rows[i]["valid"]:
                    break
            pictures.append(padded if rows[i]["valid"] else pad(rgb, attempts[0][1]))
    return pictures, rows


def _groups(faces: FaceSet) -> list[np.ndarray]:
    return [np.flatnonzero(faces.group == name) for name in dict.fromkeys(faces.group.tolist())]


def _laptop(faces: FaceSet) -> list[Measure]:
    splits = [(own[:N_CALIBRATE], own[N_CALIBRATE:]) for own in _groups(faces)]
    return [Measure("60 calibrate, 90 test: mean of the blocks' medians", splits, True)]


def _headposes(faces: FaceSet) -> list[Measure]:
    every = np.arange(len(faces.files))
    poses = _groups(faces)
    return [
        Measure("leave one out", [(every[every != i], every[i : i + 1]) for i in every], False),
        Measure("unseen head pose", [(np.setdiff1d(every, own), own) for own in poses], False),
        Measure("one head pose to the rest", [(own, np.setdiff1d(every, own)) for own in poses], False),
    ]


def _columbia(faces: FaceSet) -> list[Measure]:
    nine = np.isin(faces.places[:, 0], NINE_H_DEG) & np.isin(faces.places[:, 1], NINE_V_DEG)
    people = _groups(faces)
    left_out = [(own[own != i], np.array([i])) for own in people for i in own]
    twelve = [(own[nine[own]], own[~nine[own]]) for own in people]
    return [Measure("leave one out", left_out, False), Measure("nine to twelve", twelve, False)]


def synthetic_task(n_targets: int = 12, repeats: int = 5, n_test: int = 90, seed: int = 7) -> Task:
    """Ask about a synthetic participant, head still and moving, calibrated without and with a head phase.

    Calibration: `n_targets` places, `repeats` pictures each, the head seated; the phase is as many pictures
    of three places while the head turns and moves. The tests are places anywhere on the screen.
    """
    rng = np.random.default_rng(seed)
    n_calibrate = n_targets * repeats
    columns = int(np.ceil(np.sqrt(n_targets * 4 / 3)))
    grid = [(0.08 + 0.84 * (k % columns) / (columns - 1), k // columns) for k in range(n_targets)]
    rows = max(row for _, row in grid)
    fixed = np.array([(x, 0.08 + 0.84 * row / rows) for x, row in grid])
    shares = np.concatenate(
        [
            np.repeat(fixed, repeats, axis=0),
            np.resize(PHASE_SHARES, (n_calibrate, 2)),
            np.tile(rng.uniform(0.04, 0.96, (n_test, 2)), (2, 1)),
        ]
    )
    moves = np.repeat([False, True, False, True], [n_calibrate, n_calibrate, n_test, n_test])
    places = shares * (SCREEN.width_px, SCREEN.height_px)
    pictures, features = _rendered(places, moves, rng, seed)
    plain, phase, still, moving = np.split(
        np.arange(len(places)), np.cumsum([n_calibrate, n_calibrate, n_test])
    )
    both = np.concatenate([plain, phase])
    measures = [
        Measure("still head", [(plain, still)], True),
        Measure("moving head", [(plain, moving)], True),
        Measure("still head, after a head-movement phase", [(both, still)], True),
        Measure("moving head, after a head-movement phase", [(both, moving)], True),
    ]
    target = np.unique(places, axis=0, return_inverse=True)[1].reshape(-1)
    return Task("synthetic", "deg", pictures, features, places, target, measures, SCREEN)


def _rendered(
    places: np.ndarray, moves: np.ndarray, rng: np.random.Generator, seed: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """One picture a second, so that eyes and head have come to rest in each."""
    half = 2 * SECOND_NS // 5
    looks = [Look(k * SECOND_NS - half, k * SECOND_NS + half, *at) for k, at in enumerate(places.tolist())]
    turns = rng.uniform(-1, 1, (len(places), 6)) * REACH.as_array() * moves[:, None]
    rests = tuple((k * SECOND_NS - half, HeadPose(*turn)) for k, turn in enumerate(turns.tolist()))
    head = HeadMotion(SEATED, rests, seed)
    pictures, rows = [], empty_features(len(places))
    script = GazeScript(SCREEN, looks)
    with (
        SyntheticParticipant(script, SCREEN, rate_hz=1.0, head=head, start_ns=0, seed=seed) as person,
        FaceReader() as reader,
    ):
        for k in range(len(places)):
            frame = person.read()
            assert frame is not None
            pictures.append(frame.rgb)
            rows[k] = reader.still(frame.rgb).features
    return pictures, rows
