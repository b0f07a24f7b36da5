"""The entries of a session's corrections: a shift, a recalibration, an undo; written, read and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.geometry import MAX_SIDE_PX
from gazelab.core.printable import one_line
from gazelab.sessions.sections import Section, section_from_mapping

MAX_SHIFT = {"px": float(MAX_SIDE_PX), "deg": 90.0}
_PROFILE = re.compile(r"calibration/[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ShiftEntry:
    """Gaze of a section moved.

    Attributes
    ----------
    section : Section
    dx, dy : float
        + right, + down, in either unit.
    unit : "px" or "deg"
        Screen px, or degrees of visual angle where the gaze lies.
    """

    section: Section
    dx: float
    dy: float
    unit: str = "px"

    kind = "shift"

    def text(self) -> str:
        """Give one line for a list."""
        sign = "°" if self.unit == "deg" else " px"
        return f"shift by {self.dx:+g}{sign} right, {self.dy:+g}{sign} down, {self.section.text()}"


@dataclass(frozen=True, slots=True)
class RecalibrateEntry:
    """Gaze of a section predicted anew from the stored features.

    Attributes
    ----------
    section : Section
    profile : str
        The copy's place in the session: `calibration/<name>`.
    mapping_sha256 : str
        Of its mapping: another one under the same name is refused.
    """

    section: Section
    profile: str
    mapping_sha256: str

    kind = "recalibrate"

    def text(self) -> str:
        """Give one line for a list."""
        return f"recalibrated by {self.profile.partition('/')[2]}, {self.section.text()}"


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """An earlier entry taken back."""

    reverts: int

    kind = "undo"

    def text(self) -> str:
        """Give one line for a list."""
        return f"undo of {self.reverts}"


Change = ShiftEntry | RecalibrateEntry | UndoEntry


@dataclass(frozen=True, slots=True)
class Correction:
    """One entry of the file.

    Attributes
    ----------
    number : int
        Its line in the file, from 1.
    change : ShiftEntry, RecalibrateEntry or UndoEntry
    author, reason : str
    utc : str
        ISO 8601 with "Z".
    in_force : bool
        False once it was undone.
    """

    number: int
    change: Change
    author: str
    reason: str
    utc: str
    in_force: bool = True

    def to_mapping(self) -> dict[str, Any]:
        """Give what the file's line says."""
        change = asdict(self.change)
        if not isinstance(self.change, UndoEntry):
            change["section"] = self.change.section.to_mapping()
        rest = {"author": self.author, "reason": self.reason, "utc": self.utc}
        return {"kind": self.change.kind, **change, **rest}

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values for a list."""
        return {"number": self.number, "in_force": self.in_force, **self.to_mapping()}

    def text(self, state: str = "") -> str:
        """Give one line for a list; with its state where that is known (`correction_states.states`)."""
        state = f"  ({state})" if state else "" if self.in_force else "  (undone)"
        by = f"{self.utc} {self.author}".rstrip()
        return f"{self.number:3d}. {self.change.text()}{state}  [{one_line(f'{by}: {self.reason}')}]"


def change_from_mapping(values: Mapping[str, Any]) -> Change:
    """Invert what `Correction.to_mapping` says of its change; `check` is still to be called.

    Raises
    ------
    SessionError, KeyError, TypeError, ValueError, OverflowError
        It is something else.
    """
    kind = values["kind"]
    if kind == UndoEntry.kind:
        return UndoEntry(values["reverts"])
    section = section_from_mapping(values["section"])
    if kind == ShiftEntry.kind:
        dx, dy = values["dx"], values["dy"]
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in (dx, dy)):
            raise SessionError("a shift of something else than numbers")
        return ShiftEntry(section, float(dx), float(dy), values["unit"])
    if kind == RecalibrateEntry.kind:
        return RecalibrateEntry(section, values["profile"], values["mapping_sha256"])
    raise SessionError(f"there is no correction of kind {str(kind)[:80]!r}")


def check(entry: Correction) -> None:
    """Refuse what cannot be, before it is written and after it is read.

    Raises
    ------
    SessionError
        No reason, a shift larger than any screen, an unknown unit, no profile's place or hash.
    """
    change = entry.change
    if not entry.reason:
        raise SessionError("a correction needs a reason.", todo="Say why it is made.")
    if isinstance(change, UndoEntry):
        if type(change.reverts) is not int:
            raise SessionError(f"{change.reverts!r} is no entry's number.")
    elif isinstance(change, ShiftEntry):
        limit = MAX_SHIFT.get(change.unit) if isinstance(change.unit, str) else None
        if limit is None:
            raise SessionError(f"{str(change.unit)[:20]!r} is no unit.", todo="Use px or deg.")
        if not all(math.isfinite(v) and abs(v) <= limit for v in (change.dx, change.dy)):
            raise SessionError(f"a shift of {change.dx:g}, {change.dy:g} {change.unit} cannot be.")
    elif not (_PROFILE.fullmatch(str(change.profile)) and _SHA256.fullmatch(str(change.mapping_sha256))):
        raise SessionError("a recalibration names a profile's copy in the session, and its hash.")
