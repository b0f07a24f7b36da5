"""Ask a model about one picture, and keep where it looked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    DownloadOption,
    DtypeOption,
    GridOption,
    QuantOption,
    RevisionOption,
    TrustOption,
    open_named,
    options_of,
)
from gazelab.cli.options import ModelOption, model_name
from gazelab.core.errors import ConfigError
from gazelab.core.printable import one_line


def attend(
    picture: Annotated[Path, typer.Argument(help="A chart: PNG, JPEG, …")],
    question: Annotated[str, typer.Option("--question", "-q", help="What to ask about it.")],
    model: ModelOption = None,
    out: Annotated[Path, typer.Option(help="Folder for the trace and the pictures.")] = Path("out/attend"),
    max_tokens: Annotated[int, typer.Option(min=1, max=512, help="Longest answer.")] = 32,
    method: MethodOption = "mean",
    layers: LayersOption = "",
    heads: HeadsOption = "",
    tokens: TokensOption = "",
    sinks: SinksOption = "keep",
    view: ViewOption = "all",
    check: Annotated[
        bool,
        typer.Option("--check", help="Blank what was looked at, and as much else, and ask again."),
    ] = False,
    curves: Annotated[
        bool, typer.Option("--curves", help="--check step by step, with deletion and insertion curves.")
    ] = False,
    answer: Annotated[
        str | None, typer.Option("--answer", help="Read this answer instead of the checkpoint's own.")
    ] = None,
    patch: Annotated[
        str | None,
        typer.Option("--patch", help="Also what this patch looks at in a checkpoint's vision, as ROW,COL."),
    ] = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    quant: QuantOption = None,
    revision: RevisionOption = None,
    download: DownloadOption = False,
    trust_remote_code: TrustOption = False,
    grid: GridOption = None,
) -> None:
    """Ask a model about one picture.

    Prints each token as it comes, and writes where the model looked: the trace (safetensors, with a
    description as JSON), the map of the answer and of each token over the chart, and a sheet with one map a
    layer. With --check it also tells whether the patches that were looked at mattered to the answer.

    Example: gazelab attend chart.png --question "Which bar is highest?" --layers -1 --out trace

    Example: gazelab attend chart.png -q "Which bar is highest?" --model ./Qwen2.5-VL-3B-Instruct
    --method relevance --check
    """
    from gazelab.attention.base import TokenStep
    from gazelab.attention.causal import CheckPlan
    from gazelab.core.picture import load_picture
    from gazelab.pipeline.attend import attend as run
    from gazelab.pipeline.attend import memory_line
    from gazelab.pipeline.attend_patch import patch_sheet, write_patch_sheet

    choice = map_choice(method, layers, heads, sinks, view, tokens)
    if not question.strip():
        raise ConfigError("there is no question.", where="--question", todo="Ask one, in quotes.")
    cell = _cell(patch)
    shown = load_picture(picture)
    name = model_name(model, None)
    options = options_of(None, device, dtype, quant, revision, grid, download, trust_remote_code, name=name)
    opened = open_named(name, options)
    if line := memory_line(opened, shown, question, max_tokens):
        typer.echo(one_line(line), err=True)

    def say(step: TokenStep) -> None:
        share = 1 - float((step.text_share + step.sink_share).mean())
        top = "  ".join(f"{text!r} {p:.2f}" for text, p in step.top[:3])
        typer.echo(f"{step.text!r:16} on the picture {share:.3f}   {top}")

    sheet = None if cell is None else patch_sheet(opened, shown, question, cell)
    plan = CheckPlan() if curves else CheckPlan.quick() if check else None
    if plan is not None:
        typer.echo(f"The check afterwards runs the model {plan.n_passes} times at most.", err=True)
    done = run(opened, shown, question, out, choice, max_tokens, say, plan, _counted, answer)
    typer.echo(f"Answer: {one_line(done.trace.answer)}")
    for line in done.told:
        typer.echo(one_line(line))
    for path in done.files:
        typer.echo(f"Wrote {path}")
    if cell is not None and sheet is not None:
        typer.echo(f"Wrote {write_patch_sheet(sheet, cell, done.files[0])}")


def _cell(text: str | None) -> tuple[int, int] | None:
    """Read ROW,COL.

    Raises
    ------
    ConfigError
        It is not written so.
    """
    if text is None:
        return None
    try:
        row, col = (int(part) for part in text.split(","))
    except ValueError as fault:
        raise ConfigError(f"--patch {text!r} is no patch.", todo="Write it as ROW,COL, from 0.") from fault
    return row, col


def _counted(done: int, total: int) -> None:
    """Say how far a check is, a dozen times."""
    if done % max(total // 12, 1) == 0 or done == total:
        typer.echo(f"check: {done} of {total} passes", err=True)
