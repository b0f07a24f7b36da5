"""Options that several verbs share, and how a fault is said."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated

import typer

from gazelab.config import find_data_root, load_settings
from gazelab.core.errors import CalibrationError, ConfigError, GazelabError
from gazelab.core.geometry import Screen
from gazelab.core.printable import one_line
from gazelab.settings import Settings

DEFAULT_SCREEN = "1920x1080:345x194@600"

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder that holds calibration/ and sessions/.", show_default="gazelab's own"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="chartreader (a small teaching model), a folder with a checkpoint, or a name on the hub.",
        show_default="gazelab.toml's, or chartreader",
    ),
]
ScreenOption = Annotated[
    str | None,
    typer.Option(
        "--screen",
        help="Width x height in px : in mm @ distance in mm, as 1920x1080:345x194@600.",
        show_default="the profile's or the recorded session's; the synthetic participant has its own",
    ),
]
DetectorOption = Annotated[
    str | None,
    typer.Option(
        "--detector",
        help="What finds the fixations: gazelab, ivt, segmentation; i2mc or remodnav where installed.",
        show_default="gazelab.toml's, or gazelab",
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Of everything random.")]

_SCREEN = re.compile(r"(\d+)x(\d+)(?::(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(?:@(\d+(?:\.\d+)?))?)?")


def data_root(given: Path | None) -> Path:
    """Give the folder that holds calibration/ and sessions/."""
    return find_data_root(given)


def profile_folder(given: Path, data: Path | None) -> Path:
    """Find a calibration profile by its folder's path, or by its name in the data root.

    Raises
    ------
    CalibrationError
        There is none; with those that there are.
    """
    root = data_root(data)
    for path in (given, root / given, root / "calibration" / given):
        if path.is_dir():
            return path
    there = sorted(file.parent.name for file in (root / "calibration").glob("*/profile.json"))
    near = difflib.get_close_matches(given.name, there, 1)
    todo = (
        f"Did you mean {near[0]}?"
        if near
        else f"Choose a profile's folder; they lie in {root / 'calibration'}."
    )
    raise CalibrationError("there is no such profile.", where=given, todo=todo)


def settings_of(data: Path | None) -> Settings:
    """Read the gazelab.toml of the data root."""
    return load_settings(data_root(data))


def model_name(given: str | None, data: Path | None) -> str:
    """Give the model that was named, or else the settings' one."""
    return given or settings_of(data).model.name


def detector_name(given: str | None, data: Path | None) -> str:
    """Give the detector that was named, or else the settings' one."""
    return given or settings_of(data).events.detector


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
    typer.echo(f"gazelab: {one_line(str(fault))}", err=True)
    return fault.exit_code
