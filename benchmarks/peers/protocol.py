"""What the benchmark and a peer's runner say to each other: one file of questions, one of answers.

A runner is started by the peer's own Python (numpy is all this module needs) as

    python run_NAME.py QUESTIONS.npz ANSWERS.npz

Questions: `picture_00000`, … (height, width, 3) uint8 RGB; `places` (n, 2), where each picture looked;
`roles` (s, n), one row a split: CALIBRATE, TEST or 0. Answers: `answers` (s, n, 2), NaN where there is none,
and `found` (n,), whether the peer found a face.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Protocol

import numpy as np

CALIBRATE, TEST = 1, 2


class Peer(Protocol):
    """A gaze tracker as its makers call it."""

    def features(self, bgr: np.ndarray) -> tuple[np.ndarray | None, bool]:
        """Give a picture's features (None without a face) and whether the peer would calibrate with it."""

    def answer(self, features: np.ndarray, places: np.ndarray, tests: np.ndarray) -> np.ndarray:
        """Calibrate on features (n, p) and places (n, 2); give places (m, 2) of the test features (m, p)."""


def write_questions(path: Path, pictures: list[np.ndarray], places: np.ndarray, roles: np.ndarray) -> None:
    named = {f"picture_{i:05d}": picture for i, picture in enumerate(pictures)}
    np.savez(path, places=places, roles=roles, **named)


def ask(
    peer: Peer, pictures: list[np.ndarray], places: np.ndarray, roles: np.ndarray
) -> dict[str, np.ndarray]:
    """Read every picture once, then calibrate and test split by split."""
    seen = [peer.features(np.ascontiguousarray(picture[..., ::-1])) for picture in pictures]
    found = np.array([features is not None for features, _ in seen], bool)
    calibrates = found & np.array([usable for _, usable in seen], bool)
    answers = np.full((*roles.shape, 2), np.nan)
    for own, role in zip(answers, roles, strict=True):
        fit = np.flatnonzero((role == CALIBRATE) & calibrates)
        test = np.flatnonzero((role == TEST) & found)
        if len(fit) and len(test):
            own[test] = peer.answer(
                np.stack([seen[i][0] for i in fit]), places[fit], np.stack([seen[i][0] for i in test])
            )
    return {"answers": answers, "found": found}


def serve(peer: Peer) -> None:
    """Be a runner: read the questions named on the command line and write the answers."""
    questions, answers = sys.argv[1:3]
    with np.load(questions) as data, contextlib.redirect_stdout(sys.stderr):
        names = sorted(name for name in data.files if name.startswith("picture_"))
        given = ask(peer, [data[name] for name in names], data["places"], data["roles"])
    np.savez(answers, **given)
