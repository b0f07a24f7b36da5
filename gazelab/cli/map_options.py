"""Options that choose which part of a model's attention becomes a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gazelab.attention.combined import Sinks
from gazelab.attention.methods import METHODS, MethodName

if TYPE_CHECKING:
    from gazelab.pipeline.map_choice import MapChoice

_BRIEFLY = " ".join(f"{entry.name}: {entry.about.rstrip('.')}." for entry in METHODS.values())
MethodOption = Annotated[MethodName, typer.Option("--method", help=f"How the map is made. {_BRIEFLY}")]
ViewOption = Annotated[
    str, typer.Option("--view", help="Of a model that tiles: all views together, or one (tiles, global, …).")
]
LayersOption = Annotated[
    str, typer.Option("--layers", help="Layers, as 0,1,-1; all by default.", show_default=False)
]
HeadsOption = Annotated[
    str, typer.Option("--heads", help="Heads, as 0,3; all by default.", show_default=False)
]
TokensOption = Annotated[
    str, typer.Option("--tokens", help="Tokens of the answer, as 0,1,-1; all by default.", show_default=False)
]
SinksOption = Annotated[
    Sinks, typer.Option("--sinks", help="Keep or drop patches that draw attention whatever is asked.")
]


def map_choice(
    method: MethodName, layers: str, heads: str, sinks: Sinks, view: str = "all", tokens: str = ""
) -> MapChoice:
    """Read the options that choose a map.

    Raises
    ------
    ConfigError
        Layers, heads or tokens are no list of numbers.
    """
    from gazelab.pipeline.map_choice import MapChoice

    return MapChoice(
        method,
        _numbers("--layers", layers),
        _numbers("--heads", heads),
        _numbers("--tokens", tokens),
        sinks,
        view,
    )


def _numbers(option: str, text: str) -> tuple[int, ...] | None:
    from gazelab.core.errors import ConfigError

    if not text.strip():
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as fault:
        raise ConfigError(f"{option} {text!r} is no list of numbers.", todo="Write it as 0,1,-1.") from fault
