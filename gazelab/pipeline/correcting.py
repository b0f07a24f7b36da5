"""Correct a session's gaze: move it, or recalibrate it, by section; and what that changed."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gazelab.calibration.profile import check_fits, load_profile
from gazelab.core.errors import SessionError
from gazelab.core.gaze import GazeArray
from gazelab.core.geometry import Screen
from gazelab.pipeline.calibrate import binding_of
from gazelab.pipeline.corrected import mapping_sha256
from gazelab.sessions.correction_entries import Correction, RecalibrateEntry, ShiftEntry
from gazelab.sessions.corrections import append_correction
from gazelab.sessions.profiles import copy_profile
from gazelab.sessions.reader import Session
from gazelab.sessions.sections import Section
from gazelab.sources.recorded import Recorded


def recalibrate(
    session: Session, profile_folder: Path, section: Section, reason: str, author: str = ""
) -> Correction:
    """Let a section's gaze be predicted by another profile; its folder is copied into the session.

    Parameters
    ----------
    session : Session
        With features.
    profile_folder : Path
    section : Section
    reason, author : str

    Raises
    ------
    SessionError
        The session has no features, the section is none of it, or it cannot be written.
    CalibrationError
        The profile is broken, or of another participant, screen, source or version of the features.
    """
    if not reason.strip():
        raise SessionError("a correction needs a reason.", todo="Say why it is made.")
    _check_section(session, section)
    profile = load_profile(profile_folder)
    source = Recorded(session, mapping=profile.mapping)
    check_fits(profile, session.header.participant, session.header.screen, binding_of(source))
    place = _copy_in_session(session.path, profile_folder)
    entry = RecalibrateEntry(section, place, mapping_sha256(session.path / place))
    return append_correction(session.path, entry, reason, author)


def shift(session: Session, entry: ShiftEntry, reason: str, author: str = "") -> Correction:
    """Move a section's gaze.

    Raises
    ------
    SessionError
        The section is none of the session, degrees are asked for and the screen has none, or it cannot be
        written.
    """
    _check_section(session, entry.section)
    if entry.unit == "deg" and not session.header.screen.has_degrees:
        raise SessionError(
            "the session's screen has no size in mm, so there are no degrees.",
            where=session.path,
            todo="Give the shift in px.",
        )
    return append_correction(session.path, entry, reason, author)


def _check_section(session: Session, section: Section) -> None:
    """Refuse a part that the session has not: seconds given for nanoseconds would correct nothing."""
    times = session.gaze()["time_ns"]
    if not section.rows(times, session.trials()).any():
        span = f"The samples are from {times.min()} to {times.max()} ns." if len(times) else "There is none."
        raise SessionError(f"no sample is in this section: {section.text()}.", where=session.path, todo=span)


def _copy_in_session(session: Path, profile_folder: Path) -> str:
    """Give the place of a profile in the session: a copy that is there already, or a new one."""
    wanted = mapping_sha256(profile_folder)
    for there in sorted((session / "calibration").glob("*/")):
        with contextlib.suppress(SessionError):  # what is not a profile's copy is none of it
            same = there.name.startswith(profile_folder.name) and not there.is_symlink()
            if same and mapping_sha256(there) == wanted:
                return f"calibration/{there.name}"
    return copy_profile(profile_folder, session / "calibration")


@dataclass(frozen=True, slots=True)
class Move:
    """What a correction changed.

    Attributes
    ----------
    n_samples : int
        Whose gaze is another now.
    mean_px, mean_deg : float
        Mean distance that they moved; NaN where none moved, or there are no degrees.
    n_gained, n_lost : int
        Samples that have gaze now and had none, and the other way round.
    """

    n_samples: int
    mean_px: float
    mean_deg: float
    n_gained: int
    n_lost: int

    @classmethod
    def between(cls, before: GazeArray, after: GazeArray, screen: Screen) -> Move:
        """Compare two versions of the same samples."""
        had, has = before["valid"], after["valid"]
        places = [g[axis][had & has].astype(np.float64) for g in (before, after) for axis in ("x_px", "y_px")]
        x0, y0, x1, y1 = places
        far = np.hypot(x1 - x0, y1 - y0)
        other = far > 0
        gained, lost = int((has & ~had).sum()), int((had & ~has).sum())
        if not other.any():
            return cls(gained + lost, math.nan, math.nan, gained, lost)
        deg = screen.angle_deg(x0[other], y0[other], x1[other], y1[other])
        n = int(other.sum()) + gained + lost
        return cls(n, float(far[other].mean()), float(deg.mean()), gained, lost)
