"""What happened when: the kinds of marker, and their lines in markers.jsonl."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

import numpy as np

from gazelab.core.errors import SessionError
from gazelab.core.geometry import MAX_SIDE_PX, Placement

Marker = dict[str, Any]

MAX_LINE_BYTES = 1_000_000


class MarkerKind(StrEnum):
    """The kinds of marker; each line also has `time_ns` on the session's clock."""

    SESSION_START = "session_start"
    SESSION_END = "session_end"
    STIMULUS_ON = "stimulus_on"
    STIMULUS_MOVED = "stimulus_moved"
    STIMULUS_OFF = "stimulus_off"
    ANSWER = "answer"
    CALIBRATION = "calibration"
    VALIDATION = "validation"
    DRIFT_CHECK = "drift_check"
    PAUSE = "pause"
    RESUME = "resume"
    FOCUS_LOST = "focus_lost"
    FOCUS_BACK = "focus_back"
    SOURCE_STATE = "source_state"
    GAP = "gap"
    NOTE = "note"


REQUIRED: dict[MarkerKind, tuple[str, ...]] = {
    MarkerKind.STIMULUS_ON: ("chart_id", "question", "answer", "picture_sha256", "placement", "order"),
    MarkerKind.STIMULUS_MOVED: ("placement",),
    MarkerKind.ANSWER: ("given",),
    MarkerKind.DRIFT_CHECK: ("decision", "target_px", "correction_px"),
    MarkerKind.SOURCE_STATE: ("state",),
    MarkerKind.GAP: ("stream", "n_rows", "until_ns"),
    MarkerKind.NOTE: ("text",),
}
"""What a marker of each kind must say beside `time_ns` and `kind`; more may be said.

stimulus_on: a chart appeared. `chart_id`, `question`, `answer` (gold, or null), `picture_sha256` (a file of
    stimuli/), `placement` (see below), `order` (0-based place in the study).
stimulus_moved: the chart now lies elsewhere, after a resize. `placement`.
stimulus_off: it vanished. `skipped` true if it was taken off without an answer.
answer: the participant's answer to the latest chart. `given` (text, or null for none).
calibration, validation: done now; profile and figures as the caller has them.
drift_check: one target was looked at between trials, or was to be. `decision` (`gazelab.pipeline.drift`),
    `target_px`, and `correction_px` [right, down]: what is added to the gaze of samples seen from `time_ns`
    on, in the live view only (gaze.bin stays as measured); [0, 0] for nothing. Also `offset_px`,
    `offset_deg`, `spread_px`, `spread_deg`, `n_samples`, `data_loss`, `reason`: what was measured, null
    without data.
pause, resume; focus_lost, focus_back: the study stood still; another window had the keyboard.
source_state: the source's state changed. `state`.
gap: samples that could not be stored. `stream`, `n_rows`, and `until_ns`, the last one's time.
note: `text`.

A placement is the six fields of `gazelab.core.geometry.Placement`, screen px and picture px.
"""


def encode_marker(marker: Mapping[str, Any]) -> bytes:
    """Check a marker and make its line.

    NaN and infinities become null; a Placement becomes its fields; text of any kind survives.

    Raises
    ------
    SessionError
        No int `time_ns`, an unknown `kind`, something that the kind must say is missing, a placement that is
        none, or a value that JSON cannot hold.
    """
    _check_time(marker.get("time_ns"))
    kind = _check_kind(marker.get("kind"))
    missing = [key for key in REQUIRED.get(kind, ()) if key not in marker]
    if missing:
        raise SessionError(
            f"a {kind} marker lacks {', '.join(missing)}.", todo="Give every field of this kind of marker."
        )
    plain = {str(key): _plain(value, str(key)) for key, value in marker.items()}
    if "placement" in REQUIRED.get(kind, ()):
        placement_from(plain["placement"])
    # A lone surrogate (half a character from a broken key event) becomes the escape that JSON reads back.
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    line = text.encode("utf-8", "backslashreplace") + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise SessionError(f"a {kind} marker of {len(line)} bytes.", todo="Store large results in derived/.")
    return line


def parse_markers(data: bytes) -> tuple[list[Marker], list[str]]:
    """Read the lines of a markers file; what is no marker is left out and told.

    Parameters
    ----------
    data : bytes
        The file's content: cut anywhere, with or without a byte-order mark, any line ends.

    Returns
    -------
    markers : list of dict
    problems : list of str
        One sentence a fault, with the line's number.
    """
    markers: list[Marker] = []
    problems: list[str] = []
    found, cut_bytes, broken = parse_lines(data)
    for number, entry in found:
        if _is_time(entry.get("time_ns")) and isinstance(entry.get("kind"), str):
            markers.append(entry)
        else:
            broken.append(number)
    if broken:
        lines = ", ".join(map(str, sorted(broken)[:10])) + (", …" if len(broken) > 10 else "")
        problems.append(f"{len(broken)} unreadable lines of the markers left out (line {lines})")
    if cut_bytes:
        problems.append(f"the markers' last line was cut off ({cut_bytes} bytes left out)")
    return markers, problems


def parse_lines(data: bytes) -> tuple[list[tuple[int, Marker]], int, list[int]]:
    """Read JSON objects, one a line.

    Returns
    -------
    found : list of (line number from 1, dict)
    cut_bytes : int
        Of a last line without its line end that cannot be read: a torn tail.
    broken : list of int
        Numbers of other lines that hold no JSON object.
    """
    found: list[tuple[int, Marker]] = []
    broken: list[int] = []
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = _load(line)
        if entry is not None:
            found.append((number, entry))
        elif number == len(lines):
            return found, len(line), broken
        else:
            broken.append(number)
    return found, 0, broken


def placement_from(mapping: Any) -> Placement:
    """Make a Placement of a marker's `placement`.

    Raises
    ------
    SessionError
        A field is missing or no number, a size is not positive, or something is far larger than any screen.
    """
    try:
        screen_px = [float(mapping[key]) for key in ("left_px", "top_px", "width_px", "height_px")]
        width, height = int(mapping["picture_width_px"]), int(mapping["picture_height_px"])
    except (KeyError, TypeError, ValueError, OverflowError) as fault:
        raise SessionError(
            f"a placement needs its six numbers ({fault!r}).",
            todo="Give the picture's rectangle on the screen.",
        ) from fault
    sides = [*screen_px[2:], width, height]
    if min(sides) <= 0 or not all(abs(value) <= MAX_SIDE_PX for value in (*screen_px, *sides)):
        raise SessionError(f"a placement of {screen_px} for a picture of {width} x {height} px cannot be.")
    left_px, top_px, width_px, height_px = screen_px
    return Placement(left_px, top_px, width_px, height_px, width, height)


def _load(line: bytes) -> Marker | None:
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        entry = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _check_time(value: Any) -> None:
    if not _is_time(value.item() if isinstance(value, np.integer) else value):
        raise SessionError(
            f"a marker's time_ns is {value!r}.", todo="Give whole nanoseconds on the session's clock."
        )


def _check_kind(value: Any) -> MarkerKind:
    try:
        return MarkerKind(value)
    except ValueError as fault:
        near = difflib.get_close_matches(str(value), list(MarkerKind), 1)
        hint = f"Did you mean {near[0]}?" if near else "Use one of MarkerKind, or a note."
        raise SessionError(f"there is no marker of kind {value!r}.", todo=hint) from fault


def _plain(value: Any, key: str, depth: int = 0) -> Any:
    """Give what JSON can hold; numpy's numbers and arrays and a Placement are taken apart."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Placement):
        value = asdict(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if depth < 20 and isinstance(value, Mapping):
        return {str(name): _plain(item, key, depth + 1) for name, item in value.items()}
    if depth < 20 and isinstance(value, list | tuple):
        return [_plain(item, key, depth + 1) for item in value]
    raise SessionError(f"a marker's {key} is a {type(value).__name__}, which a line of JSON cannot hold.")
