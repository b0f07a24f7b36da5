"""A session's gaze with its corrections: what was live, what was corrected afterwards, or as measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gazelab.calibration.profile import NPZ_NAME, Profile, load_profile
from gazelab.core.errors import CalibrationError, SessionError
from gazelab.core.gaze import GazeArray
from gazelab.core.printable import one_line
from gazelab.pipeline.calibrate import profile_facts
from gazelab.pipeline.layers import Layers, check_layers
from gazelab.processing.shifts import Shift, move_deg, move_px, shifted
from gazelab.sessions.correction_entries import Change, Correction, RecalibrateEntry, ShiftEntry
from gazelab.sessions.correction_states import IN_FORCE, live_states, states, touching
from gazelab.sessions.corrections import CorrectionLog, read_corrections
from gazelab.sessions.drift import live_shifts
from gazelab.sessions.files import read_file
from gazelab.sessions.profiles import MAX_PROFILE_BYTES
from gazelab.sessions.reader import Session
from gazelab.sessions.trials import Trial
from gazelab.sources.recorded import predicted_gaze


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
    session: Session,
    layers: Layers = "all",
    *,
    log: CorrectionLog | None = None,
    trial: Trial | None = None,
) -> list[str]:
    """Say which corrections the gaze of these layers has: one sentence each, none for gaze as measured.

    Parameters
    ----------
    session : Session
    layers : {"all", "live", "raw"}
    log : CorrectionLog, optional
        By default read from the session now.
    trial : Trial, optional
        Only those that count in this trial's gaze. Otherwise what a recalibration replaced is told as such.

    Raises
    ------
    SessionError
        The audit file cannot be followed, or an entry names a trial that the session has not.
    """
    check_layers(layers)
    if layers == "raw":
        return []
    shifts, _ = live_shifts(session.markers())
    if layers == "live":
        log = CorrectionLog()
    elif log is None:
        log = read_corrections(session.path)
    trials = session.trials()
    if trial is not None:
        live, entries = touching(trial, shifts, log.in_force, trials)
        return [_live_text(session, s) for s in live] + [_entry_text(e) for e in entries]
    found = states(log, trials)
    replaced = zip(shifts, live_states(shifts, log, trials), strict=True)
    said = [_live_text(session, s) + _unless_in_force(state) for s, state in replaced]
    return said + [_entry_text(e) + _unless_in_force(found[e.number]) for e in log.in_force]


def live_lines(session: Session, log: CorrectionLog) -> list[str]:
    """List the drift checks' corrections, each with its state."""
    shifts, _ = live_shifts(session.markers())
    found = live_states(shifts, log, session.trials())
    return [f"{_live_text(session, s)} ({state})" for s, state in zip(shifts, found, strict=True)]


def calibration_of(
    session: Session, trial: Trial, layers: Layers = "all", *, log: CorrectionLog | None = None
) -> Mapping[str, Any]:
    """Give the figures of the calibration that a trial's gaze comes from, as a session's header has them.

    The one in force while recording, or the last recalibration whose section the trial's onset is in.
    """
    onset = np.array([trial.onset_ns], np.int64)
    found: Mapping[str, Any] = session.header.profile
    for entry in _entries(session, layers, log):
        change = entry.change
        if isinstance(change, RecalibrateEntry) and change.section.rows(onset, session.trials())[0]:
            found = profile_facts(_profile_of(session, change), Path(change.profile).name)
    return found


def _entries(session: Session, layers: Layers, log: CorrectionLog | None) -> tuple[Correction, ...]:
    if layers != "all":
        return ()
    return (read_corrections(session.path) if log is None else log).in_force


def _live_text(session: Session, s: Shift) -> str:
    at = _seconds(session, s.from_ns)
    return f"drift check at {at}: from there on {s.dx_px:+.0f} px right, {s.dy_px:+.0f} px down"


def _entry_text(entry: Correction) -> str:
    return f"correction {entry.number}: {entry.change.text()} ({one_line(entry.reason)})"


def _unless_in_force(state: str) -> str:
    return "" if state == IN_FORCE else f"; {state}"


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
    if mapping_sha256(folder) != change.mapping_sha256:
        raise SessionError(
            "not the calibration that the correction was made with.",
            where=folder,
            todo="Restore it from a copy, or undo the correction.",
        )
    return profile


def mapping_sha256(profile: Path) -> str:
    """Hash the mapping of a profile's folder; "" where there is none."""
    try:
        return hashlib.sha256(read_file(profile / NPZ_NAME, MAX_PROFILE_BYTES)).hexdigest()
    except FileNotFoundError:
        return ""


def _seconds(session: Session, time_ns: int) -> str:
    start = session.header.started
    return f"{time_ns} ns" if start is None else f"{(time_ns - start.clock_ns) / 1e9:.1f} s"
