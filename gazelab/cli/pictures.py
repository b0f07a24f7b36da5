"""The picture of a validation, drawn without a window; without Qt the program says so and goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gazelab.core.errors import GazelabError

if TYPE_CHECKING:
    from gazelab.calibration.profile import Profile


def draw_validation(folder: Path, profile: Profile) -> None:
    """Put the picture that the app makes beside a saved profile; the profile is whole without it."""
    try:
        from gazelab.ui.result_png import save_picture

        save_picture(folder, profile)
    except ImportError as fault:
        typer.echo(f"No picture of the validation: Qt cannot be loaded ({fault}).", err=True)
    except GazelabError as fault:
        typer.echo(f"No picture of the validation: {fault}", err=True)
