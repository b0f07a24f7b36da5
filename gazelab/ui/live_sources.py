"""The sources that the window offers, each made from what its form gives."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from PyQt6.QtCore import QObject, QPointF, QTimer
from PyQt6.QtGui import QCursor, QScreen

from gazelab.core.errors import CameraError, ConfigError
from gazelab.core.geometry import Screen
from gazelab.sources.base import DEFAULT_ASK, CameraAsk, Clock, GazeSource
from gazelab.sources.cameras import list_cameras
from gazelab.sources.registry import open_source
from gazelab.sources.synthetic_script import GazeScript

POINTER_MS = 8


class SourceKind(StrEnum):
    """What can be chosen; the names are those of `--source`."""

    WEBCAM = "webcam"
    POINTER = "pointer"
    VIDEO = "video"
    SYNTHETIC = "synthetic"


KINDS = tuple(SourceKind)


class PointerWatch(QObject):
    """Keeps the mouse's place on one monitor, for a source that reads it from its own thread.

    Qt may ask for the cursor on the window's thread only, so a timer asks and the source takes what is there.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._monitor: QScreen | None = None
        self._place: tuple[float, float] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(POINTER_MS)
        self._timer.timeout.connect(self.look)

    def follow(self, monitor: QScreen | None) -> None:
        """Watch the mouse on a monitor; None stops."""
        if monitor is self._monitor:
            return
        self._monitor, self._place = monitor, None
        if monitor is None:
            self._timer.stop()
        else:
            self._timer.start()

    def place(self) -> tuple[float, float] | None:
        """Give the mouse in physical px of the monitor; None while it is on another one."""
        return self._place

    def look(self) -> None:
        """Read the mouse once; the timer calls it."""
        monitor = self._monitor
        if monitor is None:
            return
        at = QCursor.pos()
        if not monitor.geometry().contains(at):
            self._place = None
            return
        inside = QPointF(at - monitor.geometry().topLeft()) * monitor.devicePixelRatio()
        self._place = (inside.x(), inside.y())


def cameras() -> list[tuple[str, str]]:
    """Give the cameras that are there: (device, name)."""
    return [(str(camera.index), camera.name) for camera in list_cameras()]


def factory(
    kind: SourceKind,
    device: str,
    screen: Screen,
    clock: Clock,
    pointer: PointerWatch,
    ask: CameraAsk = DEFAULT_ASK,
) -> Callable[[], GazeSource]:
    """Give a function that makes the source; it is called in a thread of its own.

    Raises
    ------
    CameraError, ConfigError
        What the form gives is not enough.
    """
    if kind is SourceKind.WEBCAM and not device:
        raise CameraError("no camera was found.", todo="Plug one in and look again, or use another source.")
    if kind is SourceKind.VIDEO and not Path(device).is_file():
        raise CameraError("there is no such video.", where=device or None, todo="Choose a file.")
    script: GazeScript | None = None
    if kind is SourceKind.SYNTHETIC:
        if not screen.has_degrees:
            raise ConfigError(
                "the synthetic participant needs the screen's size and distance.", todo="Give both on Setup."
            )
        script = GazeScript(screen)
        script.look_at(screen.width_px / 2, screen.height_px / 2, clock())
    return lambda: open_source(
        kind.value,
        device=device,
        ask=ask,
        screen=screen,
        position=pointer.place,
        script=script,
        seed=1,
        clock=clock,
    )
