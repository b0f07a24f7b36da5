"""How the process ends."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process; with Qt in it, without Python's own clearing up.

    By now everything is saved and closed, and what is left only gives memory back. PyQt6 6.11 does that by
    walking through all its objects at exit, and now and then meets one that is gone: a crash, and an exit
    code that says that something went wrong.

    Parameters
    ----------
    code : int
        Exit code.
    """
    if "PyQt6.QtWidgets" not in sys.modules:
        raise SystemExit(code)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
