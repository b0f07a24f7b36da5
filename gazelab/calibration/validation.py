"""How good a calibration is, on targets that it hasn't seen.

What is reported, and how, follows Dunn et al. 2023 (10.3758/s13428-023-02187-1): accuracy as the offset of
the mean gaze from the target, precision as RMS-S2S and as SD, data loss, and the rate that was measured; in
degrees, and in px for everyone who didn't measure the screen. "No data" is NaN, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.collect import Collected
from gazelab.calibration.mapping import GazeMapping
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen
from gazelab.processing import quality

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class TargetValidation:
    """One validation target.

    Attributes
    ----------
    index : int
    x_px, y_px : float
        The target.
    gaze_x_px, gaze_y_px : float
        Mean gaze; NaN without data, as all that follows.
    accuracy_px, accuracy_deg : float
        Offset of the mean gaze from the target.
    rms_s2s_px, rms_s2s_deg, sd_px, sd_deg : float
        Precision over the stretch in which the gaze rested; lost samples aren't bridged.
    data_loss : float
        Lost share of all samples from 0.7 s after the target's onset, 0..1.
    n_samples : int
        With gaze, in the stretch.
    """

    index: int
    x_px: float
    y_px: float
    gaze_x_px: float = NAN
    gaze_y_px: float = NAN
    accuracy_px: float = NAN
    accuracy_deg: float = NAN
    rms_s2s_px: float = NAN
    rms_s2s_deg: float = NAN
    sd_px: float = NAN
    sd_deg: float = NAN
    data_loss: float = NAN
    n_samples: int = 0


@dataclass(frozen=True, slots=True)
class Validation:
    """All validation targets, and their means.

    Attributes
    ----------
    targets : tuple of TargetValidation
    n_with_data : int
        Targets that the means are over.
    accuracy_px, accuracy_deg, rms_s2s_px, rms_s2s_deg, sd_px, sd_deg : float
        Means over the targets with data.
    data_loss : float
        Over all samples of all targets, those without data included.
    rate_hz : float
        Measured.
    slope_x, slope_y : float
        Of mean gaze on target position: 1 is right, below 1 gaze is pulled to the centre.
    edge_accuracy_px, edge_accuracy_deg : float
        Mean accuracy on the targets of the outer quarter of the screen, on any side.
    chance_px : float
        Accuracy that answering the targets' middle would have.
    screen_width_px : int
    """

    targets: tuple[TargetValidation, ...]
    n_with_data: int
    accuracy_px: float
    accuracy_deg: float
    rms_s2s_px: float
    rms_s2s_deg: float
    sd_px: float
    sd_deg: float
    data_loss: float
    rate_hz: float
    slope_x: float
    slope_y: float
    edge_accuracy_px: float
    edge_accuracy_deg: float
    chance_px: float
    screen_width_px: int

    def to_mapping(self) -> dict[str, Any]:
        """Give the fields as JSON-ready values; NaN becomes None."""
        out = asdict(self)
        out["targets"] = [_without_nan(t) for t in out["targets"]]
        return _without_nan(out)

    @classmethod
    def from_mapping(cls, values: dict[str, Any]) -> Validation:
        """Invert `to_mapping`.

        Raises
        ------
        CalibrationError
            Fields are missing or of another kind.
        """
        try:
            rest = {k: _with_nan(values[k]) for k in cls.__slots__ if k != "targets"}
            targets = tuple(
                TargetValidation(**{k: _with_nan(t[k]) for k in TargetValidation.__slots__})
                for t in values["targets"]
            )
            return cls(targets=targets, **rest)
        except (KeyError, TypeError, AttributeError) as fault:
            raise CalibrationError(f"the validation is broken ({fault!r}).") from fault


def validate(
    mapping: GazeMapping, collected: Sequence[Collected], screen: Screen, min_samples: int = 1
) -> Validation:
    """Compare predictions with the targets that were shown.

    Parameters
    ----------
    mapping : GazeMapping
    collected : sequence of Collected
        Of the validation targets.
    screen : Screen
        Degrees are NaN unless it has millimetres.
    min_samples : int
        A target with fewer samples of gaze counts as without data.
    """
    targets = tuple(_one_target(mapping, c, screen, min_samples) for c in collected)
    good = [t for t in targets if t.n_samples >= min_samples]
    x, y = (np.array([getattr(t, k) for t in good], float) for k in ("x_px", "y_px"))
    edge = [t for t in good if _is_outer(t, screen)]
    seen = sum(c.n_seen for c in collected)
    times = [c.rows["time_ns"] for c in collected if len(c.rows) > 1]
    return Validation(
        targets=targets,
        n_with_data=len(good),
        **{k: _mean(good, k) for k in _AVERAGED},
        data_loss=1.0 - sum(c.n_usable for c in collected) / seen if seen else NAN,
        rate_hz=float(np.median([quality.measured_rate_hz(t) for t in times])) if times else NAN,
        slope_x=_slope(x, np.array([t.gaze_x_px for t in good])),
        slope_y=_slope(y, np.array([t.gaze_y_px for t in good])),
        edge_accuracy_px=_mean(edge, "accuracy_px"),
        edge_accuracy_deg=_mean(edge, "accuracy_deg"),
        chance_px=float(np.hypot(x - x.mean(), y - y.mean()).mean()) if good else NAN,
        screen_width_px=screen.width_px,
    )


_AVERAGED = ("accuracy_px", "accuracy_deg", "rms_s2s_px", "rms_s2s_deg", "sd_px", "sd_deg")


def _one_target(mapping: GazeMapping, c: Collected, screen: Screen, min_samples: int) -> TargetValidation:
    target = c.target
    loss = 1.0 - c.n_usable / c.n_seen if c.n_seen else NAN
    gaze = mapping.predict(c.rows)
    x, y = (np.where(c.usable, v, np.nan) for v in (gaze.x_px, gaze.y_px))
    n = int(np.isfinite(x).sum())
    if n < min_samples:
        return TargetValidation(target.index, target.x_px, target.y_px, data_loss=loss, n_samples=n)
    x_deg, y_deg = screen.to_deg(x, y)
    target_deg = [float(v) for v in screen.to_deg(target.x_px, target.y_px)]
    mean_x, mean_y = float(np.nanmean(x)), float(np.nanmean(y))
    return TargetValidation(
        index=target.index,
        x_px=target.x_px,
        y_px=target.y_px,
        gaze_x_px=mean_x,
        gaze_y_px=mean_y,
        accuracy_px=float(np.hypot(mean_x - target.x_px, mean_y - target.y_px)),
        accuracy_deg=quality.accuracy_deg(x_deg, y_deg, *target_deg),
        # The formulas know no unit: of px they give px.
        rms_s2s_px=quality.precision_rms_s2s_deg(x, y),
        rms_s2s_deg=quality.precision_rms_s2s_deg(x_deg, y_deg),
        sd_px=quality.precision_sd_deg(x, y),
        sd_deg=quality.precision_sd_deg(x_deg, y_deg),
        data_loss=loss,
        n_samples=n,
    )


def _is_outer(t: TargetValidation, screen: Screen) -> bool:
    x, y = t.x_px / screen.width_px, t.y_px / screen.height_px
    return min(x, y, 1 - x, 1 - y) < 0.25


def _slope(target: NDArray[np.float64], gaze: NDArray[np.float64]) -> float:
    if len(target) < 3 or np.ptp(target) == 0:
        return NAN
    return float(np.polyfit(target, gaze, 1)[0])


def _mean(targets: Sequence[TargetValidation], name: str) -> float:
    values = [getattr(t, name) for t in targets]
    return float(np.mean(values)) if values else NAN


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}


def _with_nan(value: Any) -> Any:
    return NAN if value is None else value
