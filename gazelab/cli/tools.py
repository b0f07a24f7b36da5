"""The verbs that check and measure: doctor, evaluate."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gazelab.cli.model_options import (
    DeviceOption,
    DtypeOption,
    GridOption,
    QuantOption,
    RevisionOption,
    TrustOption,
    options_of,
)
from gazelab.cli.options import DataOption, JsonOption, data_root, settings_of
from gazelab.core.errors import GazelabError
from gazelab.core.printable import one_line

if TYPE_CHECKING:
    from gazelab.pipeline.doctor import Check

_MEANING = {
    "loo_deg": "mean error of each picture, calibrated on the person's other ones",
    "nine_to_twelve_deg": "mean error on twelve targets, calibrated on the nine others",
    "block_median_px": "by block: median error after the 60 pictures that calibrate",
    "median_px": "mean of the blocks",
    "loo_nominal_deg": "mean error of each picture, calibrated on all others",
    "unseen_pose_deg": "mean error at each head pose, calibrated on all others",
    "one_pose_deg": "mean error at all other head poses, calibrated on one; mean over poses",
}
"""What a figure of `evaluate gaze` is, for who reads it in a terminal."""

evaluate_app = typer.Typer(help="Measure gazelab on labelled data.", no_args_is_help=True)


def doctor(
    model: Annotated[
        str | None, typer.Option("--model", help="Also check this checkpoint's attention.")
    ] = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    quant: QuantOption = None,
    revision: RevisionOption = None,
    trust_remote_code: TrustOption = False,
    grid: GridOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check this machine, and a model with --model.

    Python, libraries, face model, cameras, data folder, settings; for a model: the tap against eager
    attention, the token count, and where the corners of a chart end up. Nothing is downloaded.

    Example: gazelab doctor --model ./SmolVLM-256M-Instruct
    """
    from gazelab.pipeline.doctor import check_machine, check_model

    def tell(check: Check) -> None:
        if not as_json:
            typer.echo(f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {one_line(check.detail)}")

    checks = [*check_machine(data_root(data)), _settings(data)]
    for check in checks:
        tell(check)
    if model is not None:
        options = options_of(data, device, dtype, quant, revision, grid, False, trust_remote_code, name=model)
        checks += check_model(model, options, tell)
    if as_json:
        rows = [{"check": c.name, "ok": c.ok, "detail": c.detail} for c in checks]
        typer.echo(json.dumps({"ok": all(c.ok for c in checks), "checks": rows}))
    raise typer.Exit(0 if all(c.ok for c in checks) else 1)


def _settings(data: Path | None) -> Check:
    """Check gazelab.toml, without which no other verb starts."""
    from gazelab.config import FILE_NAME
    from gazelab.pipeline.doctor import Check

    try:
        settings_of(data)
    except GazelabError as fault:
        return Check("settings", False, str(fault))
    file = data_root(data) / FILE_NAME
    return Check("settings", True, str(file) if file.is_file() else f"no {FILE_NAME}: all by default")


@evaluate_app.command("gaze")
def evaluate_gaze(
    folder: Annotated[Path, typer.Argument(help="Face pictures with labels.csv.")],
    layout: Annotated[str, typer.Option(help="columbia, laptop or headposes.")],
    as_json: JsonOption = False,
) -> None:
    """Measure the gaze error on face pictures with known targets, with the app's own mapping.

    Example: gazelab evaluate gaze faces/ --layout laptop --json
    """
    from gazelab.pipeline.evaluate import evaluate_gaze as run

    def progress(done: int, total: int) -> None:
        if done % 50 == 0:
            typer.echo(f"{done} of {total} pictures", err=True)

    result = run(folder, layout, progress=progress)
    if as_json:
        typer.echo(json.dumps(_json_ready(result), allow_nan=False))
        return
    for key, value in result.items():
        shown = f"{value:.3f}" if isinstance(value, float) else str(value)
        typer.echo(f"{key}: {shown}" + (f"  ({_MEANING[key]})" if key in _MEANING else ""))


@evaluate_app.command("chartreader")
def evaluate_reader(
    charts: Annotated[int, typer.Option(min=1, help="Fresh charts, eight questions on each.")] = 300,
    weights: Annotated[Path | None, typer.Option(help="A weight file.", show_default="the package's")] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the embedded chart reader about drawn charts that it has never seen.

    How many answers are right, by kind of question; how much of its attention falls on what was asked; and
    whether blanking what it looked at spoils the answer, beside blanking something else.

    Example: gazelab evaluate chartreader --charts 100
    """
    from gazelab.attention.chartreader.model import ChartReader
    from gazelab.pipeline.evaluate_chartreader import evaluate_chartreader

    result = evaluate_chartreader(ChartReader.load(weights), charts=charts)
    typer.echo(json.dumps(_json_ready(result.to_json()), allow_nan=False) if as_json else result.table())


def _json_ready(value: Any) -> Any:
    """Turn NaN, which JSON does not know, into null."""
    if isinstance(value, dict):
        return {key: _json_ready(one) for key, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
