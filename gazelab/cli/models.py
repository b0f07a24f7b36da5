"""`gazelab models`: which checkpoints we recommend for charts, what each costs, and which are here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from gazelab.cli.options import JsonOption

if TYPE_CHECKING:
    from gazelab.attention.catalogue import KnownCheckpoint

_HEADINGS = ("model", "parameters", "download", "memory", "chart tokens", "CPU s a question", "fits", "here")


def models(as_json: JsonOption = False) -> None:
    """List the checkpoints that we recommend for charts. Nothing is downloaded.

    Download and memory (in bfloat16) are about; the hub says the exact size before a download. Tokens are
    those of a chart of 850 x 600 px. CPU seconds are of one core, for an answer of eight tokens; with ~ they
    are estimated from the arithmetic, not measured. "fits" compares with the memory that is free now; "here"
    tells whether it has been downloaded.

    Example: gazelab attend chart.png --question "Which bar is highest?" --download --model
    HuggingFaceTB/SmolVLM-256M-Instruct
    """
    from gazelab.attention.catalogue import CATALOGUE
    from gazelab.attention.hub import size_text
    from gazelab.attention.memory_free import free_host_bytes

    free = free_host_bytes()
    if as_json:
        typer.echo(json.dumps({"free_bytes": free, "models": [_row(entry, free) for entry in CATALOGUE]}))
        return
    rows = [_HEADINGS, *(_cells(entry, free) for entry in CATALOGUE)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    for row in rows:
        figures = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        typer.echo("  ".join([row[0].ljust(widths[0]), *figures]))
    typer.echo("\nWhat to know of each:")
    for entry in CATALOGUE:
        typer.echo(f"{entry.name.ljust(widths[0])}  {entry.note}")
    room = "not known" if free is None else size_text(free)
    typer.echo(
        f"\nMemory free now: {room}. The embedded model is asked as chartreader and needs no download."
    )


def _row(entry: KnownCheckpoint, free: int | None) -> dict[str, Any]:
    return {
        "model": entry.name,
        "parameters": entry.parameters,
        "download_bytes": entry.download_bytes,
        "memory_bytes": entry.memory_bytes,
        "chart_tokens": entry.chart_tokens,
        "cpu_seconds": round(entry.seconds, 1),
        "cpu_seconds_measured": entry.measured_seconds is not None,
        "fits": entry.fits(free),
        "here": entry.here,
        "note": entry.note,
    }


def _cells(entry: KnownCheckpoint, free: int | None) -> tuple[str, ...]:
    from gazelab.attention.hub import size_text

    fits = entry.fits(free)
    seconds = f"{entry.seconds:.0f}" if entry.measured_seconds else f"~{entry.seconds:.0f}"
    return (
        entry.name,
        f"{entry.parameters / 1e9:.2f} B",
        size_text(entry.download_bytes),
        size_text(entry.memory_bytes),
        str(entry.chart_tokens),
        seconds,
        "?" if fits is None else "yes" if fits else "no",
        entry.here,
    )
