"""Which corrections of the gaze count."""

from __future__ import annotations

from typing import Literal, get_args

from gazelab.core.errors import ConfigError

Layers = Literal["all", "live", "raw"]
"""raw: none, as measured; live: those of the drift checks, as the live view had them; all: those, and what
was corrected afterwards."""


def check_layers(layers: str) -> None:
    """Refuse a name that means nothing.

    Raises
    ------
    ConfigError
    """
    if layers not in get_args(Layers):
        raise ConfigError(f"there is no gaze {layers!r}.", todo=f"Use one of {', '.join(get_args(Layers))}.")
