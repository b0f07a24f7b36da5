"""The bounded queue between the thread that records and the thread that writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """Rows that found the queue full, one after the other: how many, the first one's and last one's time."""

    n_rows: int
    first_ns: int
    last_ns: int


class Lane:
    """Waiting rows of one stream; what finds it full is counted, never waited for.

    Parameters
    ----------
    limit_bytes : int
        How much may wait.
    span_ns : callable
        Gives the first and the last time stamp of some rows' bytes; asked only for rows that are dropped.
    """

    def __init__(self, limit_bytes: int, span_ns: Callable[[bytes], tuple[int, int]]) -> None:
        self._limit = limit_bytes
        self._span_ns = span_ns
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        self._n_waiting = 0
        self._bytes = 0
        self._gap: Gap | None = None
        self.n_in = 0
        self.n_dropped = 0

    def put(self, data: bytes, n_rows: int) -> bool:
        """Queue rows; False if they were dropped.

        Once some are dropped, all are until the next `take`, so that a gap is one stretch of time.
        """
        with self._lock:
            self.n_in += n_rows
            if self._gap is None and self._bytes + len(data) <= self._limit:
                self._waiting.append(data)
                self._n_waiting += n_rows
                self._bytes += len(data)
                return True
            first, last = self._span_ns(data)
            if self._gap is None:
                self._gap = Gap(n_rows, first, last)
            else:
                self._gap = Gap(self._gap.n_rows + n_rows, self._gap.first_ns, last)
            self.n_dropped += n_rows
            return False

    def take(self) -> tuple[bytes, int, Gap | None]:
        """Give all that waits, how many rows that is, and the gap that follows it, and start afresh."""
        with self._lock:
            waiting, n_rows, gap = self._waiting, self._n_waiting, self._gap
            self._waiting, self._n_waiting, self._bytes, self._gap = [], 0, 0, None
        return b"".join(waiting), n_rows, gap

    def lose(self, n_rows: int) -> None:
        """Count rows that were taken and could not be written."""
        with self._lock:
            self.n_dropped += n_rows
