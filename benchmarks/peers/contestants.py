"""Who is asked: gazelab, two floors that are written out here, and the peers in their own environments."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gazelab.calibration.mapping import fit
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen
from gazelab.sources.face import MODEL_PATH
from peers import protocol
from peers.tasks import Split, Task

HERE = Path(__file__).parent
SOME_SCREEN = Screen("benchmark", 1920, 1080)
RIDGE_PENALTY = 1.0


@dataclass(frozen=True)
class Peer:
    """A tracker of others: what pip installs for it, and its licence."""

    name: str
    installs: tuple[str, ...]
    licence: str

    @property
    def runner(self) -> Path:
        return HERE / f"run_{self.name.lower()}.py"


# Later releases of mediapipe resolve a host of their own while they run; EyeGestures needs one from before
# 0.10.30, in which `mediapipe.solutions` went, and declares no dependency at all.
PEERS = (
    Peer("EyeTrax", ("eyetrax==0.4.0", "mediapipe==0.10.31"), "MIT"),
    Peer("GazeFollower", ("gazefollower==1.1.0", "mediapipe==0.10.31"), "CC BY-NC-SA 4.0"),
    Peer("EyeGestures", ("eyegestures==3.2.4", "mediapipe==0.10.21", "scikit-learn"), "GPL-3.0"),
)

Answers = Callable[[Task, Split], np.ndarray]


class CannotRun(Exception):
    """Why a peer gave no figures."""


def gazelab(task: Task, split: Split) -> np.ndarray:
    """Fit and predict as the app does; NaN where it gives no gaze."""
    calibrate, test = split
    answers = np.full((len(test), 2), np.nan)
    known = task.features[calibrate], task.places[calibrate], task.target[calibrate]
    try:
        mapping = fit(*known, task.screen or SOME_SCREEN, task.on_screen)
    except CalibrationError:
        return answers
    gaze = mapping.predict(task.features[test])
    answers[gaze.valid] = np.stack([gaze.x_px, gaze.y_px], axis=-1)[gaze.valid]
    return answers


def iris_and_pose(task: Task, split: Split) -> np.ndarray:
    """Give the floor: a ridge on both irises' places in their eyes and the head's turn, nothing else."""
    calibrate, test = split
    rows = task.features
    x = np.column_stack([rows["iris"].reshape(-1, 4), rows["yaw_deg"], rows["pitch_deg"], rows["roll_deg"]])
    x = x.astype(np.float64)
    known = calibrate[np.isfinite(x[calibrate]).all(1)]
    if len(known) < 2:
        return np.full((len(test), 2), np.nan)
    return ridge(x[known], task.places[known], x[test], RIDGE_PENALTY)


def ridge(features: np.ndarray, places: np.ndarray, tests: np.ndarray, penalty: float) -> np.ndarray:
    """Ridge regression on standardised features with a free offset."""
    centre, spread = features.mean(0), features.std(0)
    spread[spread == 0] = 1.0
    x = (features - centre) / spread
    offset = places.mean(0)
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (places - offset))
    return (tests - centre) / spread @ weights + offset


def mean_target(task: Task, split: Split) -> np.ndarray:
    """Answer the mean calibration target whatever the picture shows."""
    calibrate, test = split
    return np.tile(task.places[calibrate].mean(0), (len(test), 1))


def peer_answers(peer: Peer, folder: Path, task: Task) -> tuple[Answers, int]:
    """Ask a peer about a whole task, or look up what it said before to the same questions.

    Returns
    -------
    callable
        Gives its answers by split.
    int
        In how many pictures it found no face.

    Raises
    ------
    CannotRun
        It can't be installed or failed.
    """
    python = installed(peer, folder)
    splits = [split for measure in task.measures for split in measure.splits]
    roles = np.zeros((len(splits), len(task.pictures)), np.uint8)
    for role, (calibrate, test) in zip(roles, splits, strict=True):
        role[calibrate], role[test] = protocol.CALIBRATE, protocol.TEST
    kept = folder / "answers" / f"{_key(peer, task, roles)}.npz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            questions, answers = Path(name) / "questions.npz", Path(name) / "answers.npz"
            protocol.write_questions(questions, task.pictures, task.places, roles)
            run_peer(peer.runner, python, questions, answers, folder)
            answers.replace(kept)
    with np.load(kept) as data:
        given, found = data["answers"], data["found"]
    number = {id(split): k for k, split in enumerate(splits)}
    return lambda _, split: given[number[id(split)], split[1]], int((~found).sum())


def installed(peer: Peer, folder: Path) -> Path:
    """Make the peer's environment unless it is there, and give its Python; raises CannotRun."""
    home = folder / peer.name.lower()
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    note = home / "installed.json"
    if note.is_file() and json.loads(note.read_text()) == list(peer.installs):
        return python
    print(f"installing {peer.name} ({peer.licence}) into {home}", file=sys.stderr)
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [str(python), "-m", "pip", "install", "-q", "--only-binary=:all:", *peer.installs],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRun(f"cannot be installed: {_last_line(done.stderr)}")
    note.write_text(json.dumps(list(peer.installs)))
    return python


def run_peer(runner: Path, python: Path, questions: Path, answers: Path, home: Path) -> None:
    """Start a runner and wait for its answers; raises CannotRun with its last words."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "EYETRAX_FACE_LANDMARKER_MODEL": str(MODEL_PATH),
        "SDL_VIDEODRIVER": "dummy",
        "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    }
    command = [str(python), str(runner), str(questions), str(answers)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode or not answers.is_file():
        raise CannotRun(f"failed: {_last_line(done.stderr)}")


def _key(peer: Peer, task: Task, roles: np.ndarray) -> str:
    """Name the questions, the runner and what is installed: any change asks again."""
    digest = hashlib.sha256(json.dumps(peer.installs).encode())
    for source in (peer.runner, HERE / "protocol.py", MODEL_PATH):
        digest.update(source.read_bytes())
    for array in (task.places, roles, *task.pictures):
        digest.update(f"{array.shape}{array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
