"""A recorded session, looked at again: the same views as live, and the offline fixations for the scores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import GazelabError
from gazelab.core.gaze import EventArray, GazeArray, GazeView, SourceState
from gazelab.core.geometry import Screen
from gazelab.core.picture import Picture
from gazelab.metrics.density import fixation_density
from gazelab.pipeline.corrected import calibration_of, corrected_gaze, corrections_in_force
from gazelab.pipeline.layers import Layers, check_layers
from gazelab.pipeline.trial_fixations import PAD_NS, TrialFixations
from gazelab.pipeline.view import build_view
from gazelab.processing.blinks import PAD_S, blink_mask
from gazelab.processing.detectors import DEFAULT, detect, detector_named
from gazelab.sessions.corrections import CorrectionLog, read_corrections
from gazelab.sessions.reader import Session
from gazelab.sessions.trials import Trial

Floats = NDArray[np.float64]

DEFAULT_TAIL_NS = 1_500_000_000
RASTER_COLS = 256
"""Width of the raster, laid over the whole picture, on which maps are drawn and scored."""


class Replay:
    """A session's trials, moment by moment.

    Parameters
    ----------
    session : Session
    layers : {"all", "live", "raw"}
        Which corrections the gaze has. "live" gives exactly what was seen while recording; the corrections
        are those in force when the gaze is first asked for.
    detector : str
        What finds the offline fixations: one of `gazelab.processing.detectors.DETECTORS`.
    """

    def __init__(self, session: Session, layers: Layers = "all", detector: str = DEFAULT) -> None:
        check_layers(layers)
        self.detector = detector_named(detector)
        self.session = session
        self.layers: Layers = layers
        self.problem = ""
        self.screen: Screen = session.header.screen
        self.trials: list[Trial] = session.trials()
        self._calibrations: dict[int, Mapping[str, Any]] = {}
        self._online: dict[int, TrialFixations] = {}
        self._offline: dict[int, EventArray] = {}
        self._rows: dict[tuple[int, int], GazeArray] = {}

    @classmethod
    def open(cls, path: Path | str, layers: Layers = "all", detector: str = DEFAULT) -> Replay:
        """Open a session's folder.

        Raises
        ------
        SessionError
            No session there, or a broken one.
        """
        return cls(Session.open(path), layers, detector)

    @classmethod
    def open_or_live(cls, path: Path | str, layers: Layers = "all", detector: str = DEFAULT) -> Replay:
        """Open a session; where its later corrections cannot be followed, as it was live: `problem` says why.

        Raises
        ------
        SessionError
            No session there, or a broken one.
        ConfigError
            There is no such detector here.
        """
        replay = cls.open(path, layers, detector)
        try:
            replay.gaze()
        except GazelabError as fault:
            if layers != "all":
                raise
            replay = cls.open_or_live(path, "live", detector)
            replay.problem = str(fault)
        return replay

    def gaze(self) -> GazeArray:
        """Give every sample of the session with the corrections of these layers, shape (n,), GAZE_DTYPE."""
        return self._gaze

    def calibration(self, trial: Trial) -> Mapping[str, Any]:
        """Give the figures of the calibration that the trial's gaze comes from; {} without one."""
        if trial.index not in self._calibrations:
            found = calibration_of(self.session, trial, self.layers, log=self._log)
            self._calibrations[trial.index] = found
        return self._calibrations[trial.index]

    def recalibrated(self, trial: Trial) -> bool:
        """Whether the trial's gaze was predicted anew, by another calibration than while recording."""
        return self.calibration(trial) is not self.session.header.profile

    @cached_property
    def corrections(self) -> tuple[str, ...]:
        """Say which corrections the gaze has, one sentence each."""
        return tuple(corrections_in_force(self.session, self.layers, log=self._log))

    def corrections_in(self, trial: Trial) -> tuple[str, ...]:
        """Say which corrections this trial's gaze has, one sentence each."""
        return tuple(corrections_in_force(self.session, self.layers, log=self._log, trial=trial))

    def samples(self, trial: Trial) -> GazeArray:
        """Give the trial's samples, shape (n,), GAZE_DTYPE: onset <= time < offset."""
        gaze = self.gaze()
        times = gaze["time_ns"]
        return gaze[(times >= trial.onset_ns) & (times < trial.offset_ns)]

    def picture(self, trial: Trial) -> Picture:
        """Load the chart as it was shown."""
        return self.session.stimulus(trial.picture_sha256)

    def view_at(self, trial: Trial, time_ns: int, tail_ns: int = DEFAULT_TAIL_NS) -> GazeView:
        """Give what a canvas draws at this moment of the trial: with the layers "live", what it drew live.

        Parameters
        ----------
        trial : Trial
        time_ns : int
            On the session's clock.
        tail_ns : int
            How much of the gaze trail to show.
        """
        online = self._online_of(trial)
        n_emitted = int(np.searchsorted(np.asarray(online.emitted_ns, np.int64), time_ns, side="right"))
        return build_view(
            time_ns,
            self._around(trial, tail_ns),
            online.emitted()[:n_emitted],
            trial.placement_at(time_ns),
            SourceState.ENDED,
            tail_ns,
        )

    def online_fixations(self, trial: Trial) -> EventArray:
        """Give the online detector's fixations, EVENT_DTYPE, screen px; with "live" those that were seen."""
        return self._online_of(trial).emitted()

    def fixations(self, trial: Trial) -> EventArray:
        """Give the offline fixations, the set that scores use, shape (n,), EVENT_DTYPE, screen px."""
        if trial.index not in self._offline:
            self._offline[trial.index] = detect(self.detector.name, self._unspoilt(trial), self.screen)
        return self._offline[trial.index]

    def fixations_on_picture(self, trial: Trial) -> tuple[Floats, Floats]:
        """Give the offline fixations on the chart's own pixels.

        Returns
        -------
        xy_px : numpy.ndarray, shape (n, 2)
            Picture px by the logged rectangle; those off the chart are outside [0, width) x [0, height).
        duration_ms : numpy.ndarray, shape (n,)
        """
        events = self.fixations(trial)
        points = [
            trial.placement_at(int(e["onset_ns"])).to_picture(float(e["x_px"]), float(e["y_px"]))
            for e in events
        ]
        duration_ms = (events["offset_ns"] - events["onset_ns"]) / 1e6
        return np.array(points, float).reshape(-1, 2), np.asarray(duration_ms, float)

    def raster_shape(self, trial: Trial) -> tuple[int, int]:
        """Give (rows, cols) of the scoring raster laid over the trial's picture."""
        p = trial.placement
        return max(1, round(RASTER_COLS * p.picture_height_px / p.picture_width_px)), RASTER_COLS

    def density(self, trial: Trial, sigma_raster_px: float) -> Floats:
        """Blur the fixations, weighted by duration, into a density over the picture's raster."""
        xy, duration_ms = self.fixations_on_picture(trial)
        xy = xy * (RASTER_COLS / trial.placement.picture_width_px)
        return fixation_density(xy[:, 0], xy[:, 1], duration_ms, self.raster_shape(trial), sigma_raster_px)

    @cached_property
    def _gaze(self) -> GazeArray:
        gaze = corrected_gaze(self.session, self.layers, log=self._log)
        gaze.flags.writeable = False
        return gaze

    @cached_property
    def _log(self) -> CorrectionLog | None:
        """Read the audit file once, so that what is said of the gaze is what it has."""
        return read_corrections(self.session.path) if self.layers == "all" else None

    def _unspoilt(self, trial: Trial) -> GazeArray:
        """Cut the trial's samples, without gaze where a blink just before or after the trial reaches in."""
        gaze = self.gaze()
        pad_ns, times = round(PAD_S * 1e9), gaze["time_ns"]
        near = gaze[(times >= trial.onset_ns - pad_ns) & (times < trial.offset_ns + pad_ns)]
        near["valid"] &= ~blink_mask(near["time_ns"], near["blink"])
        return near[(near["time_ns"] >= trial.onset_ns) & (near["time_ns"] < trial.offset_ns)]

    def _online_of(self, trial: Trial) -> TrialFixations:
        if trial.index not in self._online:
            online = TrialFixations(self.screen, trial.onset_ns, trial.offset_ns)
            online.push(self._through(trial))
            online.close()
            self._online[trial.index] = online
        return self._online[trial.index]

    def _around(self, trial: Trial, tail_ns: int) -> GazeArray:
        """Cut what any view of the trial may show; so that a moment costs the same in a long session."""
        key = (trial.index, tail_ns)
        if key not in self._rows:
            gaze = self.gaze()
            times = gaze["time_ns"]
            self._rows[key] = gaze[(times > trial.onset_ns - tail_ns) & (times <= trial.offset_ns)]
        return self._rows[key]

    def _through(self, trial: Trial) -> GazeArray:
        """Cut the samples, as recorded, from just before the trial to the first beyond its end."""
        gaze = self.gaze()
        times = gaze["time_ns"]
        begun = np.flatnonzero(times >= trial.onset_ns - PAD_NS)  # a blink there reaches into the trial
        if not len(begun):
            return gaze[:0]
        over = np.flatnonzero(times[begun[0] :] >= trial.offset_ns)
        return gaze[begun[0] : begun[0] + over[0] + 1] if len(over) else gaze[begun[0] :]
