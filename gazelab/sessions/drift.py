"""The live corrections of a session: what its drift checks put in force, read back from the markers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.geometry import MAX_SIDE_PX
from gazelab.processing.shifts import Shift
from gazelab.sessions.markers import Marker, MarkerKind


def live_shifts(markers: Sequence[Marker]) -> tuple[list[Shift], list[str]]:
    """Read which correction the live view had from when on.

    Parameters
    ----------
    markers : sequence of dict
        In the order of the file.

    Returns
    -------
    shifts : list of Shift
        One a drift check that changed the correction.
    problems : list of str
        Of drift checks whose correction cannot be read: they change nothing.
    """
    shifts: list[Shift] = []
    problems: list[str] = []
    now = (0.0, 0.0)
    for marker in markers:
        if marker["kind"] != MarkerKind.DRIFT_CHECK:
            continue
        try:
            found = correction_px(marker.get("correction_px"))
        except SessionError as fault:
            problems.append(f"the drift check at {marker['time_ns']} ns is left out: {fault}")
            continue
        if found != now:
            shifts.append(Shift(marker["time_ns"], *found))
            now = found
    return shifts, problems


def correction_px(value: Any) -> tuple[float, float]:
    """Read a marker's `correction_px`: two numbers, + right, + down, no larger than a screen.

    Raises
    ------
    SessionError
        It is something else.
    """
    try:
        dx, dy = (float(v) for v in value if isinstance(v, int | float) and not isinstance(v, bool))
    except (TypeError, ValueError, OverflowError):
        dx = dy = math.nan
    if not (abs(dx) <= MAX_SIDE_PX and abs(dy) <= MAX_SIDE_PX) or len(value) != 2:
        raise SessionError(
            "its correction is no shift of so many px.", todo="Restore the markers from a copy."
        )
    return dx, dy
