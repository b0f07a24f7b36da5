"""How much a moving head costs: the synthetic participant reads with a still and with a moving head.

One calibration is recorded with the head's part, and fitted twice, without it and with it; the same frames
are then read with each. So nothing but the head's part differs, and the face landmarker runs once.

It is a synthetic participant: the frames go through the real landmarker, but the head is one warped picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.head_box import HeadBox
from gazelab.calibration.mapping import GazeMapping, fit
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.core.errors import CalibrationError
from gazelab.core.gaze import FEATURE_DTYPE, EventKind
from gazelab.core.geometry import Screen
from gazelab.pipeline.synthetic_subject import SyntheticSubject
from gazelab.processing.features import eyes_closed
from gazelab.sources.synthetic_head import HeadPose
from gazelab.sources.synthetic_script import random_looks

READING_MOTION = HeadPose(yaw_deg=10, pitch_deg=10, roll_deg=5, x_mm=40, y_mm=40, z_mm=40)
"""Limits of the head's turn and shift while reading; every number wanders up to its own at its own pace."""

ONSET_NS = 30_000_000
"""Samples so soon after a fixation's onset, less than a frame, may have been exposed in the saccade."""


@dataclass(frozen=True, eq=False)
class Read:
    """Frames of a stretch of reading, in fixations and with open eyes, and where the eyes truly looked.

    Attributes
    ----------
    features : numpy.ndarray, shape (n,), FEATURE_DTYPE
    truth_px : numpy.ndarray, shape (n, 2)
    """

    features: NDArray[np.void]
    truth_px: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeadMotionRun:
    """What a participant gave.

    Attributes
    ----------
    screen : Screen
    points_only, with_head : GazeMapping
        Of the same calibration without and with the head's part.
    box_points, box_head : HeadBox or None
    still, moving : Read
    """

    screen: Screen
    points_only: GazeMapping
    with_head: GazeMapping
    box_points: HeadBox | None
    box_head: HeadBox | None
    still: Read
    moving: Read


def record_head_motion(
    seed: int, screen: Screen, seconds: float, motion: HeadPose = READING_MOTION
) -> HeadMotionRun:
    """Calibrate with the head's part, then read with a still and with a moving head, `seconds` each.

    Parameters
    ----------
    seed : int
    screen : Screen
        With millimetres.
    seconds : float
    motion : HeadPose
        Limits of the moving head.

    Raises
    ------
    CalibrationError
        The calibration or its head's part couldn't be used.
    """
    subject = SyntheticSubject(screen, seed)
    fits: list[tuple[NDArray[np.void], NDArray[np.float64], NDArray[np.int64]]] = []

    def keep(
        rows: NDArray[np.void], px: NDArray[np.float64], names: NDArray[np.int64], on: Screen
    ) -> GazeMapping:
        fits.append((rows, px, names))
        return fit(rows, px, names, on)

    with subject.gaze:
        subject.script.look_at(screen.width_px / 2, screen.height_px / 2, subject.clock())
        procedure = CalibrationProcedure(screen, seed=seed, head_phase=True, fit_mapping=keep)
        result = subject.calibrate(procedure, lambda _text: None)
        if result.mapping is None or result.head is None or not result.head.moves:
            reasons = " ".join(f.message for f in result.findings)
            raise CalibrationError(f"the calibration can't be used: {reasons}", where=f"seed {seed}")
        rows, px, names = fits[0]
        points = names < len(procedure.targets)
        rng = np.random.default_rng((seed, 5))
        still = _read(subject, seconds, rng)
        subject.participant.head.wander(subject.clock(), motion)
        moving = _read(subject, seconds, rng)
    return HeadMotionRun(
        screen,
        fit(rows[points], px[points], names[points], screen),
        result.mapping,
        HeadBox.of(rows[points]),
        result.head_box,
        still,
        moving,
    )


def measure_head_motion(
    seed: int = 0, *, screen: Screen | None = None, seconds: float = 30.0, motion: HeadPose = READING_MOTION
) -> dict[str, Any]:
    """Measure the gaze error of a still and of a moving head.

    Parameters
    ----------
    seed : int
    screen : Screen, optional
        The demo's by default.
    seconds : float
        Of reading, with a still head and again with a moving one.
    motion : HeadPose
        Limits of the moving head.

    Returns
    -------
    dict
        JSON-ready. `still`: points only, head still; `still_head_phase`: the same frames with the head's part
        in the calibration; `moving`: points only, head moving; `moving_head_phase`: with the head's part.
        Each has `median_deg, mean_deg, median_px, mean_px, n` over samples in fixations and `outside`, the
        share flagged as outside the head box. `growth`: `moving_head_phase` over `still`, as medians, less 1.

    Raises
    ------
    CalibrationError
        The calibration couldn't be used.
    """
    from gazelab.pipeline.demo import DEMO_SCREEN

    run = record_head_motion(seed, screen or DEMO_SCREEN, seconds, motion)
    cases = {
        "still": error_of(run.points_only, run.box_points, run.still, run.screen),
        "still_head_phase": error_of(run.with_head, run.box_head, run.still, run.screen),
        "moving": error_of(run.points_only, run.box_points, run.moving, run.screen),
        "moving_head_phase": error_of(run.with_head, run.box_head, run.moving, run.screen),
    }
    growth = cases["moving_head_phase"]["median_deg"] / cases["still"]["median_deg"] - 1.0
    return {"seed": seed, "seconds": seconds, **cases, "growth": growth}


def error_of(mapping: GazeMapping, box: HeadBox | None, read: Read, screen: Screen) -> dict[str, float]:
    """Compare a mapping's gaze with the truth: medians and means over samples, and how many lay outside."""
    gaze = mapping.predict(read.features)
    seen = gaze.valid
    x, y = gaze.x_px[seen], gaze.y_px[seen]
    true_x, true_y = read.truth_px[seen].T
    px, deg = np.hypot(x - true_x, y - true_y), screen.angle_deg(x, y, true_x, true_y)
    outside = np.zeros(len(seen)) if box is None else ~box.contains(read.features)
    return {
        "median_deg": float(np.median(deg)),
        "mean_deg": float(np.mean(deg)),
        "median_px": float(np.median(px)),
        "mean_px": float(np.mean(px)),
        "n": int(seen.sum()),
        "outside": float(np.mean(outside)),
    }


def head_motion_table(results: list[Mapping[str, Any]]) -> str:
    """Lay the figures of several seeds out for the terminal, with their mean."""
    lines = ["seed   still  still, head part   moving  moving, head part   growth   (median deg)"]
    names = ("still", "still_head_phase", "moving", "moving_head_phase")
    table = np.array([[*(r[n]["median_deg"] for n in names), r["growth"]] for r in results])
    for label, row in [*zip([str(r["seed"]) for r in results], table, strict=True), ("mean", table.mean(0))]:
        lines.append(
            f"{label:>4}  {row[0]:6.2f}  {row[1]:16.2f}  {row[2]:7.2f}  {row[3]:17.2f}  {row[4]:+7.0%}"
        )
    return "\n".join(lines)


def _read(subject: SyntheticSubject, seconds: float, rng: np.random.Generator) -> Read:
    """Look about for a while; give the frames that lie in fixations and show open eyes."""
    start_ns, first = subject.clock(), len(subject.participant.gaze_truth())
    looks = random_looks(subject.screen, start_ns, round(seconds * 1e9), rng)
    subject.script.leave(start_ns)
    for look in looks:
        subject.script.add(look)
    rows = []
    while subject.clock() < looks[-1].offset_ns:
        rows += [reading.features for reading in subject.gaze.read()]
    features = np.array([row for row in rows if row is not None], FEATURE_DTYPE)
    truth = subject.participant.gaze_truth()[first:]
    truth = truth[np.isin(truth["frame_index"], features["frame_index"])]
    events = subject.script.truth(start_ns, subject.clock())
    times, resting = truth["time_ns"][:, None], events[events["kind"] == EventKind.FIXATION]
    inside = (times >= resting["onset_ns"] + ONSET_NS) & (times <= resting["offset_ns"])
    kept = inside.any(1) & ~truth["blink"] & ~eyes_closed(features).any(1)
    return Read(features[kept], np.stack([truth["x_px"], truth["y_px"]], -1)[kept].astype(np.float64))
