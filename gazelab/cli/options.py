"""Options that several verbs share, and how a fault is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from gazelab.config import find_data_root
from gazelab.core.errors import ConfigError, GazelabError
from gazelab.core.geometry import Screen

DEFAULT_SCREEN = "1920x1080:345x194@600"

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder that holds calibration/ and sessions/.", show_default="gazelab's own"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
ModelOption = Annotated[
    str,
    typer.Option("--model", help="chartreader (a small teaching model), or a folder with a checkpoint."),
]
ScreenOption = Annotated[
    str,
    typer.Option("--screen", help="Width x height in px : in mm @ distance in mm, as 1920x1080:345x194@600."),
]

_SCREEN = re.compile(r"(\d+)x(\d+)(?::(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(?:@(\d+(?:\.\d+)?))?)?")


def data_root(given: Path | None) -> Path:
    """Give the folder that holds calibration/ and sessions/."""
    return find_data_root(given)


def parse_screen(text: str) -> Screen:
    """Read a screen as `1920x1080:345x194@600`; without mm there are no degrees.

    Raises
    ------
    ConfigError
        It is not written so, or cannot be.
    """
    found = _SCREEN.fullmatch(text.strip())
    if not found:
        raise ConfigError(
            f"{text!r} is no screen.",
            todo="Write it as 1920x1080:345x194@600 (px : mm @ mm from the eyes).",
        )
    w, h, w_mm, h_mm, distance = (float(g) if g else float("nan") for g in found.groups())
    source = "user" if w_mm == w_mm else "unknown"
    screen = Screen("screen", int(w), int(h), w_mm, h_mm, distance, source)
    screen.check_plausible()
    return screen


def quit_with(fault: GazelabError) -> int:
    """Say a fault in one line and give its exit code."""
    typer.echo(f"gazelab: {fault}", err=True)
    return fault.exit_code
