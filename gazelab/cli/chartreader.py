"""`gazelab train-chartreader`: train the embedded model, or print its card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gazelab.cli.options import SeedOption
from gazelab.core.errors import ConfigError


def train_chartreader(
    out: Annotated[
        Path | None, typer.Option(help="Folder of checkpoints; a run there is resumed.", show_default=False)
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long to train.")] = 120.0,
    seed: SeedOption = 0,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
    resume: Annotated[bool, typer.Option("--resume/--restart", help="Go on from a checkpoint.")] = True,
    start_from: Annotated[
        Path | None,
        typer.Option("--from", help="Weights (.safetensors) to begin with.", show_default="random ones"),
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Print the model's card; trains nothing without --out.")
    ] = False,
    weights: Annotated[
        Path | None,
        typer.Option(help="The weight file to evaluate.", show_default="the trained one, or the package's"),
    ] = None,
    chartqa: Annotated[
        Path | None, typer.Option(help="A ChartQA folder to measure real accuracy on.", show_default=False)
    ] = None,
    charts: Annotated[int, typer.Option(min=2, help="Fresh charts to evaluate on, of each kind.")] = 100,
    card: Annotated[
        Path | None, typer.Option(help="Write the card as a Markdown page too.", show_default=False)
    ] = None,
) -> None:
    """Train the embedded chart reader, or print its card.

    Training is on drawn charts; it stops and goes on as you like. The card tells the training curve, the
    scores on fresh charts with labels seen and never seen, where the model looks, and its real accuracy.

    Examples: gazelab train-chartreader --out runs/reader --minutes 120 · gazelab train-chartreader
    --evaluate --chartqa data/chartqa
    """
    if out is None and not evaluate:
        raise ConfigError(
            "there is nothing to do.", todo="Name a folder to train in (--out), or ask for --evaluate."
        )
    trained = None if out is None else _train(out, minutes, seed, threads, resume, start_from)
    if evaluate:
        _print_card(weights or trained, charts, chartqa, card)


def _train(out: Path, minutes: float, seed: int, threads: int, resume: bool, start_from: Path | None) -> Path:
    import logging

    from gazelab.pipeline.train_chartreader import train_chartreader as run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    return run(out, minutes, seed=seed, threads=threads, resume=resume, start_from=start_from)


def _print_card(weights: Path | None, charts: int, chartqa: Path | None, page: Path | None) -> None:
    from gazelab.attention.chartreader.model import ChartReader
    from gazelab.pipeline.chartreader_card import make_card

    made = make_card(ChartReader.load(weights), charts=charts, blanked=charts, chartqa=chartqa)
    typer.echo(made.text())
    if page is not None:
        try:
            page.write_text(made.markdown(), encoding="utf-8")
        except OSError as fault:
            raise ConfigError(
                f"the page cannot be written ({fault.strerror}).", where=page, todo="Choose another place."
            ) from fault
