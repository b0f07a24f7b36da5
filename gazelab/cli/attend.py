"""Ask a model about one picture, and keep where it looked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gazelab.cli.map_options import HeadsOption, LayersOption, MethodOption, SinksOption, map_choice
from gazelab.cli.options import ModelOption, model_name
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
    sinks: SinksOption = "keep",
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    online: Annotated[bool, typer.Option(help="Allow the checkpoint to be downloaded.")] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Let the checkpoint run its own code.")
    ] = False,
) -> None:
    """Ask a model about one picture.

    Prints each token as it comes, and writes where the model looked: the trace (safetensors, with a
    description as JSON), the map of the answer and of each token over the chart, and a sheet with one map a
    layer.

    Example: gazelab attend chart.png --question "Which bar is highest?" --layers -1 --out trace
    """
    from gazelab.attention.base import TokenStep, open_model
    from gazelab.core.picture import load_picture
    from gazelab.pipeline.attend import attend as run

    choice = map_choice(method, layers, heads, sinks)
    shown = load_picture(picture)
    opened = open_model(model_name(model, None), device, online=online, trust_remote_code=trust_remote_code)

    def say(step: TokenStep) -> None:
        share = float(step.weights.astype(float).sum((-2, -1)).mean())
        top = "  ".join(f"{text!r} {p:.2f}" for text, p in step.top[:3])
        typer.echo(f"{step.text!r:16} on the picture {share:.3f}   {top}")

    done = run(opened, shown, question, out, choice, max_tokens, say)
    typer.echo(f"Answer: {one_line(done.trace.answer)}")
    for path in done.files:
        typer.echo(f"Wrote {path}")
