"""The verbs that measure gaze: calibrate and record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from gazelab.cli.options import (
    DEFAULT_SCREEN,
    DataOption,
    ScreenOption,
    SeedOption,
    data_root,
    parse_screen,
    profile_folder,
    settings_of,
)
from gazelab.cli.sessions import session_folder
from gazelab.core.errors import CalibrationError, ConfigError

if TYPE_CHECKING:
    from gazelab.calibration.profile import Profile
    from gazelab.core.geometry import Screen
    from gazelab.settings import Settings
    from gazelab.sources.base import CameraAsk, GazeSource

SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source",
        help="webcam, video, synthetic, recorded (without a window) or pointer (in the app).",
        show_default="gazelab.toml's, or webcam",
    ),
]
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        help="A camera's number or name, a video file, or a session.",
        show_default="gazelab.toml's camera, or the first",
    ),
]


class CalibrationStyle(StrEnum):
    """As `gazelab.calibration.plan.Style`, which would load numpy before `--help`."""

    POINTS = "points"
    PURSUIT = "pursuit"


ParticipantOption = Annotated[
    str, typer.Option("--participant", help="A code of letters and digits, never a name.")
]


def calibrate(
    source: SourceOption = None,
    device: DeviceOption = "",
    participant: ParticipantOption = "P1",
    points: Annotated[
        int | None, typer.Option(help="5, 9, 13 or 16 targets.", show_default="gazelab.toml's, or 9")
    ] = None,
    style: Annotated[
        CalibrationStyle | None,
        typer.Option(
            help="Targets that stand, or one that moves slowly.", show_default="gazelab.toml's, or points"
        ),
    ] = None,
    head_phase: Annotated[
        bool | None,
        typer.Option(
            help="Move the head while looking at a dot, so that gaze holds when the head moves; 18 s.",
            show_default="gazelab.toml's, or no",
        ),
    ] = None,
    screen: ScreenOption = None,
    data: DataOption = None,
    seed: SeedOption = 0,
) -> None:
    """Calibrate, validate on held-out targets, save a profile.

    With a camera this opens the app, since somebody must see the targets. The synthetic participant needs
    no window.

    Examples: gazelab calibrate --source synthetic --participant TEST ·
    gazelab calibrate --style pursuit --head-phase
    """
    root, settings = data_root(data), settings_of(data)
    chosen = source or settings.source.name
    n_points = settings.calibration.points if points is None else points
    _check_asked(chosen, n_points)
    how_shown = style.value if style else settings.calibration.style
    moving = settings.calibration.head_phase if head_phase is None else head_phase
    if chosen != "synthetic":
        _need_no_window({"--screen": screen})
        more = {"points": n_points, "style": how_shown, "head_phase": moving, "no_head_phase": not moving}
        _open_app("calibrate", root, chosen, device, participant, **more)
    from gazelab.cli.pictures import draw_validation
    from gazelab.pipeline.synthetic_session import Calibrating, calibrate_synthetic

    def say(text: str) -> None:
        typer.echo(text, err=True)

    shown = parse_screen(screen or DEFAULT_SCREEN)
    profile, path = calibrate_synthetic(
        root, shown, participant, seed, Calibrating(n_points, how_shown, moving), say
    )
    draw_validation(path, profile)
    v = profile.validation
    typer.echo(
        f"accuracy {v.accuracy_deg:.2f} deg ({v.accuracy_px:.0f} px),"
        f" precision RMS-S2S {v.rms_s2s_deg:.2f} deg, SD {v.sd_deg:.2f} deg, data loss {v.data_loss:.1%},"
        f" on {len(v.targets)} held-out targets"
    )
    typer.echo(f"Profile: {path}")


def record(
    source: SourceOption = None,
    device: DeviceOption = "",
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Record so long without a window; else the app opens.")
    ] = None,
    session: Annotated[
        str, typer.Option("--session", help="The session's id.", show_default="made of the time")
    ] = "",
    participant: ParticipantOption = "P1",
    profile: Annotated[
        Path | None, typer.Option(help="A calibration profile's folder.", show_default="none: no gaze")
    ] = None,
    screen: ScreenOption = None,
    charts: Annotated[
        Path | None,
        typer.Option(help="A folder of charts to read in the app.", show_default="the shipped ones"),
    ] = None,
    n_charts: Annotated[int | None, typer.Option(min=1, help="How many of them.", show_default="4")] = None,
    data: DataOption = None,
) -> None:
    """Record gaze, in the app or without a window.

    With --seconds it records so long without a window; without, the app opens with charts and questions.

    Examples: gazelab record --source synthetic --seconds 10 --session trial1 ·
    gazelab record --source pointer --charts ChartQA/test --n-charts 6
    """
    root, settings = data_root(data), settings_of(data)
    chosen = source or settings.source.name
    _check_asked(chosen)
    profile = None if profile is None else profile_folder(profile, data)
    if seconds is None:
        _need_no_window({"--session": session, "--profile": profile, "--screen": screen})
        _open_app("record", root, chosen, device, participant, charts=charts, n_charts=n_charts)
    if chosen == "pointer":
        raise ConfigError(
            "the pointer can only be read from a window.",
            where="--source pointer",
            todo="Leave out --seconds.",
        )
    if chosen == "recorded" and device:
        device = str(session_folder(device, data))
    wanted = Wanted(chosen, device or _camera_of(chosen, settings), settings.source.ask)
    _record_without_window(wanted, seconds, session, participant, profile, screen, root)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which source to record from."""

    name: str
    device: str
    ask: CameraAsk


def _check_asked(source: str, points: int | None = None) -> None:
    """Refuse a misspelt source or a layout that there isn't before a window or a model is opened for it."""
    from gazelab.calibration.targets import check_points
    from gazelab.sources.registry import check_source

    check_source(source)
    if points is not None:
        check_points(points)


def _camera_of(source: str, settings: Settings) -> str:
    return settings.source.camera if source == "webcam" else ""


def _need_no_window(given: Mapping[str, object]) -> None:
    """Refuse options that the app does not take, so that none is passed over in silence."""
    for name, value in given.items():
        if value:
            raise ConfigError(
                "only a recording without a window takes this.",
                where=name,
                todo="Add --seconds N, or leave it out and choose in the app.",
            )


def _screen(given: str | None, profile: Profile | None, wanted: Wanted) -> Screen:
    """Choose the screen that the gaze is on: as told, or the profile's, or the recorded session's.

    Without any of these nothing is known of it, and there is no gaze either: degrees are not made up.
    """
    if given and profile is not None:
        return replace(parse_screen(given), name=profile.screen.name)
    if given:
        return parse_screen(given)
    if profile is not None:
        return profile.screen
    if wanted.name == "recorded" and wanted.device:
        from gazelab.sessions.reader import Session

        return Session.open(wanted.device).header.screen
    return parse_screen(DEFAULT_SCREEN if wanted.name == "synthetic" else DEFAULT_SCREEN.partition(":")[0])


def _open_app(
    page: str,
    root: Path,
    source: str,
    device: str,
    participant: str,
    **more: object,
) -> NoReturn:
    from gazelab.app import main as app_main

    arguments = ["--data", str(root), "--page", page, "--source", source, "--participant", participant]
    if source == "recorded":
        raise ConfigError(
            "a recorded session is no source for the app.",
            where="--source recorded",
            todo="Look at it with `gazelab replay`, or add --seconds N to `gazelab record`.",
        )
    for name, value in {"device": device, **more}.items():
        if value:
            arguments += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    raise typer.Exit(app_main(arguments))


def _record_without_window(
    wanted: Wanted,
    seconds: float,
    session: str,
    participant: str,
    profile: Path | None,
    given_screen: str | None,
    root: Path,
) -> None:
    from gazelab.calibration.profile import load_profile
    from gazelab.pipeline.calibrate import profile_facts
    from gazelab.pipeline.record import header_for, record_for
    from gazelab.sessions.names import new_session_id
    from gazelab.sessions.writer import SessionWriter
    from gazelab.sources.registry import open_source

    loaded = load_profile(profile) if profile is not None else None
    screen = _screen(given_screen, loaded, wanted)
    as_fast_as_it_goes = wanted.name == "video"
    opened = open_source(
        wanted.name,
        device=wanted.device,
        ask=wanted.ask,
        screen=screen,
        mapping=None if loaded is None else loaded.mapping,
        head_box=None if loaded is None else loaded.head_box,
        paced=not as_fast_as_it_goes,
    )
    facts: dict[str, Any] = {"clock": "virtual"} if as_fast_as_it_goes else {}
    if loaded is not None and profile is not None:
        _check(loaded, participant, screen, opened)
        facts |= {"calibrated": True, "profile": profile_facts(loaded, profile.name)}
    # First the source: one that cannot be opened leaves no empty session, and an open one knows its size.
    with opened:
        header = header_for(opened, screen, participant, **facts)
        with SessionWriter.create(root, session or new_session_id("recording"), header) as writer:
            if profile is not None:
                writer.calibration(profile)
            done = record_for(opened, writer, screen, seconds, time.perf_counter_ns)
    typer.echo(
        f"{done.n_samples} samples in {done.seconds:.1f} s, {done.n_valid} with gaze;"
        f" at the end the source was {done.final_state.value}"
    )
    if loaded is None and not done.n_valid:
        typer.echo("No profile was given, so there is no gaze yet: the features are kept for a calibration.")
    typer.echo(f"Session: {done.path}")


def _check(profile: Profile, participant: str, screen: Screen, source: GazeSource) -> None:
    from gazelab.calibration.profile import check_fits
    from gazelab.pipeline.calibrate import binding_of

    try:
        check_fits(profile, participant, screen, binding_of(source))
    except CalibrationError:
        source.close()
        raise
