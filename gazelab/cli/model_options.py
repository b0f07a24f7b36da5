"""Options that say how a checkpoint is opened, and a line of progress while it is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gazelab.cli.options import settings_of

if TYPE_CHECKING:
    from gazelab.attention.base import AttentionModel
    from gazelab.attention.checkpoint_options import ModelOptions

DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="cpu, cuda, cuda:1 or mps.", show_default="gazelab.toml's, or cpu"),
]
DtypeOption = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        help="Number type: auto, bfloat16, float32 or float16.",
        show_default="gazelab.toml's, or auto",
    ),
]
QuantOption = Annotated[
    str | None, typer.Option("--quant", help="4bit or 8bit, where a library that can is installed.")
]
RevisionOption = Annotated[
    str | None, typer.Option("--revision", help="Of a checkpoint of the hub: branch, tag or commit.")
]
DownloadOption = Annotated[
    bool, typer.Option("--download", help="Allow a download; its size is said before, and it can be resumed.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust-remote-code", help="Let the checkpoint run code of its own.")
]
GridOption = Annotated[
    Path | None,
    typer.Option("--grid", help="A Python file of yours that lays a family's picture tokens; it is run."),
]


class Fetching:
    """A line on the terminal while something is fetched: the size first, then every tenth of it."""

    def __init__(self) -> None:
        self._told = -1

    def __call__(self, what: str, done_bytes: int, total_bytes: int) -> None:
        """Tell how far it is."""
        from gazelab.attention.hub import size_text

        tenth = 10 * done_bytes // max(total_bytes, 1)
        if tenth != self._told:
            self._told = tenth
            typer.echo(f"{what}: {size_text(done_bytes)} of {size_text(total_bytes)}", err=True)


def options_of(
    data: Path | None,
    device: str | None,
    dtype: str | None,
    quant: str | None,
    revision: str | None,
    grid: Path | None,
    download: bool = False,
    trust_remote_code: bool = False,
    *,
    name: str = "",
) -> ModelOptions:
    """Put the options together; what was not given comes from the settings of the data root.

    The settings are for checkpoints: with the embedded model's name, only what was given counts.
    """
    from gazelab.attention.base import EMBEDDED
    from gazelab.attention.checkpoint_options import ModelOptions
    from gazelab.settings import ModelSettings

    known = ModelSettings() if name == EMBEDDED else settings_of(data).model
    return ModelOptions(
        device or known.device,
        dtype or known.dtype,
        download,
        trust_remote_code,
        grid,
        revision,
        quant or known.quant or None,
    )


def open_named(name: str, options: ModelOptions) -> AttentionModel:
    """Open a model, and say how a download comes along."""
    from gazelab.attention.base import open_model

    return open_model(name, **options.as_arguments(), progress=Fetching())
