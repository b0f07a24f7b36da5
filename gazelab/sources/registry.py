"""Sources by name: the one table that the command line, the window and the settings share."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gazelab.calibration.head_box import HeadBox
from gazelab.core.errors import ConfigError
from gazelab.core.geometry import Screen
from gazelab.sources.base import DEFAULT_ASK, CameraAsk, Clock, FrameSource, GazeSource
from gazelab.sources.camera_gaze import CameraGaze, Predicts
from gazelab.sources.pointer import Position
from gazelab.sources.synthetic_script import GazeScript, random_looks

WANDER_NS = 600_000_000_000
SYNTHETIC_BLINKS_PER_MIN = 10.0


@dataclass(frozen=True)
class Wanted:
    """What a source is made from; each takes what it needs.

    Attributes
    ----------
    device : str
        A camera's number or name, a video file, or a session's folder.
    ask : CameraAsk
        Of a camera.
    screen : Screen or None
        What the synthetic participant looks at.
    position : callable or None
        The pointer's place in screen px.
    script : GazeScript or None
        The synthetic participant's; looks about at random without one.
    mapping : Predicts or None
        A calibration's, for the sources with a camera and for a session recorded with one.
    head_box : HeadBox or None
        Of the same calibration.
    paced : bool
        Whether a file or a synthetic participant keeps real time.
    seed : int
    clock : callable
    """

    device: str = ""
    ask: CameraAsk = DEFAULT_ASK
    screen: Screen | None = None
    position: Position | None = None
    script: GazeScript | None = None
    mapping: Predicts | None = None
    head_box: HeadBox | None = None
    paced: bool = True
    seed: int = 0
    clock: Clock = time.perf_counter_ns


def check_source(name: str) -> None:
    """Refuse a source that there isn't, before anything is opened for it.

    Raises
    ------
    ConfigError
        No such source, with the nearest name.
    """
    if name not in SOURCES:
        near = difflib.get_close_matches(name, SOURCES, 1, 0.5)
        todo = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(SOURCES)}."
        raise ConfigError("there is no such source.", where=name, todo=todo)


def open_source(
    name: str,
    *,
    device: str = "",
    ask: CameraAsk = DEFAULT_ASK,
    screen: Screen | None = None,
    position: Position | None = None,
    script: GazeScript | None = None,
    mapping: Predicts | None = None,
    head_box: HeadBox | None = None,
    paced: bool = True,
    seed: int = 0,
    clock: Clock = time.perf_counter_ns,
) -> GazeSource:
    """Make the source of that name; the caller opens it, best as a context manager.

    Parameters
    ----------
    name : {"webcam", "video", "synthetic", "recorded", "pointer"}
    device, ask, screen, position, script, mapping, head_box, paced, seed, clock
        As in `Wanted`.

    Raises
    ------
    ConfigError
        No such source (with the nearest name), or something that it needs is missing.
    CameraError, SessionError
        The device named isn't there.
    """
    check_source(name)
    wanted = Wanted(device, ask, screen, position, script, mapping, head_box, paced, seed, clock)
    return SOURCES[name](wanted)


def _webcam(wanted: Wanted) -> GazeSource:
    from gazelab.sources.webcam import Webcam

    device = wanted.device or "0"
    camera = Webcam(int(device) if device.isdigit() else device, ask=wanted.ask, clock=wanted.clock)
    return _with_face(camera, wanted)


def _video(wanted: Wanted) -> GazeSource:
    from gazelab.sources.video import VideoFile

    path = _need(wanted.device, "video", "the file: --device FILE")
    return _with_face(VideoFile(path, wanted.paced, clock=wanted.clock), wanted)


def _synthetic(wanted: Wanted) -> GazeSource:
    from gazelab.sources.synthetic import SyntheticParticipant

    screen = wanted.screen
    if screen is None or not screen.has_degrees:
        raise ConfigError("the synthetic participant needs a screen with its size and distance in mm.")
    start_ns = wanted.clock()
    rng = np.random.default_rng(wanted.seed)
    script = wanted.script or GazeScript(screen, random_looks(screen, start_ns, WANDER_NS, rng))
    participant = SyntheticParticipant(
        script,
        screen,
        blink_rate_per_min=SYNTHETIC_BLINKS_PER_MIN,
        paced=wanted.paced,
        seed=wanted.seed,
        clock=wanted.clock,
    )
    return _with_face(participant, wanted)


def _recorded(wanted: Wanted) -> GazeSource:
    from gazelab.sources.recorded import Recorded

    folder = _need(wanted.device, "recorded", "the session's folder: --device FOLDER")
    return Recorded(
        folder, wanted.paced, mapping=wanted.mapping, head_box=wanted.head_box, clock=wanted.clock
    )


def _pointer(wanted: Wanted) -> GazeSource:
    from gazelab.sources.pointer import Pointer

    if wanted.position is None:
        raise ConfigError(
            "the pointer can only be read from a window.", todo="Start the app, or use another source."
        )
    return Pointer(wanted.position, clock=wanted.clock)


SOURCES: dict[str, Callable[[Wanted], GazeSource]] = {
    "webcam": _webcam,
    "video": _video,
    "synthetic": _synthetic,
    "recorded": _recorded,
    "pointer": _pointer,
}


def _with_face(frames: FrameSource, wanted: Wanted) -> CameraGaze:
    from gazelab.sources.face import FaceReader

    return CameraGaze(frames, FaceReader(), wanted.mapping, wanted.head_box, clock=wanted.clock)


def _need(device: str, name: str, what: str) -> str:
    if not device:
        raise ConfigError(f"the source {name!r} needs {what}.")
    return device
