"""One synthetic person at one screen: does what a calibration asks, and reads charts by a script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
from gazelab.sources.synthetic_head import HeadMotion, HeadPose
from gazelab.sources.synthetic_script import GazeScript

BLINKS_PER_MIN = 10.0
REACTION_NS = 200_000_000
LINGER_NS = 250_000_000
LEAST_PIECE_NS = 60_000_000

HEAD_MOVES = (
    (HeadPose(yaw_deg=12), HeadPose(yaw_deg=-12)),
    (HeadPose(pitch_deg=10), HeadPose(pitch_deg=-10)),
    (HeadPose(z_mm=-50), HeadPose(z_mm=30)),
    (HeadPose(x_mm=45, roll_deg=6), HeadPose(x_mm=-45, roll_deg=-6)),
)
"""What the synthetic participant does at each step of the head's part: there, to the other side, and back."""

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
        timing = procedure.timing
        move_head(participant.head, target.index, time_ns + timing.read_ns, timing.move_ns)


def move_head(head: HeadMotion, step: int, from_ns: int, duration_ns: int) -> None:
    """Do one step of the head's part: there in a quarter of the time, across in half of it, and back."""
    quarter = duration_ns // 4
    for k, pose in enumerate((*HEAD_MOVES[step], HeadPose())):
        head.move(from_ns + (0, 1, 3)[k] * quarter, pose, (1, 2, 1)[k] * quarter)


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
