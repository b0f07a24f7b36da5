"""GazeFollower with its defaults: its face alignment and network, its ridge on the network's features.

Its filter of gaze and of landmarks is for a stream and not used (the latter is off by default). Its ridge is
linear in the targets, so that px or degrees do as well as its shares of the screen.
"""

from __future__ import annotations

import numpy as np
from gazefollower.calibration import MultivariateRidgeCalibration
from gazefollower.face_alignment import MediaPipeFaceAlignment
from gazefollower.gaze_estimator import MGazeNetGazeEstimator
from gazefollower.misc import DefaultConfig
from protocol import serve


class GazeFollower:
    """What `GazeFollower.process_frame` does with a picture, without its camera and windows."""

    def __init__(self) -> None:
        config = DefaultConfig()
        self._least_openness = config.eye_blink_threshold
        self._alignment = MediaPipeFaceAlignment(enable_filter=config.enable_face_filter)
        self._estimator = MGazeNetGazeEstimator()

    def features(self, bgr: np.ndarray) -> tuple[np.ndarray | None, bool]:
        face = self._alignment.detect(0, bgr)
        gaze = self._estimator.detect(bgr, face)
        if not gaze.status or gaze.features is None:
            return None, False
        return gaze.features, min(face.left_eye_openness, face.right_eye_openness) > self._least_openness

    def answer(self, features: np.ndarray, places: np.ndarray, tests: np.ndarray) -> np.ndarray:
        calibration = MultivariateRidgeCalibration()
        calibrated = calibration.calibrate(features, places)[0]
        if not calibrated:
            return np.full((len(tests), 2), np.nan)
        return np.array([calibration.predict(row, None)[1] for row in tests])


if __name__ == "__main__":
    serve(GazeFollower())
