"""`gazelab quality`: how good the gaze of a session's trials is, and what to leave out, with the reasons."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from gazelab.cli.options import DataOption, DetectorOption, JsonOption, detector_name, settings_of
from gazelab.cli.results import GazeOption
from gazelab.cli.sessions import SessionArgument, session_folder


def quality(
    session: SessionArgument,
    data: DataOption = None,
    as_json: JsonOption = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write every figure into this file, one row a trial.")
    ] = None,
    decide: Annotated[
        str, typer.Option(help="Decide against the limits: TRIAL=keep|review|exclude|limits, trials from 1.")
    ] = "",
    reason: Annotated[str, typer.Option(help="Why; needed with --decide.")] = "",
    gaze: GazeOption = "all",
    detector: DetectorOption = None,
) -> None:
    """Tell how good each trial's gaze is: keep, review or exclude, and why.

    The limits are those of gazelab.toml's [quality] table. Nothing is deleted; the report is also kept in
    the session's derived/quality.json.

    Example: gazelab quality 2026-03-14T10-22-05_reading --csv quality.csv
    """
    from gazelab.core.errors import SessionError
    from gazelab.pipeline.quality_text import quality_text, write_csv
    from gazelab.pipeline.replay import Replay
    from gazelab.pipeline.session_quality import assess, decide_trial, keep_quality

    limits = settings_of(data).quality.limits
    replay = Replay.open(session_folder(session, data), gaze, detector_name(detector, data))
    found = assess(replay, limits)
    if decide:
        trial, verdict = _decision(decide, len(found.trials))
        found = decide_trial(replay, found, trial, verdict, reason)
    if csv is not None:
        typer.echo(f"Wrote {write_csv(csv, found)}", err=True)
    typer.echo(json.dumps(found.to_json(), allow_nan=False) if as_json else quality_text(found))
    try:
        keep_quality(replay, found)
    except SessionError as fault:  # such as in an archive: the report is the same without its copy
        typer.echo(f"note: the report is not kept: {fault}", err=True)


def _decision(text: str, n_trials: int) -> tuple[int, str | None]:
    """Read `3=exclude`; "limits" takes a decision back.

    Raises
    ------
    ConfigError
        It is not written so, or there is no such trial.
    """
    from gazelab.core.errors import ConfigError
    from gazelab.sessions.exclusions import VERDICTS

    number, _, verdict = text.partition("=")
    if not re.fullmatch(r"[0-9]{1,9}", number) or verdict not in (*VERDICTS, "limits"):
        raise ConfigError(
            f"--decide {text!r} is no decision.",
            todo=f"Write it as 3=exclude; verdicts: {', '.join(VERDICTS)}, or limits to take one back.",
        )
    trial = int(number)
    if not 1 <= trial <= n_trials:
        raise ConfigError(f"there is no trial {trial}.", todo=f"There are {n_trials}, from 1.")
    return trial - 1, None if verdict == "limits" else verdict
