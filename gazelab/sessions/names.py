"""Session ids: what may become a folder's name, and nothing else."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from gazelab.core.errors import SessionError
from gazelab.core.participant import DEVICE_NAMES

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def check_session_id(session_id: str) -> str:
    """Give the id back if it can be a folder's name on every system.

    Raises
    ------
    SessionError
        Anything but 1 to 80 of A-Z, a-z, 0-9, `_` and `-`, beginning with a letter or digit; or a name that
        Windows keeps for devices.
    """
    if _ID.fullmatch(session_id) and session_id.lower() not in DEVICE_NAMES:
        return session_id
    raise SessionError(
        f"{_short(session_id)} cannot name a session.",
        todo="Use 1 to 80 letters (A-Z, a-z), digits, _ and -, beginning with a letter or digit.",
    )


def new_session_id(label: str, when: datetime | None = None) -> str:
    """Make an id of the date, the time and a label: `2026-03-14T10-22-05_reading`.

    Raises
    ------
    SessionError
        The label has other characters than letters, digits, `_` and `-`.
    """
    stamp = (when or datetime.now(UTC)).strftime("%Y-%m-%dT%H-%M-%S")
    return check_session_id(f"{stamp}_{label}")


def session_path(root: Path, session_id: str) -> Path:
    """Where a session of this id lies below the data root: `<root>/sessions/<id>`."""
    return Path(root) / "sessions" / check_session_id(session_id)


def _short(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "…"
