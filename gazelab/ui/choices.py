"""How the last calibration was to be made, remembered for the next start.

gazelab.toml and the command line say what to begin with; what is chosen on the page after that is kept beside
the data, and holds until one of those two says something else.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from gazelab.settings import CalibrationSettings

log = logging.getLogger(__name__)

CHOICES_FILE = "choices.json"


def load_choices(root: Path, told: CalibrationSettings) -> CalibrationSettings:
    """Give what was chosen last, if that was under the same settings; a broken file is like none.

    Parameters
    ----------
    root : Path
        The data root.
    told : CalibrationSettings
        What gazelab.toml and the command line say now.
    """
    path = root / CHOICES_FILE
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["told"] != asdict(told):
            return told
        return replace(told, **_allowed(kept["chosen"]))
    except FileNotFoundError:
        return told
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        log.warning("%s is left out: %s", path, fault)
        return told


def save_choices(root: Path, told: CalibrationSettings, chosen: CalibrationSettings) -> None:
    """Keep what was chosen; a folder that can't be written is only logged, since nothing is lost with it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"told": asdict(told), "chosen": asdict(chosen)}, indent=1)
        (root / CHOICES_FILE).write_text(text, "utf-8")
    except OSError as fault:
        log.warning("the choices could not be kept: %s", fault)


def _allowed(chosen: dict[str, Any]) -> dict[str, Any]:
    """Take those values that a setting may have."""
    return {
        f.name: chosen[f.name]
        for f in fields(CalibrationSettings)
        if f.name in chosen
        and type(chosen[f.name]).__name__ == f.type
        and (not f.metadata["one_of"] or chosen[f.name] in f.metadata["one_of"])
    }
