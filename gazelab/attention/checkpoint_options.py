"""How a model is opened, as one value that goes from the command line or the settings to the worker."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModelOptions:
    """What `gazelab.attention.base.open_model` takes beside the name, with its defaults.

    Attributes
    ----------
    device : str
        "cpu", "cuda", "cuda:1", "mps".
    dtype : str
        "auto" (as the checkpoint says), "bfloat16", "float32" or "float16".
    online : bool
        Allow a download.
    trust_remote_code : bool
        Allow the checkpoint to run code of its own.
    grid_file : Path, optional
        The user's own grid.
    revision : str, optional
        Of a checkpoint of the hub: a branch, a tag or a commit.
    quant : str, optional
        "4bit" or "8bit".
    """

    device: str = "cpu"
    dtype: str = "auto"
    online: bool = False
    trust_remote_code: bool = False
    grid_file: Path | None = None
    revision: str | None = None
    quant: str | None = None

    def as_arguments(self) -> dict[str, Any]:
        """Give those that are not the defaults as keyword arguments of `open_model`."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value != getattr(ModelOptions, name)}
