"""The sources that the window offers, each made from what its form gives."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from gazelab.core.errors import CameraError, ConfigError
from gazelab.core.geometry import Screen
from gazelab.sources.base import Clock, FrameSource, GazeSource


class SourceKind(StrEnum):
    """What can be chosen."""

    WEBCAM = "webcam"
    POINTER = "pointer"
    VIDEO = "video"
    SYNTHETIC = "synthetic"


KINDS = tuple(SourceKind)


def cameras() -> list[tuple[str, str]]:
    """Give the cameras that are there: (device, name)."""
    return []


def factory(kind: SourceKind, device: str, screen: Screen, clock: Clock) -> Callable[[], GazeSource]:
    """Give a function that makes the source; it is called in a thread of its own.

    Raises
    ------
    ConfigError
        What the form gives is not enough.
    """
    match kind:
        case SourceKind.VIDEO:
            path = Path(device)
            if not path.is_file():
                raise CameraError("there is no such video.", where=device or "-", todo="Choose a file.")
            return lambda: _camera_gaze(_video(path, clock), clock)
        case SourceKind.SYNTHETIC:
            if not screen.has_degrees:
                raise ConfigError(
                    "the synthetic participant needs the screen's size and distance.",
                    todo="Give both below.",
                )
            return lambda: _camera_gaze(_synthetic(screen, clock), clock)
    raise ConfigError("no such source")


def _camera_gaze(frames: FrameSource, clock: Clock) -> GazeSource:
    from gazelab.sources.camera_gaze import CameraGaze
    from gazelab.sources.face import FaceReader

    return CameraGaze(frames, FaceReader(), clock=clock)


def _video(path: Path, clock: Clock) -> FrameSource:
    from gazelab.sources.video import VideoFile

    return VideoFile(path, paced=True, clock=clock)


def _synthetic(screen: Screen, clock: Clock) -> FrameSource:
    from gazelab.sources.synthetic import SyntheticParticipant
    from gazelab.sources.synthetic_script import GazeScript

    script = GazeScript(screen)
    script.look_at(screen.width_px / 2, screen.height_px / 2, clock())
    return SyntheticParticipant(script, screen, blink_rate_per_min=10.0, paced=True, clock=clock, seed=1)
