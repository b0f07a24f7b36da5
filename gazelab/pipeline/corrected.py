"""A session's gaze with its corrections: what was live, what was corrected afterwards, or as measured."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from gazelab.calibration.profile import NPZ_NAME, Profile, check_fits, load_profile
from gazelab.core.errors import CalibrationError, ConfigError, SessionError
from gazelab.core.gaze import GazeArray
from gazelab.core.geometry import Screen
from gazelab.pipeline.calibrate import binding_of
from gazelab.processing.shifts import move_deg, move_px, shifted
from gazelab.sessions.correction_entries import Change, Correction, RecalibrateEntry, ShiftEntry
from gazelab.sessions.corrections import CorrectionLog, append_correction, read_corrections
from gazelab.sessions.drift import live_shifts
from gazelab.sessions.files import read_file
from gazelab.sessions.profiles import MAX_PROFILE_BYTES, copy_profile
from gazelab.sessions.reader import Session
from gazelab.sessions.sections import Section
from gazelab.sources.recorded import Recorded, predicted_gaze

Layers = Literal["all", "live", "raw"]
"""Which corrections count. raw: none, as measured; live: those of the drift checks, as the live view had
them; all: those, and what was corrected afterwards."""


def corrected_gaze(
    session: Session, layers: Layers = "all", *, log: CorrectionLog | None = None
) -> GazeArray:
    """Give a session's gaze with its corrections.

    They are put on in their order: the drift checks' first, then each entry of the audit file that is in
    force. A shift adds; a recalibration replaces all gaze of its section, so that what was put on before no
    longer counts there.

    Parameters
    ----------
    session : Session
    layers : {"all", "live", "raw"}
    log : CorrectionLog, optional
        By default read from the session now.

    Returns
    -------
    numpy.ndarray, shape (n,), GAZE_DTYPE
        A copy in the order of recording; the session's own samples are never changed.

    Raises
    ------
    SessionError
        The audit file cannot be followed.
    CalibrationError
        A profile of the session is broken.
    ConfigError
        There are no such layers.
    """
    check_layers(layers)
    if layers == "raw":
        return session.gaze().copy()
    shifts, _ = live_shifts(session.markers())
    gaze = shifted(session.gaze(), shifts)
    gaze = gaze if shifts else gaze.copy()
    for entry in _entries(session, layers, log):
        _put_on(entry.change, gaze, session)
    return gaze


def corrections_in_force(
    session: Session, layers: Layers = "all", *, log: CorrectionLog | None = None
) -> list[str]:
    """Say which corrections the gaze of these layers has: one sentence each, none for gaze as measured.

    Raises
    ------
    SessionError
        The audit file cannot be followed.
    """
    check_layers(layers)
    if layers == "raw":
        return []
    shifts, _ = live_shifts(session.markers())
    said = [
        f"drift check at {_seconds(session, s.from_ns)}: from there on {s.dx_px:+.0f} px right,"
        f" {s.dy_px:+.0f} px down"
        for s in shifts
    ]
    entries = _entries(session, layers, log)
    return said + [f"correction {e.number}: {e.change.text()} ({e.reason})" for e in entries]


def _entries(session: Session, layers: Layers, log: CorrectionLog | None) -> tuple[Correction, ...]:
    if layers != "all":
        return ()
    return (read_corrections(session.path) if log is None else log).in_force


def check_layers(layers: str) -> None:
    """Refuse a name that means nothing.

    Raises
    ------
    ConfigError
    """
    if layers not in get_args(Layers):
        raise ConfigError(f"there is no gaze {layers!r}.", todo=f"Use one of {', '.join(get_args(Layers))}.")


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
    section.rows(np.zeros(0, np.int64), session.trials())
    profile = load_profile(profile_folder)
    source = Recorded(session, mapping=profile.mapping)
    check_fits(profile, session.header.participant, session.header.screen, binding_of(source))
    place = _copy_in_session(session.path, profile_folder)
    entry = RecalibrateEntry(section, place, _mapping_sha256(session.path / place))
    return append_correction(session.path, entry, reason, author)


def shift(session: Session, entry: ShiftEntry, reason: str, author: str = "") -> Correction:
    """Move a section's gaze.

    Raises
    ------
    SessionError
        The section is none of the session, degrees are asked for and the screen has none, or it cannot be
        written.
    """
    entry.section.rows(np.zeros(0, np.int64), session.trials())
    if entry.unit == "deg" and not session.header.screen.has_degrees:
        raise SessionError(
            "the session's screen has no size in mm, so there are no degrees.",
            where=session.path,
            todo="Give the shift in px.",
        )
    return append_correction(session.path, entry, reason, author)


def _put_on(change: Change, gaze: GazeArray, session: Session) -> None:
    if isinstance(change, ShiftEntry):
        rows = change.section.rows(gaze["time_ns"], session.trials())
        part = gaze[rows]
        if change.unit == "deg":
            move_deg(part, change.dx, change.dy, session.header.screen)
        else:
            move_px(part, change.dx, change.dy)
        gaze[rows] = part
    elif isinstance(change, RecalibrateEntry):
        rows = change.section.rows(gaze["time_ns"], session.trials())
        profile = _profile_of(session, change)
        raw = session.gaze()[rows]
        gaze[rows] = predicted_gaze(raw, session.features(), profile.mapping, profile.head_box)


def _profile_of(session: Session, change: RecalibrateEntry) -> Profile:
    folder = session.path / change.profile
    if folder.is_symlink() or folder.parent.is_symlink():
        raise SessionError("a link, not a profile.", where=folder, todo="A session holds no links.")
    try:
        profile = load_profile(folder)
    except CalibrationError as fault:
        todo = "Undo the correction that it is for: gazelab sessions corrections, then undo."
        raise CalibrationError(fault.what, where=fault.where, todo=todo) from fault
    if _mapping_sha256(folder) != change.mapping_sha256:
        raise SessionError(
            "not the calibration that the correction was made with.",
            where=folder,
            todo="Restore it from a copy, or undo the correction.",
        )
    return profile


def _copy_in_session(session: Path, profile_folder: Path) -> str:
    """Give the place of a profile in the session: a copy that is there already, or a new one."""
    wanted = _mapping_sha256(profile_folder)
    for there in sorted((session / "calibration").glob("*/")):
        if there.name.startswith(profile_folder.name) and _mapping_sha256(there) == wanted:
            return f"calibration/{there.name}"
    return copy_profile(profile_folder, session / "calibration")


def _mapping_sha256(profile: Path) -> str:
    try:
        return hashlib.sha256(read_file(profile / NPZ_NAME, MAX_PROFILE_BYTES)).hexdigest()
    except FileNotFoundError:
        return ""


def _seconds(session: Session, time_ns: int) -> str:
    start = session.header.started
    return f"{time_ns} ns" if start is None else f"{(time_ns - start.clock_ns) / 1e9:.1f} s"


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
