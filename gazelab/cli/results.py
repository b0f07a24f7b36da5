"""The verbs that look at what was recorded: replay, compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gazelab.cli.map_options import (
    HeadsOption,
    LayersOption,
    MethodOption,
    SinksOption,
    TokensOption,
    ViewOption,
    map_choice,
)
from gazelab.cli.model_options import (
    DeviceOption,
    DtypeOption,
    GridOption,
    QuantOption,
    RevisionOption,
    open_named,
    options_of,
)
from gazelab.cli.options import (
    DataOption,
    DetectorOption,
    JsonOption,
    ModelOption,
    data_root,
    detector_name,
    model_name,
    settings_of,
)
from gazelab.cli.sessions import SessionArgument, session_folder
from gazelab.core.printable import one_line
from gazelab.pipeline.layers import Layers

if TYPE_CHECKING:
    from gazelab.core.errors import GazelabError
    from gazelab.pipeline.compare import SkippedTrial, TrialComparison

GazeOption = Annotated[
    Layers,
    typer.Option(
        "--gaze", help="As measured (raw), with the drift checks (live), or with later corrections too (all)."
    ),
]


def replay(
    session: SessionArgument,
    data: DataOption = None,
    html: Annotated[Path | None, typer.Option(help="Write the report here and open no window.")] = None,
    model: ModelOption = None,
    gaze: GazeOption = "all",
    detector: DetectorOption = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    quant: QuantOption = None,
    revision: RevisionOption = None,
    grid: GridOption = None,
) -> None:
    """Replay a session beside a model's attention.

    In the app, or with --html as one file to open in a browser.

    Example: gazelab replay 2026-03-14T10-22-05_reading --html report.html
    """
    folder = session_folder(session, data)
    if html is None:
        from gazelab.app import main as app_main
        from gazelab.core.errors import ConfigError
        from gazelab.processing.detectors import detector_named

        if gaze != "all":
            raise ConfigError(
                "only a report takes this.",
                where="--gaze",
                todo="Add --html FILE, or choose the gaze on the page, under Corrections.",
            )
        if any((device, dtype, quant, revision, grid)):
            raise ConfigError(
                "how the model is opened can be said for a report only.",
                where="replay",
                todo="Add --html FILE, or set device, dtype and quant under [model] in gazelab.toml.",
            )
        chosen = [] if model is None else ["--model", model]
        chosen += [] if detector is None else ["--detector", detector_named(detector).name]
        raise typer.Exit(app_main(["--data", str(data_root(data)), "--session", str(folder), *chosen]))
    from gazelab.pipeline.compare import compare_sessions
    from gazelab.pipeline.replay import Replay
    from gazelab.pipeline.report import write_report
    from gazelab.pipeline.session_quality import assess

    found_by = detector_name(detector, data)
    replayed = Replay.open(folder, gaze, found_by)
    name = model_name(model, data)
    opened = open_named(name, options_of(data, device, dtype, quant, revision, grid, name=name))
    limits = settings_of(data).quality.limits
    compared = compare_sessions([folder], opened, None, _say, gaze, limits, detector=found_by)
    results = [result for _, result in compared]
    title, quality = f"Session {folder.name}", assess(replayed, limits)
    typer.echo(f"Report: {write_report(html, replayed, results, title, quality).resolve()}")


def compare(
    sessions: Annotated[list[str], typer.Argument(help="Session ids or folders.")],
    model: ModelOption = None,
    data: DataOption = None,
    method: MethodOption = "mean",
    layers: LayersOption = "",
    heads: HeadsOption = "",
    sinks: SinksOption = "keep",
    view: ViewOption = "all",
    tokens: TokensOption = "",
    gaze: GazeOption = "all",
    all_trials: Annotated[
        bool, typer.Option("--all-trials", help="Count trials in the means even if their gaze is too poor.")
    ] = False,
    detector: DetectorOption = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    quant: QuantOption = None,
    revision: RevisionOption = None,
    grid: GridOption = None,
    means: Annotated[
        bool, typer.Option("--means", help="With --json: one more line at the end, with the means.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Score a model's attention against fixations.

    Every score stands beside the uniform map, the centre prior and a chance interval. Trials whose gaze is
    too poor are scored, left out of the means, and told with the reason (see gazelab quality). A session that
    cannot be read, or whose corrections cannot be followed, is told; the others are scored, and the exit code
    is 1. With --json it has a line with "session" and "failed", the reason.

    Example: gazelab compare reading1 reading2 --model ./SmolVLM-256M --layers 10,11
    """
    from gazelab.core.errors import SessionError
    from gazelab.pipeline.compare import SkippedTrial, compare_sessions
    from gazelab.pipeline.means import mean_scores
    from gazelab.pipeline.report import means_table, table_text

    choice = map_choice(method, layers, heads, sinks, view, tokens)
    folders = [session_folder(s, data) for s in sessions]
    name = model_name(model, data)
    opened = open_named(name, options_of(data, device, dtype, quant, revision, grid, name=name))
    limits = settings_of(data).quality.limits
    found: list[tuple[str, TrialComparison | SkippedTrial]] = []
    found_by = detector_name(detector, data)
    failures: list[tuple[str, str]] = []

    def failed(path: Path, fault: GazelabError) -> None:
        if len(folders) == 1 and not as_json:
            raise fault  # the one reason is all there is to tell
        name, why = one_line(path.name), one_line(str(fault))
        failures.append((name, why))
        typer.echo(f"{name}: not compared, {why}", err=True)
        if as_json:
            typer.echo(json.dumps({"session": path.name, "failed": str(fault)}))

    compared = compare_sessions(folders, opened, choice, _say, gaze, limits, all_trials, found_by, failed)
    for path, result in compared:
        found.append((path.name, result))
        if as_json:
            row = {"session": path.name, **result.to_json()}
            typer.echo(json.dumps(row, allow_nan=False))
        else:
            _say_result(path.name, result)
    if all(isinstance(result, SkippedTrial) for _, result in found):
        raise SessionError(
            "no trial could be compared.",
            where=", ".join(sessions),
            todo="Each one's reason is told with it; a recording without charts has no trials.",
        )
    averaged = mean_scores(found, all_trials, [f"{name}: {why}" for name, why in failures])
    if not as_json:
        typer.echo(f"\nMeans\n{table_text(means_table(averaged))}")
    elif means:
        typer.echo(json.dumps(averaged.to_json(), allow_nan=False))
    if failures:
        raise SessionError(
            f"{len(failures)} of {len(sessions)} sessions were not compared.",
            where=", ".join(name for name, _ in failures),
            todo="Each one's reason is told above; the means are those of the others.",
        )


def _say_result(session: str, result: TrialComparison | SkippedTrial) -> None:
    from gazelab.pipeline.compare import SkippedTrial
    from gazelab.pipeline.report import score_table, table_text

    trial = result.trial
    chart, question = one_line(trial.chart_id), one_line(trial.question)
    if isinstance(result, SkippedTrial):
        typer.echo(f"{session} {chart}: skipped, {one_line(result.reason)}", err=True)
        return
    ending = " (skipped)" if trial.skipped else "" if trial.complete else " (cut off)"
    typer.echo(f"\n{session}  {chart}  {question}{ending}")
    given = "no answer" if trial.given is None else trial.given
    typer.echo(one_line(f"gold {trial.answer}; person {given}; model {result.trace.answer}"))
    if result.quality is not None and result.quality.reasons:
        typer.echo(one_line(f"gaze: {result.quality.verdict}, {'; '.join(result.quality.reasons)}"))
    typer.echo(table_text(score_table(result.agreement)))


def _say(done: int, total: int, name: str) -> None:
    typer.echo(f"[{done + 1}/{total}] {one_line(name)}", err=True)
