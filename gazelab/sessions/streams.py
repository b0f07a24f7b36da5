"""The three growing files of a session: who may enter, what waits, what is written."""

from __future__ import annotations

import contextlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import SessionError
from gazelab.core.gaze import FEATURE_DTYPE, GAZE_DTYPE
from gazelab.sessions.files import AppendFile
from gazelab.sessions.framing import blocks, file_header
from gazelab.sessions.lane import Gap, Lane
from gazelab.sessions.markers import MarkerKind, encode_marker
from gazelab.sessions.schema import StreamTotals
from gazelab.sessions.stamps import StampState, check_stamps

log = logging.getLogger(__name__)

MARKER_QUEUE_BYTES = 4 * 1024 * 1024


class RowStream:
    """A file of framed records: `put` on any thread, `drain` on the writer's."""

    def __init__(self, name: str, path: Path, dtype: np.dtype[Any], limit_bytes: int) -> None:
        self.name = name
        self.path = path
        self.dtype = dtype
        self.lane = Lane(limit_bytes, self._span_ns)
        self.n_out = self.n_refused = self.n_bad_stamps = self.n_valid = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._stamps: StampState | None = None
        self._file: AppendFile | None = None

    def open(self) -> None:
        """Make the file, with its header."""
        file = AppendFile(self.path)
        self._file = file
        file.append(file_header(self.name, self.dtype))

    def put(self, rows: Any) -> None:
        """Copy records into the queue.

        Raises
        ------
        SessionError
            No array or record of this stream's dtype; counted as refused.
        """
        if not isinstance(rows, np.ndarray | np.void) or rows.dtype != self.dtype:
            self.n_refused += 1
            kind = f"{type(rows).__name__} of {getattr(rows, 'dtype', '?')}"
            raise SessionError(
                f"{self.name} rows must be records of the {self.name} dtype, not a {kind[:200]}."
            )
        if rows.size:
            self.lane.put(rows.tobytes(), rows.size)

    def drain(self) -> Gap | None:
        """Write what waits; give the gap that follows it."""
        data, n_rows, gap = self.lane.take()
        if n_rows:
            try:
                if self._file is None:
                    self.open()
                assert self._file is not None
                self._file.append(blocks(data, self.dtype.itemsize))
            except OSError:
                self.lane.lose(n_rows)
                raise
            self.n_out += n_rows
            self._look(np.frombuffer(data, self.dtype))
        return gap

    def close(self) -> None:
        """Sync and close the file; may be called twice."""
        if self._file is not None:
            self._file.close()

    def totals(self) -> StreamTotals:
        """Count what came of it so far."""
        lane = self.lane
        return StreamTotals(lane.n_in, self.n_out, lane.n_dropped, self.n_refused, self.n_bad_stamps)

    def _look(self, rows: NDArray[np.void]) -> None:
        times = rows["time_ns"]
        check = check_stamps(times, self._stamps)
        self._stamps = check.state
        self.n_bad_stamps += int(np.count_nonzero(check.bad))
        self.n_valid += int(np.count_nonzero(rows["valid"]))
        stamps = times.tolist()
        low, high = min(stamps), max(stamps)
        self.first_ns = low if self.first_ns is None else min(self.first_ns, low)
        self.last_ns = high if self.last_ns is None else max(self.last_ns, high)

    def _span_ns(self, data: bytes) -> tuple[int, int]:
        times = np.frombuffer(data, self.dtype)["time_ns"]
        return int(times[0]), int(times[-1])


class LineStream:
    """The markers' file: one line of JSON each."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self.lane = Lane(limit_bytes, _line_span_ns)
        self.n_out = self.n_refused = 0
        self._file = AppendFile(path)

    def drain(self, gaps: bytes) -> Gap | None:
        """Write what waits, then the `gaps` found in this round; give the markers' own gap."""
        data, n_rows, gap = self.lane.take()
        if data or gaps:
            try:
                self._file.append(data + gaps)
            except OSError:
                self.lane.lose(n_rows)
                raise
            self.n_out += n_rows
        return gap

    def note(self, line: bytes) -> None:
        """Write one line at once: the writer's thread only."""
        self._file.append(line)

    def close(self) -> None:
        """Sync and close the file; may be called twice."""
        self._file.close()

    def totals(self) -> StreamTotals:
        """Count what came of it so far (gap lines are not among them)."""
        return StreamTotals(self.lane.n_in, self.n_out, self.lane.n_dropped, self.n_refused)


class Streams:
    """A session's three files, made together, drained in turn, closed together.

    Raises
    ------
    OSError
        The files cannot be made; none is left open.
    """

    def __init__(self, path: Path, queue_bytes: int) -> None:
        self.gaze = RowStream("gaze", path / "gaze.bin", GAZE_DTYPE, queue_bytes)
        # Made with its first row: only a camera has features.
        self.features = RowStream("features", path / "features.bin", FEATURE_DTYPE, queue_bytes)
        with contextlib.ExitStack() as undo:
            undo.callback(self.gaze.close)
            self.gaze.open()
            self.markers = LineStream(path / "markers.jsonl", MARKER_QUEUE_BYTES)
            undo.pop_all()

    def drain(self) -> None:
        """Write all that waits; each gap found becomes a marker."""
        lines = b""
        for stream in (self.gaze, self.features):
            gap = stream.drain()
            if gap is not None:
                lines += _gap_line(stream.name, gap)
        gap = self.markers.drain(lines)
        if gap is not None:
            self.markers.note(_gap_line("markers", gap))

    def close(self) -> OSError | None:
        """Close the files; give the first fault of a disk that refuses."""
        first: OSError | None = None
        for stream in (self.gaze, self.features, self.markers):
            try:
                stream.close()
            except OSError as fault:
                first = first or fault
        return first

    def totals(self) -> dict[str, StreamTotals]:
        """Count what came of each, once all are closed: what still waits is lost."""
        for stream in (self.gaze, self.features, self.markers):
            stream.lane.lose(stream.lane.take()[1])
        return {
            "gaze": self.gaze.totals(),
            "features": self.features.totals(),
            "markers": self.markers.totals(),
        }


def _gap_line(stream: str, gap: Gap) -> bytes:
    log.warning("%d rows of %s dropped: the disk did not keep up", gap.n_rows, stream)
    return encode_marker(
        {
            "time_ns": gap.first_ns,
            "kind": MarkerKind.GAP,
            "stream": stream,
            "n_rows": gap.n_rows,
            "until_ns": gap.last_ns,
        }
    )


def _line_span_ns(data: bytes) -> tuple[int, int]:
    time_ns = int(json.loads(data)["time_ns"])
    return time_ns, time_ns
