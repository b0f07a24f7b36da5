"""The command line: every verb of the app, without a window where it can do without.

Heavy packages are imported inside the verbs, so that `gazelab --help` is quick.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, TextIO

import typer

from gazelab import __version__
from gazelab.cli.attend import attend
from gazelab.cli.chartreader import train_chartreader
from gazelab.cli.corrections import corrections, recalibrate, shift, undo
from gazelab.cli.models import models
from gazelab.cli.options import DataOption, JsonOption, SeedOption, data_root, quit_with
from gazelab.cli.quality import quality
from gazelab.cli.record import calibrate, record
from gazelab.cli.results import compare, replay
from gazelab.cli.sessions import session_folder, sessions_app
from gazelab.cli.tools import doctor, evaluate_app
from gazelab.core.errors import Cancelled, GazelabError
from gazelab.core.printable import one_line

app = typer.Typer(
    name="gazelab",
    help="A reader's gaze beside a vision-language model's attention on the same chart.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for correcting in (corrections, shift, recalibrate, undo):
    sessions_app.command()(correcting)
app.add_typer(sessions_app, name="sessions")
app.add_typer(evaluate_app, name="evaluate")
for verb in (calibrate, record, replay, quality, compare, attend, models, doctor):
    app.command()(verb)
app.command("train-chartreader")(train_chartreader)

__all__ = ["app", "main"]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gazelab {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Open the app; with a verb, do that instead.

    Examples: gazelab demo · gazelab calibrate --participant P01 · gazelab replay SESSION --html out.html
    """
    if context.invoked_subcommand is None:
        open_app()


@app.command("app")
def open_app(
    data: DataOption = None,
    session: Annotated[
        str | None, typer.Option(help="Open the app on this session's replay: its id or its folder.")
    ] = None,
    screenshot_pages: Annotated[
        Path | None, typer.Option(help="Write a picture of every page into this folder, then quit.")
    ] = None,
) -> None:
    """Open the window."""
    from gazelab.app import main as app_main

    arguments = ["--data", str(data_root(data))]
    if session is not None:
        arguments += ["--session", str(session_folder(session, data))]
    if screenshot_pages is not None:
        arguments += ["--screenshot-pages", str(screenshot_pages)]
    raise typer.Exit(app_main(arguments))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the session and the report.")] = Path("out/demo"),
    data: DataOption = None,
    window: Annotated[
        bool, typer.Option("--window/--no-window", help="Open the app on the result if there is a screen.")
    ] = True,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Run the main job with no camera.

    A synthetic participant calibrates, reads four charts and answers.
    Its rendered face goes through the real face landmarker; the embedded model answers the same questions;
    the session, the fixations, the maps, the scores and an HTML report are written.
    """
    from gazelab.cli.pictures import draw_validation
    from gazelab.pipeline.demo import demo_table, run_demo

    root_folder = data_root(data if data is not None else out)
    result = run_demo(out, root_folder, seed, lambda text: typer.echo(text, err=True), draw_validation)
    typer.echo(json.dumps(result.to_json(), allow_nan=False) if as_json else demo_table(result))
    if window and not as_json and has_screen():
        open_app(root_folder, str(result.session_path))


def has_screen() -> bool:
    """Tell whether a window can be opened here: a display, and somebody at the terminal."""
    terminal = sys.stdout.isatty()
    if platform.system() != "Linux":
        return terminal
    shown = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return terminal and shown and os.environ.get("QT_QPA_PLATFORM") != "offscreen"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; a user's mistake gives a sentence and an exit code, never a traceback.

    Returns
    -------
    int
        0, 1 for an error, 2 for wrong arguments, 130 if stopped by the user.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # text of a session that a terminal has no characters for
        sys.stdout.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        return _run(arguments)


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning as a sentence, without the line of code that it came from."""
    typer.echo(f"note: {one_line(str(message))}", err=True)


def _run(arguments: list[str] | None) -> int:
    try:
        result = app(args=arguments, standalone_mode=False)
    except GazelabError as fault:
        return quit_with(fault)
    except (typer.Abort, KeyboardInterrupt):
        result = Cancelled.exit_code
    except BrokenPipeError:
        return 0
    except Exception as fault:
        if type(fault).__module__.startswith(("click", "typer")) and hasattr(fault, "show"):
            if isinstance(said := getattr(fault, "message", None), str):
                fault.message = said.removeprefix("Value error, ")  # type: ignore[attr-defined]
            fault.show()
            return int(getattr(fault, "exit_code", 2))
        raise
    if result == Cancelled.exit_code:  # typer, too, makes this of Ctrl-C
        typer.echo("gazelab: stopped; what was recorded is kept.", err=True)
    return result if isinstance(result, int) else 0
