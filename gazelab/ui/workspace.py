"""What the pages share: data root, participant, monitor, running source, calibration in force, models.

The one place where the window meets sources, sessions and models. Pages ask it and show; it holds no widget.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QScreen

from gazelab.calibration.gate import CalibrationGate
from gazelab.calibration.profile import Profile, check_fits, list_profiles, load_profile, save_profile
from gazelab.calibration.result import CalibrationResult
from gazelab.config import Settings
from gazelab.core.errors import CalibrationError, ConfigError, GazelabError, SessionError
from gazelab.core.gaze import SourceState
from gazelab.core.geometry import Screen
from gazelab.core.participant import check_participant
from gazelab.pipeline.calibrate import binding_of, profile_facts
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.sessions.names import new_session_id
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import Clock, GazeSource
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.ui import monitors
from gazelab.ui.feature_queue import FeatureQueue
from gazelab.ui.model_host import ModelHost
from gazelab.ui.result_png import save_picture
from gazelab.ui.synthetic_driver import SyntheticDriver
from gazelab.ui.workers import Job, Worker

log = logging.getLogger(__name__)


class Workspace(QObject):
    """State of one run of the app.

    Parameters
    ----------
    root : Path
        The data root.
    settings : Settings, optional
    clock : callable
        Session time, ns.

    Signals
    -------
    changed
        Participant, screen, source or calibration changed.
    told : str, str
        A sentence for the user and its role: "muted", "good", "warn" or "bad".
    """

    changed = pyqtSignal()
    told = pyqtSignal(str, str)

    def __init__(
        self, root: Path, settings: Settings | None = None, clock: Clock = time.perf_counter_ns
    ) -> None:
        super().__init__()
        self.root = root
        self.settings = settings or Settings()
        self.driver = SyntheticDriver()
        self.clock = clock
        self.io = Worker("io")
        self.models = ModelHost()
        self.acquisition: Acquisition | None = None
        self.source: GazeSource | None = None
        self.writer: SessionWriter | None = None
        self.queue = FeatureQueue()
        self._gate = CalibrationGate()
        self._profile_path: Path | None = None
        self._participant = ""
        wanted = self.settings.screen
        self._distance_mm = wanted.distance_mm
        self._sizes = monitors.load_sizes(root)
        self._monitor: QScreen | None = monitors.find_monitor(wanted.name) or QGuiApplication.primaryScreen()
        if self._monitor is not None and math.isfinite(wanted.width_mm) and math.isfinite(wanted.height_mm):
            seen = monitors.screen_of(self._monitor)
            self._sizes[seen.name] = replace(
                seen, width_mm=wanted.width_mm, height_mm=wanted.height_mm, size_source="user"
            )

    # Participant and screen

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

    # Source

    def open_source(self, make: Callable[[], GazeSource], failed: Callable[[GazelabError], None]) -> Job:
        """Open a source in the background; the one before is closed first.

        Raises
        ------
        GazelabError
            There is no monitor, or a recording is running.
        """
        self.check_idle()
        screen = self.screen
        if screen is None:
            raise ConfigError("there is no monitor.", todo="Connect one.")
        before, self.acquisition, self.source = self.acquisition, None, None

        def work(job: Job) -> tuple[GazeSource, Acquisition]:
            if before is not None:
                before.stop()
            job.check()
            source = make()
            acquisition = Acquisition(source, screen)
            acquisition.start()
            if job.cancelled:
                acquisition.stop()
            return source, acquisition

        def done(made: tuple[GazeSource, Acquisition]) -> None:
            self.source, self.acquisition = made
            self.acquisition.add_sink(self.queue)
            self._drop_misfit()

        return self.io.submit(self.tr("opening the source"), work, done, failed)

    def close_source(self) -> None:
        """Stop the source, if one runs."""
        acquisition, self.acquisition, self.source = self.acquisition, None, None
        if acquisition is not None:
            try:
                acquisition.stop()
            except GazelabError as fault:
                self.told.emit(str(fault), "bad")
        self.changed.emit()

    @property
    def state(self) -> SourceState:
        """How the source is doing."""
        return SourceState.IDLE if self.acquisition is None else self.acquisition.state

    @property
    def needs_calibration(self) -> bool:
        """Whether the source gives features that only a calibration turns into gaze."""
        return self.source is not None and self.source.info.has_features

    # Calibration

    def begin_calibration(self) -> None:
        """Put nothing in force: a calibration that fails or is stopped must not leave an older one."""
        self._put(None, None)

    def keep_calibration(self, result: CalibrationResult) -> None:
        """Save a valid calibration as a profile, with a picture of its validation, and put it in force.

        Raises
        ------
        CalibrationError
            It is not valid, or cannot be saved.
        """
        screen, source = self.screen, self.source
        if screen is None or source is None:
            raise CalibrationError("there is no source or no monitor.", todo="Choose both on Setup.")
        profile = Profile.of(result, self._participant, screen, binding_of(source))
        path = save_profile(self.root, profile)
        try:
            save_picture(path, profile)
        except CalibrationError as fault:  # the profile is whole without it
            self.told.emit(str(fault), "warn")
        self._put(profile, path)

    def load_calibration(self, path: Path) -> None:
        """Put a saved calibration in force.

        Raises
        ------
        CalibrationError
            It is broken, or of another participant, screen, source or version.
        """
        screen, source = self.screen, self.source
        if screen is None or source is None:
            raise CalibrationError("there is no source or no monitor.", todo="Choose both on Setup.")
        profile = load_profile(path)
        check_fits(profile, self._participant, screen, binding_of(source))
        self._put(profile, path)

    def saved_calibrations(self) -> list[Path]:
        """Give this participant's saved calibrations, newest first."""
        return list_profiles(self.root, self._participant) if self._participant else []

    def override(self, note: str) -> None:
        """Allow a recording without a calibration; the note is written into it. "" takes it back."""
        if note:
            self._gate.override(note)
        else:
            self._gate.drop()
        self.changed.emit()

    @property
    def overridden(self) -> bool:
        """Whether a recording without a calibration has been allowed, for this participant and screen."""
        return self.profile is None and bool(self._gate.header()["note"])

    @property
    def profile(self) -> Profile | None:
        """The calibration in force."""
        return self._gate.profile

    def may_record(self) -> str:
        """Say why a recording may not begin; "" if it may."""
        if self.source is None:
            return self.tr("No source is running: choose one on Setup.")
        if not self._participant:
            return self.tr("There is no participant code: give one on Setup.")
        screen = self.screen
        if screen is None:
            return self.tr("There is no monitor.")
        if self.needs_calibration:
            try:
                self._gate.check(self._participant, screen, binding_of(self.source))
            except CalibrationError as fault:
                return str(fault)
        return ""

    # Recording

    def check_idle(self) -> None:
        """Refuse what would spoil a recording.

        Raises
        ------
        SessionError
            One is running.
        """
        if self.writer is not None:
            raise SessionError("a recording is running.", todo="Stop it first.")

    def start_session(self, label: str, *, for_dataset: bool) -> SessionWriter:
        """Create a session and let the source write into it.

        Raises
        ------
        GazelabError
            The gate is shut (`may_record`), or the session cannot be created.
        """
        why = self.may_record()
        source, acquisition, screen = self.source, self.acquisition, self.screen
        if why or source is None or acquisition is None or screen is None:
            raise CalibrationError(why)
        profile, path, said = self._gate.profile, self._profile_path, self._gate.header()
        calibrated = bool(said["calibrated"])
        header = header_for(
            source,
            screen,
            self._participant,
            calibrated=calibrated,
            for_dataset=for_dataset and (calibrated or not self.needs_calibration),
            profile=profile_facts(profile, path.name) if profile is not None and path is not None else {},
            note=str(said["note"]),
        )
        writer = SessionWriter.create(self.root, new_session_id(label), header, clock=self.clock)
        if path is not None:
            writer.calibration(path)
        acquisition.add_sink(writer)
        self.writer = writer
        return writer

    def end_session(self) -> Path | None:
        """Close the session that is being written, if any; gives its folder."""
        writer, self.writer = self.writer, None
        if writer is None:
            return None
        if self.acquisition is not None:
            self.acquisition.remove_sink(writer)
        try:
            writer.close()
        except GazelabError as fault:
            self.told.emit(str(fault), "bad")
        return writer.path

    def close(self) -> bool:
        """Save what is being recorded, then stop everything.

        Returns
        -------
        bool
            False if a thread is stuck in a library and the process must be ended the hard way.
        """
        self.end_session()
        self.close_source()
        stopped = [self.io.stop(), self.models.close()]
        return all(stopped)

    def _screen_changed(self) -> None:
        """Tell the running source's detector, and take a calibration for another screen out of force."""
        screen = self.screen
        if self.acquisition is not None and screen is not None:
            self.acquisition.screen = screen
        self._drop_misfit()

    def _drop_misfit(self) -> None:
        """Take a calibration out of force when it belongs to another person, screen or source."""
        profile, screen, source = self._gate.profile, self.screen, self.source
        if profile is None:
            self._gate.drop()
        elif screen is not None and source is not None:
            try:
                check_fits(profile, self._participant, screen, binding_of(source))
            except CalibrationError as fault:
                self._put(None, None)
                self.told.emit(self.tr("No calibration is in force: {why}").format(why=fault), "warn")
        self.changed.emit()

    def _put(self, profile: Profile | None, path: Path | None) -> None:
        self._profile_path = path
        if profile is None:
            self._gate.drop()
        else:
            self._gate.put(profile)
        if isinstance(self.source, CameraGaze):
            self.source.use(profile)
        self.changed.emit()
