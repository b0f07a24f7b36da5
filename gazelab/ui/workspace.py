"""What the pages share: data root, participant, monitor, running source, calibration in force, models.

The one place where the window meets sources, sessions and models. Pages ask it and show; it holds no widget.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gazelab.calibration.profile import Profile
from gazelab.calibration.result import CalibrationResult
from gazelab.core.errors import CalibrationError, ConfigError, GazelabError, SessionError
from gazelab.core.gaze import SourceState
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.sessions.names import new_session_id
from gazelab.sessions.writer import SessionWriter
from gazelab.settings import Settings
from gazelab.sources.base import Clock, GazeSource
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.ui.calibration_in_force import CalibrationInForce
from gazelab.ui.feature_queue import FeatureQueue
from gazelab.ui.model_host import ModelHost
from gazelab.ui.parts import sentence
from gazelab.ui.result_png import save_picture
from gazelab.ui.seat import Seat
from gazelab.ui.synthetic_driver import SyntheticDriver
from gazelab.ui.workers import Job, Worker

log = logging.getLogger(__name__)


class Workspace(Seat):
    """State of one run of the app.

    Parameters
    ----------
    root : Path
        The data root.
    settings : Settings, optional
    clock : callable
        Session time, ns.

    Its signals are those of `Seat`.
    """

    def __init__(
        self, root: Path, settings: Settings | None = None, clock: Clock = time.perf_counter_ns
    ) -> None:
        super().__init__(root, settings or Settings())
        self.driver = SyntheticDriver()
        self.clock = clock
        self.io = Worker("io")
        model = self.settings.model
        self.models = ModelHost(model.process_above_mb * 1_000_000, model.options)
        self.models.told.connect(lambda text: self.told.emit(text, "warn"))
        self.acquisition: Acquisition | None = None
        self.source: GazeSource | None = None
        self.writer: SessionWriter | None = None
        self.queue = FeatureQueue()
        self._in_force = CalibrationInForce(root)

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
                self.told.emit(sentence(fault), "bad")
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
        profile, path = self._in_force.save(result, self._participant, self.screen, self.source)
        try:
            save_picture(path, profile)
        except CalibrationError as fault:  # the profile is whole without it
            self.told.emit(sentence(fault), "warn")
        self._put(profile, path)

    def load_calibration(self, path: Path) -> None:
        """Put a saved calibration in force.

        Raises
        ------
        CalibrationError
            It is broken, or of another participant, screen, source or version.
        """
        self._put(self._in_force.load(path, self._participant, self.screen, self.source), path)

    def saved_calibrations(self) -> list[Path]:
        """Give this participant's saved calibrations, newest first."""
        return self._in_force.saved(self._participant)

    def override(self, note: str) -> None:
        """Allow a recording without a calibration; the note is written into it. "" takes it back."""
        self._in_force.override(note)
        self.changed.emit()

    @property
    def overridden(self) -> bool:
        """Whether a recording without a calibration has been allowed, for this participant and screen."""
        return self._in_force.overridden

    @property
    def profile(self) -> Profile | None:
        """The calibration in force."""
        return self._in_force.profile

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
                self._in_force.check(self._participant, screen, self.source)
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

    def start_session(self, label: str, *, for_dataset: bool, **more: Any) -> SessionWriter:
        """Create a session and let the source write into it; `more` goes into its header.

        Raises
        ------
        GazelabError
            The gate is shut (`may_record`), or the session cannot be created.
        """
        why = self.may_record()
        source, acquisition, screen = self.source, self.acquisition, self.screen
        if why or source is None or acquisition is None or screen is None:
            raise CalibrationError(why)
        said, path = self._in_force.header(), self._in_force.path
        said["for_dataset"] = for_dataset and (said["calibrated"] or not self.needs_calibration)
        header = header_for(source, screen, self._participant, **said, **more)
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
            self.acquisition.drop_corrections()
        try:
            writer.close()
        except GazelabError as fault:
            self.told.emit(sentence(fault), "bad")
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
        why = self._in_force.drop_misfit(self._participant, self.screen, self.source)
        if why:
            self._put(None, None)
            self.told.emit(self.tr("No calibration is in force: {why}").format(why=why), "warn")
        self.changed.emit()

    def _put(self, profile: Profile | None, path: Path | None) -> None:
        self._in_force.put(profile, path)
        if isinstance(self.source, CameraGaze):
            self.source.use(profile)
        if self.acquisition is not None:
            # Measured with the calibration before: it says nothing of this one.
            self.acquisition.drop_corrections()
        self.changed.emit()
