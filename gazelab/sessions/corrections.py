"""What was corrected in a session afterwards: an audit file that only grows; the samples stay as measured.

`corrections.jsonl` holds one entry a line, and an entry's number is its line's. They count in their order: a
shift adds to what the entries before it left; a recalibration begins its section anew, so that shifts and
live corrections from before no longer count there. An undo names the entry that it reverts, and may itself be
undone; nothing is ever taken out of the file.
"""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.sessions.appending import append_line, locked
from gazelab.sessions.correction_entries import Change, Correction, UndoEntry, change_from_mapping, check
from gazelab.sessions.files import read_file, write_fault
from gazelab.sessions.markers import MAX_LINE_BYTES

FILE_NAME = "corrections.jsonl"
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_TEXT = 1000


@dataclass(frozen=True, slots=True)
class CorrectionLog:
    """The whole file.

    Attributes
    ----------
    entries : tuple of Correction
        In their order.
    torn_bytes : int
        Of a last line that was cut off while it was written; it counts for nothing.
    """

    entries: tuple[Correction, ...] = ()
    torn_bytes: int = 0

    @property
    def in_force(self) -> tuple[Correction, ...]:
        """Shifts and recalibrations that count, in their order."""
        return tuple(e for e in self.entries if e.in_force and not isinstance(e.change, UndoEntry))

    def entry(self, number: int) -> Correction:
        """Find an entry by its number.

        Raises
        ------
        SessionError
            There is none.
        """
        for entry in self.entries:
            if entry.number == number:
                return entry
        numbers = [str(e.number) for e in self.entries]
        some = ", ".join(numbers[:20]) + (f", … {numbers[-1]}" if len(numbers) > 20 else "") or "none"
        raise SessionError(
            f"there is no correction {number} (there are: {some}).",
            todo="List them with: gazelab sessions corrections ID",
        )


def read_corrections(session: Path) -> CorrectionLog:
    """Read a session's corrections; without the file there are none.

    Raises
    ------
    SessionError
        A link, too large, or a line that is no entry: since it may change results, it is never passed over.
    """
    try:
        data = read_file(session / FILE_NAME, MAX_FILE_BYTES)
    except FileNotFoundError:
        return CorrectionLog()
    return _parse(data, session / FILE_NAME)


def append_correction(session: Path, change: Change, reason: str, author: str = "") -> Correction:
    """Write an entry at the file's end, whole, while no other program writes one.

    Parameters
    ----------
    session : Path
        The session's folder.
    change : ShiftEntry, RecalibrateEntry or UndoEntry
    reason : str
        Not empty: an audit without reasons is none.
    author : str
        Who corrects, if it is to be known: a session that is passed on carries it.

    Returns
    -------
    Correction

    Raises
    ------
    SessionError
        No reason, an undo of what is no longer in force or not there, a value that cannot be, or the file
        cannot be read or written.
    """
    stamp = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    draft = Correction(0, change, author.strip()[:MAX_TEXT], reason.strip()[:MAX_TEXT], stamp)
    check(draft)
    if isinstance(change, UndoEntry):
        read_corrections(session).entry(change.reverts)
    path = session / FILE_NAME
    try:
        with locked(path) as handle:
            data = read_file(path, MAX_FILE_BYTES)
            log = _parse(data, path)
            if isinstance(change, UndoEntry) and not log.entry(change.reverts).in_force:
                raise SessionError(f"correction {change.reverts} is undone already.", where=path)
            torn = {"after_torn_line": True} if log.torn_bytes else {}
            line = json.dumps({**draft.to_mapping(), **torn}, ensure_ascii=False, allow_nan=False)
            data += append_line(handle, data, line.encode("utf-8", "backslashreplace"), MAX_FILE_BYTES)
    except OSError as fault:
        raise write_fault(fault, path, "the correction does not count") from fault
    return _parse(data, path).entries[-1]


def _parse(data: bytes, where: Path) -> CorrectionLog:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    torn = lines.pop() if _load(lines[-1]) is None else b""
    found: dict[int, Correction] = {}
    broken = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        values = _load(line)
        # Only the line after it can tell that a writer was stopped there: anything else may be a lost entry.
        if broken and not (values or {}).get("after_torn_line"):
            raise _refusal(broken, "it is no JSON object", where)
        broken = number if values is None else 0
        if values is not None:
            found[number] = _entry(number, values, found.keys(), where)
    if broken:
        raise _refusal(broken, "it is no JSON object", where)
    return CorrectionLog(tuple(_states(list(found.values()))), len(torn))


def _states(found: list[Correction]) -> list[Correction]:
    """Tell which entries count: from the last to the first, an undo that counts takes out what it names."""
    undone: set[int] = set()
    for entry in reversed(found):
        if isinstance(entry.change, UndoEntry) and entry.number not in undone:
            undone.add(entry.change.reverts)
    return [replace(entry, in_force=entry.number not in undone) for entry in found]


def _entry(number: int, values: dict[str, Any], before: Set[int], where: Path) -> Correction:
    try:
        texts = [values[key] for key in ("author", "reason", "utc")]
        if not all(isinstance(text, str) for text in texts):
            raise SessionError("author, reason or utc is no text")
        entry = Correction(number, change_from_mapping(values), *texts)
        check(entry)
        if isinstance(entry.change, UndoEntry) and entry.change.reverts not in before:
            raise SessionError(f"it reverts {entry.change.reverts}, which is no earlier entry")
    except (SessionError, KeyError, TypeError, ValueError, OverflowError) as fault:
        what = fault.what if isinstance(fault, SessionError) else repr(fault)
        raise _refusal(number, what, where) from fault
    return entry


def _load(line: bytes) -> dict[str, Any] | None:
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        values = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _refusal(number: int, what: str, where: Path) -> SessionError:
    return SessionError(
        f"line {number} of the corrections cannot be followed ({what.rstrip('.')}).",
        where=where,
        todo="Restore the file from a copy, or move it away: the samples beside it are as measured.",
    )
