"""A line at the end of a file that several programs may write to: whole, and none of the others' is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_LOCK_AT = 2**30
"""Where Windows locks a byte: beyond any content, since a locked byte could not be read."""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Open a plain file for appending, made if need be, and keep other writers out until it is closed.

    Raises
    ------
    OSError
        It cannot be opened: a link, a folder, no permission.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666)
    try:
        # The system takes the lock back by itself if the program is killed.
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _LOCK_AT, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def append_line(handle: int, before: bytes, line: bytes, max_bytes: int) -> bytes:
    """Write a line at the end of a locked file, after a last line that was cut off if there is one.

    Parameters
    ----------
    handle : int
        From `locked`.
    before : bytes
        What the file holds.
    line : bytes
        Without its end.
    max_bytes : int
        What a reader takes: a larger file could not be read again.

    Returns
    -------
    bytes
        What was added.

    Raises
    ------
    OSError
        It would be too large, or the disk refuses.
    """
    added = (b"\n" if before and not before.endswith(b"\n") else b"") + line + b"\n"
    if len(before) + len(added) > max_bytes:
        raise OSError(errno.EFBIG, f"the file would be larger than {max_bytes} bytes")
    if os.write(handle, added) != len(added):
        raise OSError(errno.EIO, "only a part of the line was written")
    os.fsync(handle)
    return added
