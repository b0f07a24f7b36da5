"""A synthetic participant calibrates and reads charts: a whole session with known truth, faster than life."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.profile import Profile, save_profile
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.calibration.targets import Target, TargetKind
from gazelab.charts.item import ChartItem
from gazelab.core.gaze import EventKind
from gazelab.core.geometry import Screen
from gazelab.core.participant import check_participant
from gazelab.pipeline.calibrate import binding_of, profile_facts, refusal, run_calibration
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.reading_script import read_chart
from gazelab.pipeline.record import header_for
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sessions.writer import SessionWriter
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


@dataclass(frozen=True, eq=False)
class SyntheticRun:
    """A finished synthetic session.

    Attributes
    ----------
    session_path, profile_path : Path
    profile : Profile
        With its validation on held-out targets.
    truth_ns : list of numpy.ndarray, shape (n, 2)
        For each trial, onset and offset of the scripted fixations, cut at blinks as human coders do.
    """

    session_path: Path
    profile_path: Path
    profile: Profile
    truth_ns: list[NDArray[np.int64]]


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
            motion = procedure.motion
            if target.kind is TargetKind.PURSUIT and motion is not None:
                self.script.follow(motion, time_ns)
                return
            self.script.look_at(target.x_px, target.y_px, time_ns)
            if target.kind is TargetKind.HEAD:
                timing = procedure.timing
                move_head(self.participant.head, target.index, time_ns + timing.read_ns, timing.move_ns)

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


def move_head(head: HeadMotion, step: int, from_ns: int, duration_ns: int) -> None:
    """Do one step of the head's part: there in a quarter of the time, across in half of it, and back."""
    quarter = duration_ns // 4
    for k, pose in enumerate((*HEAD_MOVES[step], HeadPose())):
        head.move(from_ns + (0, 1, 3)[k] * quarter, pose, (1, 2, 1)[k] * quarter)


def run_synthetic_session(
    root: Path,
    session_id: str,
    charts: Sequence[ChartItem],
    screen: Screen,
    seed: int,
    say: Say,
    participant: str = "SYNTHETIC",
) -> SyntheticRun:
    """Calibrate, validate and record a synthetic participant into `<root>`.

    Raises
    ------
    CalibrationError
        The calibration was refused.
    SessionError
        The session cannot be written.
    """
    subject = SyntheticSubject(screen, seed)
    with subject.gaze:
        profile, profile_path = _calibrated(subject, root, participant, seed, 9, say)
        subject.gaze.use(profile)
        truth = _record(subject, root, session_id, charts, profile, profile_path, seed, say)
    return SyntheticRun(root / "sessions" / session_id, profile_path, profile, truth)


def calibrate_synthetic(
    root: Path, screen: Screen, participant: str, seed: int, points: int, say: Say
) -> tuple[Profile, Path]:
    """Calibrate a synthetic participant and save the profile under `<root>`.

    Raises
    ------
    CalibrationError
        The calibration was refused, or the profile cannot be saved.
    ConfigError
        The participant's code or the screen cannot be.
    """
    check_participant(participant)
    subject = SyntheticSubject(screen, seed)
    with subject.gaze:
        return _calibrated(subject, root, participant, seed, points, say)


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


def _calibrated(
    subject: SyntheticSubject, root: Path, participant: str, seed: int, points: int, say: Say
) -> tuple[Profile, Path]:
    screen = subject.screen
    subject.script.look_at(screen.width_px / 2, screen.height_px / 2, subject.clock())
    procedure = CalibrationProcedure(screen, points, seed=seed)
    n_held_out = len(procedure.validation_targets)
    say(f"Calibrating: {points} targets, then {n_held_out} held-out ones for validation")
    result = subject.calibrate(procedure, say)
    if result.state is CalibrationState.REVIEW:
        concerns = " ".join(f.message for f in result.findings)
        say(f"Accepted with concerns: {concerns}")
        procedure.accept(f"synthetic participant, accepted without a look: {concerns}")
        result = procedure.result()
    if result.state is not CalibrationState.VALID:
        raise refusal(result)
    profile = Profile.of(result, participant, screen, binding_of(subject.gaze))
    return profile, save_profile(root, profile)


def _record(
    subject: SyntheticSubject,
    root: Path,
    session_id: str,
    charts: Sequence[ChartItem],
    profile: Profile,
    profile_path: Path,
    seed: int,
    say: Say,
) -> list[NDArray[np.int64]]:
    rng = np.random.default_rng((seed, 17))
    header = header_for(
        subject.gaze,
        subject.screen,
        profile.participant,
        calibrated=True,
        for_dataset=False,
        profile=profile_facts(profile, profile_path.name),
        note="a synthetic participant: scripted gaze, rendered eyes; no person",
        clock="virtual",
    )
    truth: list[NDArray[np.int64]] = []
    with SessionWriter.create(root, session_id, header, clock=subject.clock) as writer:
        writer.calibration(profile_path)
        acquisition = Acquisition(subject.gaze, subject.screen)
        acquisition.add_sink(writer)
        study = RecordingStudy(charts, writer, acquisition)
        while study.state is StudyState.READY and study.current is not None:
            say(f"Reading chart {study.index + 1} of {len(charts)}: {study.current.question}")
            truth.append(subject.read(study, rng))
    return truth
