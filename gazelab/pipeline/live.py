"""Live acquisition: one thread takes samples from a source, keeps them in a ring and hands them to sinks."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import GazelabError
from gazelab.core.gaze import GAZE_DTYPE, GazeArray, GazeView, SourceState
from gazelab.core.geometry import Placement, Screen
from gazelab.pipeline.trial_fixations import TrialFixations
from gazelab.pipeline.view import build_view
from gazelab.processing.shifts import Shift, shifted
from gazelab.sources.base import GazeSource, Reading

log = logging.getLogger(__name__)

RING_SIZE = 8192
POLL_S = 0.05
STOP_DEADLINE_S = 2.0


class Sink(Protocol):
    """Takes what was measured; a session writer is one."""

    def gaze(self, samples: GazeArray) -> None:
        """Take samples, shape (n,), GAZE_DTYPE, as measured."""

    def features(self, rows: NDArray[np.void]) -> None:
        """Take the features of the same frames, shape (n,), FEATURE_DTYPE."""


class Acquisition:
    """Pump a gaze source into a ring of recent samples and into sinks.

    The thread calls `pump`; a test calls it too. What goes to the sinks is raw: nothing is smoothed, and no
    correction is in it. The view and the fixations have the correction that `correct` put in force.

    Parameters
    ----------
    source : GazeSource
        Opened by `start` (or by the caller who pumps by hand).
    screen : Screen
        The screen that the samples' px are on.
    ring_size : int
        How many recent samples `snapshot` can look back on.

    Attributes
    ----------
    error : GazelabError or None
        What ended the loop.
    n_valid : int
        How many samples with gaze have come in.
    newest_ns : int
        The newest sample's time; 0 before the first.
    """

    def __init__(self, source: GazeSource, screen: Screen, ring_size: int = RING_SIZE) -> None:
        self.source = source
        self.screen = screen
        self.error: GazelabError | None = None
        self._ring = np.zeros(ring_size, GAZE_DTYPE)
        self._count = 0
        self._sunk_from = 0  # what came before the newest sink is in no recording, so no trial may see it
        self.n_valid = 0
        self.newest_ns = 0
        self._lock = threading.Lock()
        self._sinks: tuple[Sink, ...] = ()
        self._latest: Reading | None = None
        self._trial: TrialFixations | None = None
        self._placement: Placement | None = None
        self._shifts: list[Shift] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> SourceState:
        """How the source is doing; ERROR once the loop failed."""
        return SourceState.ERROR if self.error is not None else self.source.state

    @property
    def latest(self) -> Reading | None:
        """The newest reading, with its frame if the source has one (for the preview)."""
        return self._latest

    @property
    def count(self) -> int:
        """How many samples have come in so far."""
        return self._count

    def add_sink(self, sink: Sink) -> None:
        """Hand all samples from now on to `sink` too."""
        with self._lock:
            self._sinks = (*self._sinks, sink)
            self._sunk_from = self._count

    def remove_sink(self, sink: Sink) -> None:
        """Hand no more samples to `sink`."""
        with self._lock:
            self._sinks = tuple(s for s in self._sinks if s is not sink)

    def begin_trial(self, placement: Placement | None, onset_ns: int) -> None:
        """Start a trial: fixations are detected on samples from `onset_ns` on."""
        with self._lock:
            self._trial = TrialFixations(self.screen, onset_ns)
            self._placement = placement
            recent = self._recent()
            n_before = len(recent) - min(len(recent), self._count - self._sunk_from)
            self._trial.push(shifted(recent[n_before:], self._shifts))

    def move_stimulus(self, placement: Placement) -> None:
        """Tell where the stimulus lies from now on."""
        with self._lock:
            self._placement = placement

    def end_trial(self, offset_ns: int) -> None:
        """End the trial: samples up to `offset_ns` still count when they arrive later."""
        with self._lock:
            if self._trial is not None:
                self._trial.end_at(offset_ns)

    @property
    def correction_px(self) -> tuple[float, float]:
        """What is added to the gaze now: + right, + down."""
        with self._lock:
            return (self._shifts[-1].dx_px, self._shifts[-1].dy_px) if self._shifts else (0.0, 0.0)

    def correct(self, dx_px: float, dy_px: float, time_ns: int) -> int:
        """Put a correction in force in place of the one before; for the view and the fixations alone.

        Parameters
        ----------
        dx_px, dy_px : float
            + right, + down; added to the gaze as measured.
        time_ns : int
            Now.

        Returns
        -------
        int
            The sample time from which on it counts: `time_ns`, or just after the newest sample if that is
            later. Whoever goes by this rule gets what was seen live.
        """
        with self._lock:
            from_ns = max(time_ns, self.newest_ns + 1)
            self._shifts.append(Shift(from_ns, dx_px, dy_px))
            return from_ns

    def drop_corrections(self) -> None:
        """Correct nothing any more: another calibration or another session begins."""
        with self._lock:
            self._shifts.clear()

    def pump(self, timeout_s: float = 0.0) -> int:
        """Take what the source has and pass it on.

        Returns
        -------
        int
            How many samples came.
        """
        readings = self.source.read(timeout_s)
        if not readings:
            return 0
        samples = np.array([r.sample for r in readings], GAZE_DTYPE)
        rows = [r.features for r in readings if r.features is not None]
        with self._lock:
            for sample in samples:  # one, or a device's few
                self._ring[self._count % len(self._ring)] = sample
                self._count += 1
            self.n_valid += int(np.count_nonzero(samples["valid"]))
            self.newest_ns = int(samples["time_ns"][-1])
            self._latest = readings[-1]
            if self._trial is not None:
                self._trial.push(shifted(samples, self._shifts))
            sinks = self._sinks
        for sink in sinks:
            sink.gaze(samples)
            if rows:
                sink.features(np.array(rows))
        return len(samples)

    def snapshot(self, tail_ns: int = 1_500_000_000) -> GazeView:
        """Give what a canvas draws now: the newest `tail_ns` of samples and the trial's fixations."""
        with self._lock:
            samples = shifted(self._recent(), self._shifts)
            fixations = None if self._trial is None else self._trial.emitted()
            placement = self._placement
        now_ns = int(samples["time_ns"][-1]) if len(samples) else 0
        return build_view(now_ns, samples, fixations, placement, self.state, tail_ns)

    def start(self) -> None:
        """Open the source and run `pump` in a thread of its own."""
        if self._thread is not None:
            return
        self.source.open()
        self.error = None
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="gazelab-acquisition", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and close the source; may be called twice.

        Raises
        ------
        GazelabError
            The thread did not end within two seconds.
        """
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(STOP_DEADLINE_S)
        self.source.close()
        if thread is not None and thread.is_alive():
            raise GazelabError(
                "the source does not stop.",
                where=self.source.info.device,
                todo="What was recorded is safe; unplug the device or restart gazelab.",
            )

    def _recent(self) -> GazeArray:
        """Copy the ring, oldest first; call it with the lock held."""
        n = min(self._count, len(self._ring))
        return self._ring[(self._count - n + np.arange(n)) % len(self._ring)]

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.pump(POLL_S)
            except GazelabError as fault:
                log.error("acquisition stopped: %s", fault)
                self.error = fault
                return
            except Exception as fault:
                log.exception("acquisition failed")
                self.error = GazelabError(f"acquisition failed: {fault}", where=self.source.info.device)
                return
            if self.source.state is SourceState.ENDED:
                return
