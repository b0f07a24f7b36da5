"""What the camera sees now and what is to be said of it: for Setup and for the position check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QCoreApplication

from gazelab.core.gaze import Frame, SourceState
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.ui.hints import Hint, hints
from gazelab.ui.workspace import Workspace


@dataclass(frozen=True, slots=True, eq=False)
class CameraLook:
    """One moment.

    Attributes
    ----------
    frame : Frame
    landmarks_px : numpy.ndarray, shape (478, 3), or None
        Camera px.
    features : numpy.void, FEATURE_DTYPE, or None
    distance_mm : float
        NaN without a face.
    hints : list of Hint
    """

    frame: Frame
    landmarks_px: NDArray[np.float32] | None
    features: np.void | None
    distance_mm: float
    hints: list[Hint]


def has_camera(workspace: Workspace) -> bool:
    """Whether the running source is one with a picture of the participant."""
    return workspace.acquisition is not None and isinstance(workspace.source, CameraGaze)


def camera_look(workspace: Workspace) -> CameraLook | None:
    """Look at the newest picture; None where there is none (yet)."""
    acquisition, source = workspace.acquisition, workspace.source
    if acquisition is None or not isinstance(source, CameraGaze):
        return None
    latest = acquisition.latest
    if latest is None or latest.frame is None:
        return None
    distance_mm = float(latest.sample["distance_mm"])
    tr = QCoreApplication.translate
    if acquisition.state in (SourceState.ENDED, SourceState.ERROR):
        said = [Hint(tr("Hints", "The source has ended; start it again."), "bad")]
    elif source.state is SourceState.LOST:
        said = [Hint(source.reason or tr("Hints", "The camera gives no new pictures."), "bad")]
    else:
        said = hints(latest.frame, latest.features, distance_mm, acquisition.snapshot().rate_hz)
    return CameraLook(latest.frame, source.landmarks_px, latest.features, distance_mm, said)
