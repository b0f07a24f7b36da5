"""How wide the blur of a fixation density is: a degree, or what the calibration's error asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gazelab.core.geometry import MAX_SIDE_PX
from gazelab.core.numbers import finite
from gazelab.metrics.density import sigma_from_deg, sigma_from_share
from gazelab.pipeline.replay import RASTER_COLS, Replay
from gazelab.sessions.trials import Trial

DEFAULT_SIGMA_DEG = 1.0
FALLBACK_SIGMA_SHARE = 0.03
LARGEST = {"accuracy_deg": 45.0, "accuracy_px": float(MAX_SIDE_PX)}
"""An error beyond is no figure that was measured."""


def sigma_of(replay: Replay, trial: Trial) -> tuple[float, dict[str, Any]]:
    """Choose the blur of the fixation density, in raster px, and say how.

    One degree (Le Meur and Baccino 2013, 10.3758/s13428-012-0226-9), or where the screen's size is unknown
    3 % of the picture's width; but never less than the validated error of the calibration that the gaze comes
    from, so that a tracker's error does not read as the model's.
    """
    screen, profile = replay.screen, replay.calibration(trial)
    if not screen.has_degrees:
        share = sigma_from_share(RASTER_COLS, FALLBACK_SIGMA_SHARE)
        error_px = _figure(profile, "accuracy_px") * RASTER_COLS / trial.placement.width_px
        if error_px > share:
            return error_px, {"sigma": "validated error of the session (no degrees on this screen)"}
        return share, {"sigma": f"{FALLBACK_SIGMA_SHARE:.0%} of the width (no degrees on this screen)"}
    error_deg = _figure(profile, "accuracy_deg") or _figure(profile, "accuracy_px") / screen.px_per_deg()
    sigma_deg = max(DEFAULT_SIGMA_DEG, error_deg)
    why = "validated error of the session" if error_deg > DEFAULT_SIGMA_DEG else "default"
    sigma = sigma_from_deg(screen, trial.placement, RASTER_COLS, sigma_deg)
    return sigma, {"sigma_deg": sigma_deg, "sigma": why}


def _figure(profile: Mapping[str, Any], name: str) -> float:
    """Give a figure of the calibration in force; 0 where there is none, or none that can be."""
    value = finite(profile.get(name))
    return value if 0 < value <= LARGEST[name] else 0.0
