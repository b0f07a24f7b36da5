"""The verbs that correct a session's gaze afterwards: corrections, shift, recalibrate, undo."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gazelab.cli.options import DataOption, JsonOption, profile_folder
from gazelab.cli.sessions import SessionArgument, session_folder
from gazelab.core.errors import ConfigError, GazelabError
from gazelab.core.printable import one_line

if TYPE_CHECKING:
    from gazelab.core.gaze import GazeArray
    from gazelab.pipeline.correcting import Move
    from gazelab.sessions.correction_entries import Correction
    from gazelab.sessions.reader import Session
    from gazelab.sessions.sections import Section

TrialsOption = Annotated[
    str, typer.Option("--trials", help="As 3-7, 3- or 3; counted from 1.", show_default="the whole session")
]
FromOption = Annotated[
    int | None, typer.Option("--from-ns", help="First time, on the session's clock.", show_default=False)
]
UntilOption = Annotated[
    int | None, typer.Option("--until-ns", help="Time at which it ends.", show_default=False)
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Kept with the correction.")]
AuthorOption = Annotated[
    str, typer.Option("--author", help="Who corrects; kept with it.", show_default="nobody is named")
]

_TRIALS = re.compile(r"(\d{1,6})(-(\d{1,6})?)?")


def corrections(session: SessionArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List a session's corrections: those of its drift checks, and those made afterwards, with their state.

    Example: gazelab sessions corrections reading1 --json
    """
    from gazelab.pipeline.corrected import live_lines
    from gazelab.sessions.correction_states import live_states, states
    from gazelab.sessions.corrections import read_corrections
    from gazelab.sessions.drift import live_shifts
    from gazelab.sessions.reader import Session

    opened = Session.open(session_folder(session, data))
    log = read_corrections(opened.path)
    shifts, problems = live_shifts(opened.markers())
    found = states(log, opened.trials())
    if as_json:
        of_live = live_states(shifts, log, opened.trials())
        live = [{**asdict(s), "state": state} for s, state in zip(shifts, of_live, strict=True)]
        rows = [{**entry.to_json(), "state": found[entry.number]} for entry in log.entries]
        typer.echo(json.dumps({"session": opened.session_id, "live": live, "corrections": rows}))
        return
    entries = [entry.text(found[entry.number]) for entry in log.entries]
    for line in [*live_lines(opened, log), *entries]:
        typer.echo(line)
    if not shifts and not log.entries:
        typer.echo("No corrections: the gaze is as measured.")
    if log.torn_bytes:
        problems.append(f"a last line that was cut off ({log.torn_bytes} bytes) counts for nothing")
    for problem in problems:
        typer.echo(f"note: {one_line(problem)}", err=True)


def shift(
    session: SessionArgument,
    reason: ReasonOption,
    dx: Annotated[float, typer.Option(help="To the right; left is negative.")] = 0.0,
    dy: Annotated[float, typer.Option(help="Down, in either unit; up is negative.")] = 0.0,
    unit: Annotated[str, typer.Option(help="px, or deg of visual angle.")] = "px",
    trials: TrialsOption = "",
    from_ns: FromOption = None,
    until_ns: UntilOption = None,
    author: AuthorOption = "",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the gaze of a session, or of some of its trials; the samples stay as measured.

    It adds to the corrections before it, and `gazelab sessions undo` takes it back.

    Example: gazelab sessions shift reading1 --dx 12 --dy -30 --trials 3-7 --reason "sat lower since trial 3"
    """
    from gazelab.pipeline import correcting
    from gazelab.pipeline.corrected import corrected_gaze
    from gazelab.sessions.correction_entries import ShiftEntry
    from gazelab.sessions.reader import Session

    if not dx and not dy:
        raise ConfigError("a shift by nothing.", todo="Give --dx, --dy or both.")
    opened = Session.open(session_folder(session, data))
    entry = ShiftEntry(_section(opened, trials, from_ns, until_ns), dx, dy, unit)
    before = corrected_gaze(opened)
    _say(opened, before, correcting.shift(opened, entry, reason, author), as_json)


def recalibrate(
    session: SessionArgument,
    profile: Annotated[Path, typer.Option(help="A calibration profile's folder.")],
    reason: ReasonOption,
    trials: TrialsOption = "",
    from_ns: FromOption = None,
    until_ns: UntilOption = None,
    author: AuthorOption = "",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the gaze of a session anew by another profile, from its stored eye features.

    The profile must be of the same participant, screen and camera; it is copied into the session. Drift
    checks and earlier shifts no longer count in what is recalibrated. The samples stay as measured. (To make
    a new recording instead: gazelab record --source recorded --device SESSION --profile PROFILE.)

    Example: gazelab sessions recalibrate reading1 --profile calibration/P01_2026-03-14T11-02-00Z --trials 5-
    --reason "calibrated again after the break"
    """
    from gazelab.pipeline import correcting
    from gazelab.pipeline.corrected import corrected_gaze
    from gazelab.sessions.reader import Session

    opened = Session.open(session_folder(session, data))
    section = _section(opened, trials, from_ns, until_ns)
    profile = profile_folder(profile, data)
    before = corrected_gaze(opened)
    _say(opened, before, correcting.recalibrate(opened, profile, section, reason, author), as_json)


def undo(
    session: SessionArgument,
    number: Annotated[int, typer.Argument(help="The correction's number in the list; an undo's redoes.")],
    reason: ReasonOption,
    author: AuthorOption = "",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a correction back; nothing is deleted, and undoing the undo puts it in force again.

    Example: gazelab sessions undo reading1 2 --reason "wrong trials"
    """
    from gazelab.sessions.correction_entries import UndoEntry
    from gazelab.sessions.corrections import append_correction
    from gazelab.sessions.reader import Session

    opened = Session.open(session_folder(session, data))
    before = _gaze_if_any(opened)
    _say(opened, before, append_correction(opened.path, UndoEntry(number), reason, author), as_json)


def _gaze_if_any(session: Session) -> GazeArray | None:
    """Give the corrected gaze; None where it cannot be had, which an undo may mend."""
    from gazelab.pipeline.corrected import corrected_gaze

    try:
        return corrected_gaze(session)
    except GazelabError as fault:
        typer.echo(f"note: {one_line(str(fault))}", err=True)
        return None


def _say(session: Session, before: GazeArray | None, made: Correction, as_json: bool) -> None:
    from gazelab.pipeline.correcting import Move

    after = _gaze_if_any(session)
    both = None if before is None or after is None else (before, after)
    move = None if both is None else Move.between(*both, session.header.screen)
    if as_json:
        row = move and {name: _json_ready(getattr(move, name)) for name in Move.__slots__}
        typer.echo(json.dumps({"session": session.session_id, "made": made.to_json(), "changed": row}))
        return
    typer.echo(made.text().strip())
    if move is not None:
        typer.echo(_changed_text(move, len(session.gaze())))
    typer.echo("The samples on disk are as measured: gazelab sessions undo takes this back.")


def _changed_text(move: Move, n_samples: int) -> str:
    distance = f", by {move.mean_px:.1f} px" if math.isfinite(move.mean_px) else ""
    if math.isfinite(move.mean_deg):
        distance += f" ({move.mean_deg:.2f} deg)"
    changed = f"{move.n_samples} of {n_samples} samples moved{distance}{' on average' if distance else ''}"
    if move.n_gained or move.n_lost:
        changed += f"; {move.n_gained} have gaze that had none, {move.n_lost} have none that had"
    return f"{changed}."


def _json_ready(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _section(session: Session, trials: str, from_ns: int | None, until_ns: int | None) -> Section:
    from gazelab.sessions.sections import Section

    if not trials:
        return Section(from_ns=from_ns, until_ns=until_ns)
    if from_ns is not None or until_ns is not None:
        raise ConfigError("--trials and times exclude each other.", todo="Give one of them.")
    found = _TRIALS.fullmatch(trials.strip())
    if not found:
        raise ConfigError(f"--trials {trials!r} are no trials.", todo="Write them as 3-7, 3- or 3.")
    first, to, last = found.groups()
    n = len(session.trials())
    end = int(last) if last else n if to else int(first)
    if int(first) > n:
        raise ConfigError(
            f"there is no trial {first}: the session has {n}.", todo="Trials are counted from 1."
        )
    bounds: tuple[Any, Any] = (int(first) - 1, end - 1)
    return Section(trials=bounds)
