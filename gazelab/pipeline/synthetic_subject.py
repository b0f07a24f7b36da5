"""One synthetic person at one screen: does what a calibration asks, and reads charts by a script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.head_phase import STEPS, step_ns
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.result import CalibrationResult
from gazelab.calibration.targets import Target, TargetKind
from gazelab.core.gaze import EventKind
from gazelab.core.geometry import Screen
from gazelab.pipeline.calibrate import run_calibration
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.reading_script import read_chart
from gazelab.pipeline.study import RecordingStudy
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.face import FaceReader
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.synthetic_head import Act, HeadPose
from gazelab.sources.synthetic_script import GazeScript

BLINKS_PER_MIN = 10.0
REACTION_NS = 200_000_000
LINGER_NS = 250_000_000
LEAST_PIECE_NS = 60_000_000

CIRCLE = (15.0, 13.0)
"""Degrees of yaw and pitch of the synthetic participant's circles with the nose."""
LEAN = HeadPose(roll_deg=6, x_mm=45, z_mm=40)

Say = Callable[[str], None]


class SyntheticSubject:
    """One synthetic person at one screen, on a clock of its own that runs as fast as frames are made.

    Parameters
    ----------
    screen : Screen
    seed : int
    """

    def __init__(self, screen: Screen, seed: int) -> None:
        self.screen = screen
        self.script = GazeScript(screen)
        self.participant = SyntheticParticipant(
            self.script, screen, start_ns=0, blink_rate_per_min=BLINKS_PER_MIN, seed=seed
        )
        self.gaze = CameraGaze(self.participant, FaceReader(), keep_frames=False, clock=self.clock)

    def clock(self) -> int:
        """Time of the next frame, ns."""
        return self.participant.next_ns

    def calibrate(self, procedure: CalibrationProcedure, say: Say) -> CalibrationResult:
        """Look at each target as it appears."""

        def look(target: Target, time_ns: int) -> None:
            attend(self.participant, procedure, target, time_ns)

        def progress(done: int, total: int) -> None:
            say(f"  target {done + 1} of {total}")

        return run_calibration(self.gaze, procedure, self.clock, look, progress)

    def read(self, study: RecordingStudy, rng: np.random.Generator) -> NDArray[np.int64]:
        """Read the study's current chart by a script, answer as the chart's data say; give the truth."""
        chart = study.current
        assert chart is not None
        picture = study.prepare()
        layout = reading_layout(self.screen, picture.width_px, picture.height_px)
        onset_ns = self.clock()
        study.show(layout.chart, onset_ns)
        time_ns = onset_ns + REACTION_NS
        for dwell in read_chart(chart, layout, self.screen, rng):
            look = self.script.look_at(dwell.x_px, dwell.y_px, time_ns, reaction_ns=0)
            time_ns = look.onset_ns + dwell.duration_ns
        end_ns = time_ns + LINGER_NS
        while self.clock() < end_ns:
            study.acquisition.pump()
        study.answer(chart.answer, end_ns)
        study.acquisition.pump()
        return split_at_blinks(self.script.truth(onset_ns, end_ns))


def attend(
    participant: SyntheticParticipant, procedure: CalibrationProcedure, target: Target, time_ns: int
) -> None:
    """Do what a calibration asks for when a target comes up: look at it, follow it, or move the head.

    Parameters
    ----------
    participant : SyntheticParticipant
    procedure : CalibrationProcedure
        With the target up.
    target : Target
    time_ns : int
        When it came up.
    """
    motion = procedure.motion
    if target.kind is TargetKind.PURSUIT and motion is not None:
        participant.script.follow(motion, time_ns)
        return
    participant.script.look_at(target.x_px, target.y_px, time_ns)
    if target.kind is TargetKind.HEAD:
        from_ns = time_ns + procedure.timing.read_ns
        participant.head.act(from_ns, step_ns(target.index, procedure.timing), head_act(target.index))


def head_act(step: int) -> Act:
    """Give what the synthetic participant does at a step of the head's part, by the share of its time."""
    if step == len(STEPS) - 1:
        return _lean
    sign = -1 if step % 2 else 1

    def circle(share: float) -> HeadPose:
        angle, size = 2 * np.pi * 1.25 * share, min(1.0, 6 * share, 6 * (1 - share))
        return HeadPose(CIRCLE[0] * size * np.cos(angle), sign * CIRCLE[1] * size * np.sin(angle))

    return circle


def _lean(share: float) -> HeadPose:
    aside = np.sin(4 * np.pi * share) if share < 0.5 else 0.0
    nearer = -np.sin(4 * np.pi * share) if share > 0.5 else 0.0
    return HeadPose(roll_deg=LEAN.roll_deg * aside, x_mm=LEAN.x_mm * aside, z_mm=LEAN.z_mm * nearer)


def split_at_blinks(events: NDArray[np.void]) -> NDArray[np.int64]:
    """Cut fixations at blinks, which hide them; pieces under 60 ms are left out.

    Parameters
    ----------
    events : numpy.ndarray, EVENT_DTYPE
        Scripted fixations and blinks.

    Returns
    -------
    numpy.ndarray, shape (n, 2)
        Onset and offset, ns.
    """
    blinks = events[events["kind"] == EventKind.BLINK]
    pieces: list[tuple[int, int]] = []
    for fixation in events[events["kind"] == EventKind.FIXATION]:
        start, end = int(fixation["onset_ns"]), int(fixation["offset_ns"])
        for blink in blinks:
            a, b = int(blink["onset_ns"]), int(blink["offset_ns"])
            if start < b and a < end:
                pieces.append((start, a))
                start = b
        pieces.append((start, end))
    kept = [p for p in pieces if p[1] - p[0] >= LEAST_PIECE_NS]
    return np.array(kept, np.int64).reshape(-1, 2)
