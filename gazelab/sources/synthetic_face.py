"""The synthetic participant's face: the packaged picture at camera scale, eyes painted, head moved."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.core.picture import load_picture
from gazelab.processing.features import EYE_CORNERS
from gazelab.sources.synthetic_eye import EyePainter
from gazelab.sources.synthetic_head import HeadPose, HeadWarp

FACE_PATH = Path(__file__).parent / "models" / "face.png"

MM_PER_FACE_PX = 1.39
"""Of the packaged picture: its irises, 8.4 px wide, are 11.7 mm."""

EYES_AT = (0.5, 0.42)
"""Where in the frame the midpoint between the eyes lies."""


@lru_cache(maxsize=1)
def packaged_face() -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Give the face picture and its landmarks (478, 3) in px."""
    from gazelab.sources.face import FaceReader

    rgb = load_picture(FACE_PATH).rgb
    with FaceReader() as reader:
        points = reader.still(rgb).landmarks_px
    if points is None:
        raise RuntimeError("no face in the packaged face picture")
    return rgb, points.astype(np.float64)


class SyntheticFace:
    """Renders the face for any turn of eyes, lids and head.

    Parameters
    ----------
    frame_px : (int, int)
        Width and height.
    focal_px : float
        The camera's.
    distance_mm : float
        Of the eyes from the camera at rest.
    """

    def __init__(self, frame_px: tuple[int, int], focal_px: float, distance_mm: float) -> None:
        from gazelab.core.opencv import cv2

        rgb, points = packaged_face()
        self.px_per_mm = focal_px / distance_mm
        scale = self.px_per_mm * MM_PER_FACE_PX
        between = points[[i for pair in EYE_CORNERS for i in pair], :2].mean(0)
        self.origin_px = np.array(frame_px) * EYES_AT
        shift = self.origin_px - between * scale
        move = np.array([[scale, 0, shift[0] + 0.5 * scale - 0.5], [0, scale, shift[1] + 0.5 * scale - 0.5]])
        self._base: NDArray[np.uint8] = cv2.warpAffine(
            rgb, move, frame_px, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
        )
        placed = points * scale
        placed[:, :2] += shift
        self._eyes = [EyePainter(self._base, placed[:, :2], eye, self.px_per_mm) for eye in range(2)]
        self._warp = HeadWarp(frame_px, placed, tuple(self.origin_px), self.px_per_mm, distance_mm)
        corners = [placed[list(pair), :2].mean(0) for pair in EYE_CORNERS]
        self.eyes_mm = (np.array(corners) - self.origin_px) / self.px_per_mm
        """Eye centres off the midpoint between them, (2, 2): picture right, down; in the order of `EYES`."""

    def render(
        self, eyes_deg: NDArray[np.float64], closure: tuple[float, float], pose: HeadPose
    ) -> NDArray[np.uint8]:
        """Give a frame.

        Parameters
        ----------
        eyes_deg : numpy.ndarray, shape (2, 2)
            Each eye's turn in the head: + to the picture's right, + down.
        closure : (float, float)
            Each eye's lids: 0 open … 1 shut.
        pose : HeadPose

        Returns
        -------
        numpy.ndarray, shape (height, width, 3), uint8
        """
        picture, turn = self._base.copy(), self._warp.seen_turn(pose)
        for painter, (right_deg, down_deg), shut in zip(self._eyes, eyes_deg, closure, strict=True):
            painter.paint(picture, float(right_deg), float(down_deg), shut, turn)
        return self._warp(picture, pose)
