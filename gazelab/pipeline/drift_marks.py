"""What a session's drift checks found, read back from its markers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.numbers import finite
from gazelab.sessions.drift import correction_px
from gazelab.sessions.markers import Marker, MarkerKind

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class DriftMark:
    """One drift check.

    Attributes
    ----------
    time_ns : int
    decision : str
        As `gazelab.pipeline.drift.Decision`; "" if the marker says none.
    offset_px, offset_deg : float
        From the target to the median gaze as the live view had it before the check; NaN if there was no gaze
        or the screen's size is unknown.
    corrected : bool
        Whether the gaze from then on has been shifted by it.
    superseded : bool
        Whether the gaze that is looked at has been predicted anew since, so that the offset is not its own.
    """

    time_ns: int
    decision: str
    offset_px: float = NAN
    offset_deg: float = NAN
    corrected: bool = False
    superseded: bool = False


def drift_marks(markers: Sequence[Marker], with_shifts: bool) -> list[DriftMark]:
    """Read the drift checks; one that was skipped is none, and figures that cannot be read are NaN.

    Parameters
    ----------
    markers : sequence of dict
    with_shifts : bool
        Whether the gaze that is looked at has the live corrections.

    Returns
    -------
    list of DriftMark
        In the order of time.
    """
    found = []
    for marker in markers:
        decision = str(marker.get("decision", ""))
        if marker["kind"] == MarkerKind.DRIFT_CHECK and decision != "skipped":
            px, deg = (_length(marker.get(name)) for name in ("offset_px", "offset_deg"))
            shifted = with_shifts and decision == "corrected" and _can_be_put_on(marker)
            found.append(DriftMark(marker["time_ns"], decision, px, deg, shifted))
    return sorted(found, key=lambda mark: mark.time_ns)


def _can_be_put_on(marker: Marker) -> bool:
    """Whether the check's correction is one of the gaze's; else it was left out of it, and is told."""
    try:
        correction_px(marker.get("correction_px"))
    except SessionError:
        return False
    return True


def _length(value: Any) -> float:
    """Give the length of an offset that is written as a number, or as one of each axis."""
    parts = value if isinstance(value, list | tuple) else [value]
    return math.hypot(*map(finite, parts)) if parts else NAN
