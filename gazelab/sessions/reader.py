"""Open a recorded session: lazily, as it was written, with a report of what was damaged."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import PictureError, SessionError
from gazelab.core.gaze import empty_features, empty_gaze
from gazelab.core.picture import MAX_BYTES, Picture, load_picture
from gazelab.sessions.corrections import FILE_NAME as CORRECTIONS
from gazelab.sessions.corrections import read_corrections
from gazelab.sessions.drift import live_shifts
from gazelab.sessions.files import read_file
from gazelab.sessions.framing import CutHeaderError, FramingError, fit, read_blocks
from gazelab.sessions.markers import Marker, parse_markers
from gazelab.sessions.schema import SessionHeader, header_from_json
from gazelab.sessions.stamps import StampCheck, check_stamps
from gazelab.sessions.trials import Trial, build_trials

MAX_HEADER_BYTES = 16 * 1024 * 1024
MAX_MARKER_BYTES = 256 * 1024 * 1024
MAX_STREAM_BYTES = 8 * 1024 * 1024 * 1024
MAX_TIME_NS = 2**63 - 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Session:
    """A recorded session, read when asked and never changed. Made by `open`.

    Attributes
    ----------
    path : Path
        The session's folder.
    header : SessionHeader
    """

    def __init__(self, path: Path, header: SessionHeader) -> None:
        self.path = path
        self.header = header
        self._notes: dict[str, list[str]] = {}

    @classmethod
    def open(cls, path: Path | str) -> Session:
        """Open a session's folder; only its session.json is read now.

        Raises
        ------
        SessionError
            No session there, a link, or a broken session.json.
        """
        folder = Path(path)
        if folder.is_symlink():
            raise SessionError(
                "a link, not a session.", where=folder, todo="Open the folder that it points to."
            )
        file = folder / "session.json"
        try:
            data = read_file(file, MAX_HEADER_BYTES)
        except (FileNotFoundError, NotADirectoryError) as fault:
            raise SessionError(
                "there is no session (no session.json).",
                where=folder,
                todo="List the sessions with: gazelab sessions list",
            ) from fault
        return cls(folder, header_from_json(data, str(file)))

    @property
    def session_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def derived(self) -> Path:
        """The folder of results; it may not exist, and may be deleted at any time."""
        return self.path / "derived"

    def gaze(self) -> NDArray[np.void]:
        """Every gaze sample as recorded, in the order of recording, whatever was corrected since.

        Returns
        -------
        numpy.ndarray, shape (n,), GAZE_DTYPE
            Read-only. Bad stamps are in it: see `stamps`.

        Raises
        ------
        SessionError
            The file is no gazelab record file, a link, or too large.
        """
        return self._gaze

    def features(self) -> NDArray[np.void]:
        """Every record of eye features, as `gaze`; none if the source has none.

        Returns
        -------
        numpy.ndarray, shape (n,), FEATURE_DTYPE
            Read-only. Of another version of the features, what still means the same is there and none is
            valid: gaze cannot be predicted from them.
        """
        return self._features

    def markers(self) -> list[Marker]:
        """Every marker that can be read, in the order of recording: `time_ns`, `kind`, and more by kind."""
        return self._markers

    def trials(self) -> list[Trial]:
        """Give the charts shown, in order; a trial that was cut off ends with the data."""
        return self._trials

    @property
    def stamps(self) -> StampCheck:
        """Bad stamps of the gaze and where the clock leapt: `.bad` (a mask of the rows), `.segments()`."""
        return self._stamps

    @property
    def end_ns(self) -> int | None:
        """Time of the last sample or marker, on the session's clock; None if there is none."""
        gaze = self.gaze()
        last = [int(gaze["time_ns"][-1])] if len(gaze) else []
        last += [marker["time_ns"] for marker in self.markers()[-1:]]
        return max(last, default=None)

    @property
    def report(self) -> list[str]:
        """What was repaired, left out or is odd: one sentence each; empty for a sound session."""
        for look in (self.gaze, self.features, self.trials, lambda: self.stamps):
            look()
        ending = []
        if self.header.fault:
            ending = [f"recording was stopped by a fault: {self.header.fault}"]
        elif not self.header.closed:
            ending = ["not closed: the recording was cut off, or still runs"]
        lost = [
            f"{totals.n_dropped} rows of {name} were dropped while recording"
            for name, totals in self.header.totals.items()
            if totals.n_dropped
        ]
        repaired = [note for notes in self._notes.values() for note in notes]
        return ending + lost + repaired + self._correction_notes()

    def stimulus(self, sha256: str) -> Picture:
        """Load a picture as it was shown.

        Raises
        ------
        SessionError
            No such picture, no picture, or not the one that was shown.
        """
        if not _SHA256.fullmatch(sha256):
            raise SessionError(f"{sha256[:80]!r} is no picture's sha256.", where=self.path)
        file = self.path / "stimuli" / f"{sha256}.png"
        if file.parent.is_symlink():
            raise SessionError(
                "a link, not a folder.", where=file.parent, todo="Copy the pictures into the session."
            )
        try:
            picture = load_picture(read_file(file, MAX_BYTES), str(file))
        except FileNotFoundError as fault:
            raise SessionError(
                "the picture is missing.", where=file, todo="Restore it from a copy."
            ) from fault
        except PictureError as fault:
            raise SessionError(fault.what, where=file, todo="Restore it from a copy.") from fault
        if picture.sha256 != sha256:
            raise SessionError(
                "not the picture that was shown: its pixels have changed.",
                where=file,
                todo="Restore it from a copy.",
            )
        return picture

    def calibrations(self) -> list[Path]:
        """Give the copies of calibration profiles, oldest first."""
        folder = self.path / "calibration"
        found = [p for p in folder.glob("*") if p.is_dir() and not p.is_symlink()]
        return sorted(found, key=lambda p: (p.stat().st_mtime_ns, p.name))

    def utc_ns(self, time_ns: int) -> int | None:
        """Wall time (UTC, ns since 1970) of a moment on the session's clock, by the anchor at its start."""
        start = self.header.started
        return None if start is None else start.utc_ns + (time_ns - start.clock_ns)

    @cached_property
    def _gaze(self) -> NDArray[np.void]:
        return self._stream("gaze", empty_gaze(1))

    @cached_property
    def _features(self) -> NDArray[np.void]:
        return self._stream("features", empty_features(1))

    @cached_property
    def _markers(self) -> list[Marker]:
        try:
            data = read_file(self.path / "markers.jsonl", MAX_MARKER_BYTES)
        except FileNotFoundError:
            self._notes["markers"] = ["no markers.jsonl: no trials"]
            return []
        markers, self._notes["markers"] = parse_markers(data)
        return markers

    @cached_property
    def _trials(self) -> list[Trial]:
        # Just beyond the last sample, so that a trial that was cut off has it: onset <= time < offset.
        beyond_ns = None if self.end_ns is None else min(self.end_ns + 1, MAX_TIME_NS)
        trials, self._notes["trials"] = build_trials(self.markers(), beyond_ns)
        return trials

    @cached_property
    def _stamps(self) -> StampCheck:
        times = self.gaze()["time_ns"]
        check = check_stamps(times)
        n_bad, n_leaps = int(check.bad.sum()), max(len(check.starts) - 1, 0)
        notes = [f"{n_bad} bad stamp{'s' * (n_bad != 1)}: equal to or before an earlier one"] if n_bad else []
        for row in check.starts[1:].tolist():
            step_s = (int(times[row]) - int(times[row - 1])) / 1e9
            notes.append(f"the clock leapt by {step_s:+.3f} s at row {row}")
        if n_leaps:
            notes.append(f"{n_leaps + 1} segments: nothing joins them")
        self._notes["stamps"] = notes
        return check

    def _correction_notes(self) -> list[str]:
        """Tell what of the corrections cannot be followed; read anew, since that file may grow."""
        _, notes = live_shifts(self.markers())
        try:
            torn = read_corrections(self.path).torn_bytes
        except SessionError as fault:
            return [*notes, f"{CORRECTIONS}: {fault.what}"]
        return [*notes, f"{CORRECTIONS}: a torn last line of {torn} bytes left out"] if torn else notes

    def _stream(self, name: str, like: NDArray[np.void]) -> NDArray[np.void]:
        file = self.path / f"{name}.bin"
        notes = self._notes.setdefault(name, [])
        rows = like[:0]
        try:
            data = read_file(file, MAX_STREAM_BYTES)
            if data:
                found = read_blocks(data)
                rows = self._fitted(name, found.rows, like)
                if found.torn_bytes:
                    notes.append(f"{name}: torn tail of {found.torn_bytes} bytes cut")
                if found.damaged_blocks:
                    notes.append(
                        f"{name}: {found.damaged_blocks} damaged stretches"
                        f" ({found.damaged_bytes} bytes) left out"
                    )
            else:
                notes.append(f"{name}: an empty file, no rows")
        except FileNotFoundError:
            if name == "gaze":
                notes.append("no gaze.bin: no samples")
        except CutHeaderError:
            notes.append(f"{name}: torn tail of {len(data)} bytes cut, no rows")
        except FramingError as fault:
            raise SessionError(f"{fault}.", where=file, todo="Restore it from a copy.") from fault
        rows.flags.writeable = False
        return rows

    def _fitted(self, name: str, rows: NDArray[np.void], like: NDArray[np.void]) -> NDArray[np.void]:
        """Bring rows into today's layout; the gaze can be read whatever became of the features."""
        try:
            return fit(rows, like)
        except FramingError as fault:
            if name != "features":
                raise
            self._notes[name].append(f"{name}: of another version ({fault}): no gaze can be predicted anew")
        today = {n: like.dtype[n].shape for n in like.dtype.names or ()}
        same = [n for n in rows.dtype.names or () if rows.dtype[n].shape == today.get(n)]
        out = fit(rows[same], like)
        out["valid"] = False
        return out
