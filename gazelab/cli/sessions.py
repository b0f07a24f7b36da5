"""`gazelab sessions`: list, show, delete; the verbs that correct are in `corrections`."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated

import typer

from gazelab.cli.options import DataOption, JsonOption, data_root
from gazelab.core.errors import Cancelled, SessionError

sessions_app = typer.Typer(help="Recorded sessions: list, show, correct, delete.", no_args_is_help=True)

SessionArgument = Annotated[str, typer.Argument(help="A session's id, or the path of its folder.")]


def session_folder(session: str, data: Path | None) -> Path:
    """Find a session by its folder's path or by its id in the data root."""
    path = Path(session)
    if (path / "session.json").is_file():
        return path
    folder = data_root(data) / "sessions" / session
    if not folder.exists() and (near := _nearest(session, folder.parent)):
        raise SessionError("there is no such session.", where=folder, todo=f"Did you mean {near}?")
    return folder


def _nearest(session: str, folder: Path) -> str | None:
    """Find the session whose id is most like what was typed, or that alone has it as a part."""
    there = sorted(file.parent.name for file in folder.glob("*/session.json"))
    near = difflib.get_close_matches(session, there, 1)
    parts = [name for name in there if session and session in name]
    return near[0] if near else parts[0] if len(parts) == 1 else None


@sessions_app.command("list")
def list_sessions(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the sessions in the data root.

    Example: gazelab sessions list --json
    """
    from gazelab.sessions.library import list_sessions as listed

    rows = listed(data_root(data))
    if as_json:
        typer.echo(json.dumps([row.to_json() for row in rows], allow_nan=False))
        return
    if not rows:
        typer.echo("No session yet. `gazelab demo` makes one without a camera.")
    for row in rows:
        typer.echo(row.line())


@sessions_app.command()
def show(session: SessionArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show one session: who, where, how long, its trials, and what had to be repaired."""
    from gazelab.sessions.library import describe

    shown = describe(session_folder(session, data))
    typer.echo(json.dumps(shown.to_json(), allow_nan=False) if as_json else shown.text())


@sessions_app.command()
def delete(
    session: SessionArgument,
    data: DataOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a session whole; it cannot be undone."""
    from gazelab.sessions.library import delete_session

    folder = session_folder(session, data)
    if not yes and not _sure(f"Delete {folder} and everything in it?"):
        raise Cancelled("nothing was deleted.")
    delete_session(folder)
    typer.echo(f"Deleted {folder}.")


def _sure(question: str) -> bool:
    """Ask; no answer, as from a script without input, is a no."""
    try:
        return typer.confirm(question)
    except typer.Abort:
        return False
