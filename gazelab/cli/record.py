"""The verbs that measure gaze: calibrate and record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from gazelab.cli.options import DEFAULT_SCREEN, DataOption, ScreenOption, data_root, parse_screen
from gazelab.core.errors import CalibrationError, ConfigError

if TYPE_CHECKING:
    from gazelab.calibration.profile import Profile
    from gazelab.core.geometry import Screen
    from gazelab.sources.base import GazeSource

SourceOption = Annotated[
    str, typer.Option("--source", help="webcam, video, synthetic, recorded or pointer (in the app only).")
]
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device", help="A camera's number or name, a video file, or a session.", show_default="the first"
    ),
]
ParticipantOption = Annotated[
    str, typer.Option("--participant", help="A code of letters and digits, never a name.")
]


def calibrate(
    source: SourceOption = "webcam",
    device: DeviceOption = "",
    participant: ParticipantOption = "P1",
    points: Annotated[int, typer.Option(help="5, 9, 13 or 16 targets.")] = 9,
    screen: ScreenOption = DEFAULT_SCREEN,
    data: DataOption = None,
    seed: Annotated[int, typer.Option(help="Of the targets' order.")] = 0,
) -> None:
    """Calibrate, validate on held-out targets, save a profile.

    With a camera this opens the app, since somebody must see the targets. The synthetic participant needs
    no window.

    Example: gazelab calibrate --source synthetic --participant TEST
    """
    if source != "synthetic":
        _open_app("calibrate", data_root(data), source, device, participant)
    from gazelab.pipeline.synthetic_session import calibrate_synthetic

    def say(text: str) -> None:
        typer.echo(text, err=True)

    profile, path = calibrate_synthetic(data_root(data), parse_screen(screen), participant, seed, points, say)
    v = profile.validation
    typer.echo(
        f"accuracy {v.accuracy_deg:.2f} deg ({v.accuracy_px:.0f} px),"
        f" precision RMS-S2S {v.rms_s2s_deg:.2f} deg, SD {v.sd_deg:.2f} deg, data loss {v.data_loss:.1%},"
        f" on {len(v.targets)} held-out targets"
    )
    typer.echo(f"Profile: {path}")


def record(
    source: SourceOption = "webcam",
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
    screen: ScreenOption = DEFAULT_SCREEN,
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
    root = data_root(data)
    if seconds is None:
        _open_app("record", root, source, device, participant, charts, n_charts)
    if source == "pointer":
        raise ConfigError(
            "the pointer can only be read from a window.",
            where="--source pointer",
            todo="Leave out --seconds.",
        )
    _record_without_window(source, device, seconds, session, participant, profile, parse_screen(screen), root)


def _open_app(
    page: str,
    root: Path,
    source: str,
    device: str,
    participant: str,
    charts: Path | None = None,
    n_charts: int | None = None,
) -> NoReturn:
    from gazelab.app import main as app_main

    arguments = ["--data", str(root), "--page", page, "--source", source, "--participant", participant]
    for name, value in (("--device", device), ("--charts", charts), ("--n-charts", n_charts)):
        if value:
            arguments += [name, str(value)]
    raise typer.Exit(app_main(arguments))


def _record_without_window(
    source: str,
    device: str,
    seconds: float,
    session: str,
    participant: str,
    profile: Path | None,
    screen: Screen,
    root: Path,
) -> None:
    from gazelab.calibration.profile import load_profile
    from gazelab.pipeline.calibrate import profile_facts
    from gazelab.pipeline.record import header_for, record_for
    from gazelab.sessions.names import new_session_id
    from gazelab.sessions.writer import SessionWriter
    from gazelab.sources.registry import open_source

    loaded = load_profile(profile) if profile is not None else None
    opened = open_source(
        source,
        device=device,
        screen=screen,
        mapping=None if loaded is None else loaded.mapping,
        paced=source != "video",
    )
    facts: dict[str, Any] = {}
    if loaded is not None and profile is not None:
        _check(loaded, participant, screen, opened)
        facts = {"calibrated": True, "profile": profile_facts(loaded, profile.name)}
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
