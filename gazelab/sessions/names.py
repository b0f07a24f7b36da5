"""Session ids and participant codes: what may become a folder's name, and nothing else."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from gazelab.core.errors import SessionError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_CODE = re.compile(r"[A-Za-z0-9]{1,32}")
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}


def check_session_id(session_id: str) -> str:
    """Give the id back if it can be a folder's name on every system.

    Raises
    ------
    SessionError
        Anything but 1 to 80 of A-Z, a-z, 0-9, `_` and `-`, beginning with a letter or digit; or a name that
        Windows keeps for devices.
    """
    if _ID.fullmatch(session_id) and session_id.lower() not in _DEVICES:
        return session_id
    raise SessionError(
        f"{_short(session_id)} cannot name a session.",
        todo="Use 1 to 80 letters (A-Z, a-z), digits, _ and -, beginning with a letter or digit.",
    )


def check_participant(code: str) -> str:
    """Give the participant's code back, as the text it is (007 stays 007).

    Raises
    ------
    SessionError
        Anything but 1 to 32 letters (A-Z, a-z) and digits; or a name that Windows keeps for devices.
    """
    if isinstance(code, str) and _CODE.fullmatch(code) and code.lower() not in _DEVICES:
        return code
    raise SessionError(
        f"{_short(code)} cannot be a participant code.",
        todo="Use 1 to 32 letters (A-Z, a-z) and digits, and not the person's name.",
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
