"""EyeGestures 3 with its defaults: its key points, relative to the first face, and its calibrator's ridge.

Its mean over the last twenty answers is for a stream and not used. A picture in which its face mesh finds
nothing makes it raise.
"""

from __future__ import annotations

import numpy as np
from eyeGestures import EyeGestures_v3
from eyeGestures.calibration_v2 import Calibrator
from protocol import serve


class EyeGestures:
    """What `EyeGestures_v3.step` does with a picture, at a pace of our own."""

    def __init__(self) -> None:
        self._gestures = EyeGestures_v3()

    def features(self, bgr: np.ndarray) -> tuple[np.ndarray | None, bool]:
        try:
            points = self._gestures.getLandmarks(bgr)[0]
        except TypeError:  # no face: it looks into a result of None
            return None, False
        return points.flatten(), True

    def answer(self, features: np.ndarray, places: np.ndarray, tests: np.ndarray) -> np.ndarray:
        calibrator = Calibrator()
        for row, place in zip(features, places, strict=True):
            calibrator.add(row, place)  # fits anew in a thread of its own
        for thread in calibrator.fit_coroutines:
            thread.join()
        return np.array([calibrator.predict(row) for row in tests])


if __name__ == "__main__":
    serve(EyeGestures())
