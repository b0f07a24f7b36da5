"""Who sits at which screen: the participant's code, the monitor, its size and the distance to it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QScreen

from gazelab.core.geometry import Screen
from gazelab.core.participant import check_participant
from gazelab.settings import Settings
from gazelab.ui import monitors


class Seat(QObject):
    """The part of the workspace that is about the participant's place.

    Parameters
    ----------
    root : Path
        The data root, where measured sizes are kept.
    settings : Settings

    Signals
    -------
    changed
        Participant, screen, source or calibration changed.
    told : str, str
        A sentence for the user and its role: "muted", "good", "warn" or "bad".
    """

    changed = pyqtSignal()
    told = pyqtSignal(str, str)

    def __init__(self, root: Path, settings: Settings) -> None:
        super().__init__()
        self.root = root
        self.settings = settings
        self._participant = ""
        wanted = settings.screen
        self._distance_mm = wanted.distance_mm
        self._sizes = monitors.load_sizes(root)
        self._monitor: QScreen | None = monitors.find_monitor(wanted.name) or QGuiApplication.primaryScreen()
        if self._monitor is not None and math.isfinite(wanted.width_mm) and math.isfinite(wanted.height_mm):
            seen = monitors.screen_of(self._monitor)
            self._sizes[seen.name] = replace(
                seen, width_mm=wanted.width_mm, height_mm=wanted.height_mm, size_source="user"
            )

    @property
    def participant(self) -> str:
        """The participant's code; "" until there is one."""
        return self._participant

    def set_participant(self, code: str) -> None:
        """Set the participant; another one's calibration is no longer in force.

        Raises
        ------
        GazelabError
            Not a code of letters and digits: there is no participant then; or a recording is running.
        """
        if code != self._participant:
            self.check_idle()
        self._participant = ""  # a code that cannot be leaves none: nobody is recorded as the one before
        try:
            self._participant = check_participant(code) if code else ""
        finally:
            self._drop_misfit()

    @property
    def monitor(self) -> QScreen | None:
        """The monitor that the participant looks at."""
        return self._monitor

    def set_monitor(self, monitor: QScreen | None) -> None:
        """Choose the monitor.

        Raises
        ------
        SessionError
            A recording is running.
        """
        self.check_idle()
        self._monitor = monitor
        self._screen_changed()

    def lose_monitor(self) -> None:
        """Fall back to the primary monitor: the chosen one was unplugged."""
        self._monitor = QGuiApplication.primaryScreen()
        self._screen_changed()

    @property
    def screen(self) -> Screen | None:
        """That monitor in physical px and, where known, mm."""
        if self._monitor is None:
            return None
        return monitors.screen_of(self._monitor, self._sizes, self._distance_mm)

    def set_size(self, screen: Screen) -> None:
        """Keep a monitor's measured size for this run and the next.

        Raises
        ------
        ConfigError
            Such a screen cannot be.
        """
        screen.check_plausible()
        self._sizes[screen.name] = replace(screen, distance_mm=math.nan)
        try:
            monitors.save_size(self.root, screen)
        except OSError as fault:
            self.told.emit(self.tr("The screen's size could not be kept: {why}").format(why=fault), "warn")
        self._screen_changed()

    def set_distance(self, distance_mm: float) -> None:
        """Set the distance from eyes to screen.

        Raises
        ------
        ConfigError
            Out of range.
        """
        screen = self.screen
        if screen is not None:
            replace(screen, distance_mm=distance_mm).check_plausible()
        self._distance_mm = distance_mm
        self._screen_changed()

    def check_idle(self) -> None:
        """Refuse what would spoil a recording.

        Raises
        ------
        SessionError
            One is running.
        """
        raise NotImplementedError

    def _screen_changed(self) -> None:
        """Tell whoever depends on the screen."""
        raise NotImplementedError

    def _drop_misfit(self) -> None:
        """Take out of force what belongs to another person or screen."""
        raise NotImplementedError
