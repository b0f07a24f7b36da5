"""A synthetic participant calibrates and reads charts: a whole session with known truth, faster than life."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.procedure import CalibrationProcedure, Style
from gazelab.calibration.profile import Profile, save_profile
from gazelab.calibration.result import CalibrationState
from gazelab.charts.item import ChartItem
from gazelab.core.geometry import Screen
from gazelab.core.participant import check_participant
from gazelab.pipeline.calibrate import binding_of, profile_facts, refusal
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.pipeline.synthetic_subject import SyntheticSubject
from gazelab.sessions.writer import SessionWriter

Say = Callable[[str], None]
Draw = Callable[[Path, Profile], None]


@dataclass(frozen=True, slots=True)
class Calibrating:
    """How to calibrate.

    Attributes
    ----------
    points : int
    style : {"points", "pursuit"}
    head_phase : bool
    """

    points: int = 9
    style: str = Style.POINTS
    head_phase: bool = False


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


def run_synthetic_session(
    root: Path,
    session_id: str,
    charts: Sequence[ChartItem],
    screen: Screen,
    seed: int,
    say: Say,
    participant: str = "SYNTHETIC",
    draw: Draw | None = None,
) -> SyntheticRun:
    """Calibrate, validate and record a synthetic participant into `<root>`.

    `draw` puts a picture beside the saved profile, before the session takes its copy.

    Raises
    ------
    CalibrationError
        The calibration was refused.
    SessionError
        The session cannot be written.
    """
    subject = SyntheticSubject(screen, seed)
    with subject.gaze:
        profile, profile_path = _calibrated(subject, root, participant, seed, Calibrating(), say)
        if draw is not None:
            draw(profile_path, profile)
        subject.gaze.use(profile)
        truth = _record(subject, root, session_id, charts, profile, profile_path, seed, say)
    return SyntheticRun(root / "sessions" / session_id, profile_path, profile, truth)


def calibrate_synthetic(
    root: Path, screen: Screen, participant: str, seed: int, how: Calibrating, say: Say
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
        return _calibrated(subject, root, participant, seed, how, say)


def _calibrated(
    subject: SyntheticSubject, root: Path, participant: str, seed: int, how: Calibrating, say: Say
) -> tuple[Profile, Path]:
    screen = subject.screen
    subject.script.look_at(screen.width_px / 2, screen.height_px / 2, subject.clock())
    procedure = CalibrationProcedure(
        screen, how.points, seed=seed, style=how.style, head_phase=how.head_phase
    )
    n_held_out = len(procedure.validation_targets)
    shown = "a moving target" if procedure.style is Style.PURSUIT else f"{how.points} targets"
    head = ", movements of the head" if how.head_phase else ""
    say(f"Calibrating: {shown}{head}, then {n_held_out} held-out targets for validation")
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
