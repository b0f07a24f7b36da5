"""Record a session: nothing is overwritten, a killed process loses no more than the last moment."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import SessionError
from gazelab.core.gaze import SourceState
from gazelab.core.picture import Picture, encode_png
from gazelab.sessions.files import replace_file, write_fault
from gazelab.sessions.markers import MarkerKind, encode_marker
from gazelab.sessions.names import session_path
from gazelab.sessions.profiles import copy_profile
from gazelab.sessions.schema import Anchor, SessionHeader, Summary
from gazelab.sessions.streams import Streams

log = logging.getLogger(__name__)

FLUSH_S = 0.010
"""Longest wait before rows go to the kernel; what is there survives a killed process."""
QUEUE_BYTES = 32 * 1024 * 1024
"""About four minutes of gaze at 1200 Hz."""
CLOSE_S = 30.0


class SessionWriter:
    """A session being recorded. Made by `create`; closed by `close` or at the end of a `with` block.

    `gaze`, `features` and `marker` only copy and return, on any thread; one thread of its own writes.
    """

    def __init__(
        self,
        path: Path,
        header: SessionHeader,
        *,
        clock: Callable[[], int],
        utc_clock: Callable[[], int],
        flush_s: float,
        queue_bytes: int,
    ) -> None:
        self.path = path
        self._clock, self._utc_clock, self._flush_s = clock, utc_clock, flush_s
        self._header = replace(header, session_id=path.name, started=self._anchor())
        self._replace_header()
        self._streams = Streams(path, queue_bytes)
        self._n_trials = 0
        self._fault: SessionError | None = None
        self._fault_told = False
        self._closed = False
        self._close_lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write_loop, name=f"writer {path.name}", daemon=True)
        assert self._header.started is not None
        self._put_marker({"time_ns": self._header.started.clock_ns, "kind": MarkerKind.SESSION_START})
        # Here and now, so that a disk without room is told before anyone sits down to read.
        try:
            self._streams.drain()
        except OSError:
            self._streams.close()
            raise
        self._thread.start()

    @classmethod
    def create(
        cls,
        root: Path | str,
        session_id: str,
        header: SessionHeader,
        *,
        clock: Callable[[], int] = time.perf_counter_ns,
        utc_clock: Callable[[], int] = time.time_ns,
        flush_s: float = FLUSH_S,
        queue_bytes: int = QUEUE_BYTES,
    ) -> SessionWriter:
        """Start a session in a new folder `<root>/sessions/<session_id>`.

        Parameters
        ----------
        root : path
            The data root.
        session_id : str
            See `names.check_session_id`, `names.new_session_id`.
        header : SessionHeader
            The id, anchors and totals in it are filled in here.
        clock : callable
            The clock of every time stamp, ns.
        utc_clock : callable
            UTC, ns since 1970; read once at the start and once at the end.
        flush_s : float
            How often what waits is written.
        queue_bytes : int
            How much of a stream may wait; rows beyond are dropped, counted and marked as a gap.

        Raises
        ------
        ConfigError
            The participant's code cannot be.
        SessionError
            A bad id, a session of this id exists, or the folder cannot be written.
        """
        path = session_path(Path(root), session_id)
        header.to_json()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError as fault:
            raise SessionError(
                "there is already a session of this id, and none is overwritten.",
                where=path,
                todo="Choose another id.",
            ) from fault
        except OSError as fault:
            raise write_fault(fault, path, "no session was started") from fault
        try:
            return cls(
                path, header, clock=clock, utc_clock=utc_clock, flush_s=flush_s, queue_bytes=queue_bytes
            )
        except OSError as fault:
            shutil.rmtree(path, ignore_errors=True)
            raise write_fault(fault, path, "no session was started") from fault

    @property
    def session_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def header(self) -> SessionHeader:
        """As it stands in session.json."""
        return self._header

    @property
    def fault(self) -> SessionError | None:
        """What stopped the writing, such as a full disk; None while all is well."""
        return self._fault

    @property
    def state(self) -> SourceState:
        """OK, ENDED after `close`, or ERROR once writing has failed: for the operator's eyes."""
        if self._fault is not None:
            return SourceState.ERROR
        return SourceState.ENDED if self._closed else SourceState.OK

    def gaze(self, samples: NDArray[np.void] | np.void) -> None:
        """Append gaze samples (GAZE_DTYPE): an array or one record, in any order of time.

        Raises
        ------
        SessionError
            Another dtype, the session is closed, or writing has failed.
        """
        self._check_open()
        self._streams.gaze.put(samples)

    def features(self, rows: NDArray[np.void] | np.void) -> None:
        """Append eye features (FEATURE_DTYPE): as `gaze`."""
        self._check_open()
        self._streams.features.put(rows)

    def marker(self, marker: Mapping[str, Any]) -> None:
        """Append a marker: `time_ns`, `kind` (MarkerKind) and what that kind must say (`markers.REQUIRED`).

        Raises
        ------
        SessionError
            See `markers.encode_marker`; the session is closed, or writing has failed.
        """
        self._check_open()
        try:
            self._put_marker(marker)
        except SessionError:
            self._streams.markers.n_refused += 1
            raise
        self._n_trials += marker["kind"] == MarkerKind.STIMULUS_ON

    def stimulus(self, picture: Picture) -> str:
        """Store a picture as shown, once; give its file name in stimuli/, `<sha256>.png`.

        Encodes and writes on the caller's thread: call it before the chart is shown.

        Raises
        ------
        SessionError
            The disk is full or not writable.
        """
        self._check_open()
        file = self.path / "stimuli" / f"{picture.sha256}.png"
        try:
            file.parent.mkdir(exist_ok=True)
            if not file.exists():
                replace_file(file, encode_png(picture.rgb))
        except OSError as fault:
            raise write_fault(fault, file, "the picture was not stored") from fault
        return file.name

    def calibration(self, profile_folder: Path | str) -> str:
        """Copy a calibration profile; give its place in the session, `calibration/<its name>`.

        Raises
        ------
        SessionError
            No such folder, links in it, or it cannot be written.
        """
        self._check_open()
        return copy_profile(Path(profile_folder), self.path / "calibration")

    def close(self) -> None:
        """Write what waits, the session's end and its totals; may be called twice.

        Raises
        ------
        SessionError
            Writing has failed and no call has said so yet.
        """
        with self._close_lock:
            if self._closed:
                return
            ended = self._anchor()
            self._put_marker({"time_ns": ended.clock_ns, "kind": MarkerKind.SESSION_END})
            self._closed = True
            self._stop.set()
            self._thread.join(CLOSE_S)
            if self._thread.is_alive():
                self._fail(OSError("the disk does not answer"))
            else:
                self._finish(ended)
        if not self._fault_told:
            self._tell_fault()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if fault is None:
            self.close()
            return
        # The fault under way is what the caller must see; ours is in the log and in session.json.
        with contextlib.suppress(SessionError):
            self.close()

    def _put_marker(self, marker: Mapping[str, Any]) -> None:
        self._streams.markers.lane.put(encode_marker(marker), 1)

    def _check_open(self) -> None:
        self._tell_fault()
        if self._closed:
            raise SessionError("the session is closed.", where=self.path, todo="Start a new session.")

    def _tell_fault(self) -> None:
        fault = self._fault
        if fault is not None:
            self._fault_told = True
            # Afresh each time: one raised again and again would carry an ever longer traceback.
            raise SessionError(fault.what, where=fault.where, todo=fault.todo)

    def _write_loop(self) -> None:
        try:
            while not self._stop.wait(self._flush_s):
                self._streams.drain()
            self._streams.drain()
        except Exception as fault:  # noqa: BLE001  whatever it is, the operator must see it
            self._fail(fault)
            # A marker may still fit where a block of samples did not.
            with contextlib.suppress(OSError):
                self._streams.markers.drain(b"")
        refusal = self._streams.close()
        if refusal is not None:
            self._fail(refusal)

    def _fail(self, fault: Exception) -> None:
        log.error("session %s: writing stopped: %s", self.session_id, fault)
        self._fault = write_fault(fault, self.path)

    def _finish(self, ended: Anchor) -> None:
        """Seal session.json: the end, what came of each stream, and the fault if there was one."""
        gaze = self._streams.gaze
        self._header = replace(
            self._header,
            ended=ended,
            closed=True,
            fault="" if self._fault is None else self._fault.what,
            totals=self._streams.totals(),
            summary=Summary(self._n_trials, gaze.n_valid, gaze.first_ns, gaze.last_ns),
        )
        if gaze.n_bad_stamps:
            log.warning("session %s: %d bad stamps, kept as they are", self.session_id, gaze.n_bad_stamps)
        try:
            self._replace_header()
        except OSError as fault:
            if self._fault is None:
                self._fail(fault)

    def _replace_header(self) -> None:
        replace_file(self.path / "session.json", self._header.to_json())

    def _anchor(self) -> Anchor:
        return Anchor(self._clock(), self._utc_clock())
