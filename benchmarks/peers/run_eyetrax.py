"""EyeTrax with its defaults: its landmark features, its rule for blinks in a calibration, its ridge.

Its landmarker works in video mode, which smooths from picture to picture; single pictures are none of a
stream, so each gets a fresh one. A test picture that EyeTrax takes for a blink is answered all the same.
"""

from __future__ import annotations

import os

import numpy as np
from eyetrax.gaze import GazeEstimator, _create_face_landmarker
from protocol import serve


class EyeTrax:
    """One estimator, so that its running mean of eye openness is kept."""

    def __init__(self) -> None:
        self._model_path = os.environ["EYETRAX_FACE_LANDMARKER_MODEL"]
        self._estimator = GazeEstimator()

    def features(self, bgr: np.ndarray) -> tuple[np.ndarray | None, bool]:
        self._estimator.close()
        _, self._estimator._face_landmarker = _create_face_landmarker(model_path=self._model_path)
        features, blink = self._estimator.extract_features(bgr)
        return features, not blink

    def answer(self, features: np.ndarray, places: np.ndarray, tests: np.ndarray) -> np.ndarray:
        self._estimator.train(features, places)
        return self._estimator.predict(tests)


if __name__ == "__main__":
    serve(EyeTrax())
