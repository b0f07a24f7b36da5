"""How good gaze data are: accuracy, precision, data loss and rate, as the reporting guideline asks.

Angles are in degrees as `Screen.to_deg` gives them (+x right, +y up, each axis by its own tangent); NaN is
lost gaze. Nothing is interpolated.

References
----------
Dunn, Alexander, Amiebenomo et al. (2023). Minimal reporting guideline for research involving eye tracking.
Behavior Research Methods. 10.3758/s13428-023-02187-1
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

BCEA_SHARE = 0.68


def accuracy_deg(x_deg: ArrayLike, y_deg: ArrayLike, target_x_deg: float, target_y_deg: float) -> float:
    """Angle between the mean gaze direction and the target's direction.

    Not the mean of the samples' distances: those also hold the noise.

    Parameters
    ----------
    x_deg, y_deg : array, shape (n,)
        While the target was looked at; NaN is left out.

    Returns
    -------
    float
        Degrees; NaN without a sample.
    """
    gaze = _directions(x_deg, y_deg)
    gaze = gaze[np.isfinite(gaze).all(axis=1)]
    if not len(gaze):
        return float("nan")
    mean = gaze.mean(axis=0)
    target = _directions(target_x_deg, target_y_deg)[0]
    sine = np.linalg.norm(np.cross(mean, target))
    return float(np.degrees(np.arctan2(sine, mean @ target)))


def offset_deg(
    x_deg: ArrayLike, y_deg: ArrayLike, target_x_deg: float, target_y_deg: float
) -> tuple[float, float]:
    """Mean gaze minus target, on each axis: + right, + up; NaN without a sample."""
    x, y = _both(x_deg, y_deg)
    if not x.size:
        return float("nan"), float("nan")
    return float(x.mean() - target_x_deg), float(y.mean() - target_y_deg)


def precision_rms_s2s_deg(x_deg: ArrayLike, y_deg: ArrayLike) -> float:
    """Root mean square distance of successive samples.

    Only pairs of neighbours that are both there count: a loss is never bridged.

    Returns
    -------
    float
        Degrees; NaN without such a pair.
    """
    steps = np.diff(np.asarray(x_deg, float)) ** 2 + np.diff(np.asarray(y_deg, float)) ** 2
    steps = steps[np.isfinite(steps)]
    return float(np.sqrt(steps.mean())) if steps.size else float("nan")


def precision_sd_deg(x_deg: ArrayLike, y_deg: ArrayLike) -> float:
    """Root of the summed population variances of both axes; NaN without a sample."""
    x, y = _both(x_deg, y_deg)
    return float(np.hypot(x.std(), y.std())) if x.size else float("nan")


def precision_bcea_deg2(x_deg: ArrayLike, y_deg: ArrayLike, share: float = BCEA_SHARE) -> float:
    """Area of the ellipse that holds a share of the samples if they are normally distributed.

    Returns
    -------
    float
        Square degrees, from the sample covariance; NaN with fewer than three samples.
    """
    x, y = _both(x_deg, y_deg)
    if x.size < 3:
        return float("nan")
    spread = np.linalg.det(np.cov(x, y))
    return float(2 * np.log(1 / (1 - share)) * np.pi * np.sqrt(max(spread, 0.0)))


def data_loss(x_deg: ArrayLike, y_deg: ArrayLike) -> float:
    """Share of the samples without gaze, 0..1; NaN without samples. Samples that never came do not count."""
    n = np.asarray(x_deg, float).size
    return 1.0 - _both(x_deg, y_deg)[0].size / n if n else float("nan")


def data_loss_of_expected(
    time_ns: ArrayLike, x_deg: ArrayLike, y_deg: ArrayLike, nominal_rate_hz: float
) -> float:
    """Share of the samples that the nominal rate promised over the span and that hold no gaze or never came.

    Returns
    -------
    float
        At most 1; below 0 if the device was faster than its nominal rate; NaN for a span of 0.
    """
    span_s = _span_s(time_ns)
    return 1.0 - _both(x_deg, y_deg)[0].size / (span_s * nominal_rate_hz) if span_s > 0 else float("nan")


def measured_rate_hz(time_ns: ArrayLike) -> float:
    """Rate from the median of the stamps' steps that go forward; what a device claims plays no part.

    Returns
    -------
    float
        NaN without two stamps in order.
    """
    steps_s = np.diff(np.asarray(time_ns, np.int64)).astype(float) / 1e9
    steps_s = steps_s[steps_s > 0]
    return float(1 / np.median(steps_s)) if steps_s.size else float("nan")


def effective_rate_hz(time_ns: ArrayLike, x_deg: ArrayLike, y_deg: ArrayLike) -> float:
    """Count the samples with gaze per second of the recording; NaN for a span of 0."""
    span_s = _span_s(time_ns)
    return _both(x_deg, y_deg)[0].size / span_s if span_s > 0 else float("nan")


def _directions(x_deg: ArrayLike, y_deg: ArrayLike) -> Floats:
    """Give unit vectors (x right, y up, z ahead), one a row."""
    x = np.atleast_1d(np.tan(np.radians(np.asarray(x_deg, float))))
    y = np.atleast_1d(np.tan(np.radians(np.asarray(y_deg, float))))
    v = np.stack([x, y, np.ones_like(x)], axis=-1)
    out: Floats = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return out


def _both(x_deg: ArrayLike, y_deg: ArrayLike) -> tuple[Floats, Floats]:
    """Keep the samples that have both coordinates."""
    x, y = np.asarray(x_deg, float), np.asarray(y_deg, float)
    ok = np.isfinite(x) & np.isfinite(y)
    return x[ok], y[ok]


def _span_s(time_ns: ArrayLike) -> float:
    t = np.asarray(time_ns, np.int64)
    return float(t.max() - t.min()) / 1e9 if t.size else 0.0
