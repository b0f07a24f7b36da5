"""Plain files: appended, replaced in one step, read without following links."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from gazelab.core.errors import SessionError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class AppendFile:
    """A new file that only grows; each `append` reaches the kernel before it returns, or leaves no trace.

    What the kernel holds survives a killed process; it is synced to the disk at `close`.

    Raises
    ------
    FileExistsError
        There is such a file already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb", buffering=0)
        self._end = 0

    def append(self, data: bytes) -> None:
        """Write `data` whole, or cut the file back to where it was and raise OSError."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)
                self._file.seek(self._end)
            raise
        self._end += len(data)

    def close(self) -> None:
        """Sync and close, and raise OSError if the disk refuses; may be called twice."""
        if not self._file.closed:
            try:
                os.fsync(self._file.fileno())
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, whole.

    Raises
    ------
    OSError
        Nothing has changed then.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    beside.unlink(missing_ok=True)
    try:
        with AppendFile(beside) as file:
            file.append(data)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a regular file of a session, whole.

    Raises
    ------
    FileNotFoundError
        There is none.
    SessionError
        A link, not a regular file, too large, or unreadable.
    """
    try:
        mode = path.lstat()
        if not stat.S_ISREG(mode.st_mode):
            raise SessionError(
                "not a plain file.", where=path, todo="A session holds no links: put the file itself there."
            )
        if mode.st_size > max_bytes:
            raise SessionError(
                f"{mode.st_size} bytes, over the limit of {max_bytes}.", where=path, todo="Is it a session?"
            )
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            return file.read(max_bytes)
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise SessionError(
            f"cannot be read ({fault.strerror}).", where=path, todo="Check the file's permissions."
        ) from fault


RECORDING_STOPPED = "recording has stopped, and what was recorded until then is kept"


def write_fault(fault: Exception, where: Path, meaning: str = RECORDING_STOPPED) -> SessionError:
    """Say what a failed write means to the person who records.

    Parameters
    ----------
    fault : Exception
    where : Path
    meaning : str
        What follows from it, for the sentence's second half.
    """
    if isinstance(fault, OSError) and fault.errno in _FULL:
        return SessionError(
            f"the disk is full; {meaning}.", where=where, todo="Free space on that disk, then try again."
        )
    return SessionError(
        f"cannot be written ({fault}); {meaning}.",
        where=where,
        todo="Check the disk and the folder's permissions, then try again.",
    )
