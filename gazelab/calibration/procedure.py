"""The calibration procedure as a state machine: no window, no clock; times and samples are passed in.

A window shows `current_target` and hands over samples and keys; a test or a synthetic participant does the
same in milliseconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np

from gazelab.calibration.checks import screen_change
from gazelab.calibration.collect import Point, Timing
from gazelab.calibration.findings import Finding, Limits
from gazelab.calibration.fitting import FitMapping
from gazelab.calibration.mapping import fit
from gazelab.calibration.plan import Advance, Part, Plan, Style
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.calibration.showing import Showing
from gazelab.calibration.targets import Area, Target
from gazelab.calibration.verdict import Verdict
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen

__all__ = ["RUNNING", "Advance", "CalibrationProcedure", "Part", "Style"]

log = logging.getLogger(__name__)

RUNNING = (CalibrationState.COLLECTING, CalibrationState.VALIDATING)


class CalibrationProcedure:
    """Show targets, collect, fit, validate on held-out targets, judge.

    Call `start`, show `current_target` where `target_at` says, and `instruction`; hand over every reading
    with `add` and the space bar's events with `key_space`, until the state is review, valid or failed. The
    fit runs inside the `add` that ends the last calibration target (well under a second).

    Parameters
    ----------
    screen : Screen
        Where the targets are shown. Without millimetres the results are in px, and NaN in degrees.
    points : {9, 5, 13, 16}
        With a moving target: the number of places that its samples are sorted by, and that a redo shows.
    n_validation : int
        Held-out targets, 3 to 7.
    area : (left, top, width, height), optional
        Screen px that the targets span; the whole screen by default. It should hold the charts to be read.
    seed : int
        Of the order in which targets are shown.
    advance : Advance
        By resting gaze (the space bar works too), or by the space bar alone.
    timing : Timing, optional
    limits : Limits, optional
    fit_mapping : callable
        `mapping.fit`, or a stand-in.
    head_phase : bool
        After the targets the participant moves the head while looking at a dot, so that the mapping holds
        for a head that moves.
    style : {"points", "pursuit"}
        Targets that stand, or one that moves slowly over the whole screen.

    Raises
    ------
    ConfigError
        The screen's millimetres can't be right.
    CalibrationError
        No such layout, or an area off the screen.
    """

    def __init__(
        self,
        screen: Screen,
        points: int = 9,
        *,
        n_validation: int = 5,
        area: Area | None = None,
        seed: int = 0,
        advance: Advance = Advance.AUTO,
        timing: Timing | None = None,
        limits: Limits | None = None,
        fit_mapping: FitMapping = fit,
        head_phase: bool = False,
        style: Style | str = Style.POINTS,
    ) -> None:
        screen.check_plausible()
        self.screen = screen
        self.style = Style(style)
        self._plan = Plan(screen, points, n_validation, area, seed, self.style, head_phase)
        self.targets = self._plan.targets
        self.validation_targets = self._plan.validation_targets
        self.advance = advance
        self.timing = timing or Timing()
        self.limits = limits or Limits()
        self._showing = Showing(self._plan, self.timing, advance is Advance.SPACE)
        self._verdict = Verdict(screen, self.timing, self.limits, fit_mapping)
        self._state = CalibrationState.NONE

    @property
    def state(self) -> CalibrationState:
        """Where it stands."""
        return self._state

    @property
    def current_target(self) -> Target | None:
        """What to show now; None when nothing is to be looked at."""
        return self._showing.current

    @property
    def part(self) -> Part:
        """What the participant is at; the validation after the end."""
        ended = self._state not in (CalibrationState.NONE, *RUNNING)
        return self._showing.part or (Part.VALIDATION if ended else Part(self.style.value))

    @property
    def instruction(self) -> str:
        """What the participant is asked to do now; "" where looking at the target is all."""
        return self._showing.instruction

    @property
    def motion(self) -> Callable[[int], Point] | None:
        """The current target's place as a function of time; it stays so when the next target is up."""
        return self._showing.motion

    def target_at(self, time_ns: int) -> Point | None:
        """Give where the current target stands, screen px; None when nothing is to be looked at."""
        motion = self._showing.motion
        return motion(time_ns) if motion else None

    def n_to_show(self) -> int:
        """Count what is shown in all, if nothing is redone."""
        return len(self._plan.to_collect(())) + len(self.validation_targets)

    def progress(self, time_ns: int) -> float:
        """Share of the current target's least time that has gone by, 0..1."""
        return self._showing.progress(time_ns)

    def start(self, time_ns: int) -> None:
        """Begin anew; whatever calibration there was is no longer in force."""
        self._forget()
        self._show(CalibrationState.COLLECTING)
        self.tick(time_ns)

    def add(self, features: np.void | None, time_ns: int) -> None:
        """Take one reading; None (a lost frame) only lets time pass.

        Parameters
        ----------
        features : numpy.void, FEATURE_DTYPE, or None
        time_ns : int
            When the eye was seen, on the clock that `start` and `key_space` use.
        """
        if self._state not in RUNNING:
            return
        self._showing.add(features, time_ns)
        if self._showing.current is None:
            self._end_stage()
            if self._state in RUNNING:
                self._showing.add(None, time_ns)  # the next stage's first target is up from now

    def tick(self, time_ns: int) -> None:
        """Let time pass without a reading."""
        self.add(None, time_ns)

    def key_space(self, time_ns: int, *, pressed: bool = True, auto_repeat: bool = False) -> bool:
        """Take a key event of the space bar.

        Auto-repeat, a press that comes so soon after a target's onset that it was meant for what was there
        before, and a key that is held down since before the onset do nothing.

        Returns
        -------
        bool
            Whether it counted.
        """
        return self._showing.key(time_ns, pressed, auto_repeat)

    def redo(self, index: int) -> None:
        """Show one calibration target again; its samples are dropped, all others stay.

        Raises
        ------
        CalibrationError
            No such target, or no calibration has been started.
        """
        if not 0 <= index < len(self.targets):
            raise CalibrationError(f"there is no target {index}: they go from 0 to {len(self.targets) - 1}.")
        if not self._showing.data:
            raise CalibrationError("there is nothing to redo.", todo="Start a calibration first.")
        self._again(self.targets[index : index + 1])

    def redo_head(self) -> None:
        """Let the head's part be done again; all other samples stay.

        Raises
        ------
        CalibrationError
            It has no such part, or no calibration has been started.
        """
        if not self._showing.data or not self._plan.head_targets:
            raise CalibrationError("there is no head movement to redo.", todo="Calibrate with one first.")
        self._again(self._plan.head_targets)

    def redo_validation(self) -> None:
        """Show the validation targets again.

        Raises
        ------
        CalibrationError
            There is no mapping to validate.
        """
        if self._verdict.fitted.mapping is None:
            raise CalibrationError("there is no mapping to validate.", todo="Calibrate first.")
        self._showing.drop(self.validation_targets)
        self._verdict.drop_validation()
        self._show(CalibrationState.VALIDATING)

    def cancel(self) -> None:
        """Stop; no calibration is in force afterwards."""
        self._forget()

    def screen_changed(self, screen: Screen) -> bool:
        """Tell what the screen is now; another geometry ends the calibration as failed.

        Returns
        -------
        bool
            Whether the geometry is another.
        """
        finding = screen_change(self.screen, screen)
        if finding is not None and self._state is not CalibrationState.NONE:
            self._forget()
            self._fail(finding)
        return finding is not None

    def accept(self, note: str) -> None:
        """Accept concerns, or override a failure, in writing.

        Concerns accepted make the calibration valid. A failure stays one: a recording may begin, and its
        header says that it isn't calibrated, and why.

        Raises
        ------
        CalibrationError
            The note is empty, or there is nothing to accept.
        """
        if not note.strip():
            raise CalibrationError("an accepted calibration needs a note.", todo="Say why it is accepted.")
        if self._state not in (CalibrationState.REVIEW, CalibrationState.FAILED):
            raise CalibrationError(f"there is nothing to accept: the calibration is {self._state.value}.")
        self._verdict.note = note.strip()
        if self._state is CalibrationState.REVIEW:
            self._state = CalibrationState.VALID
        log.warning("calibration accepted as %s: %s", self._state.value, self._verdict.note)

    def result(self) -> CalibrationResult:
        """Give what there is now."""
        in_force = self._state in (CalibrationState.REVIEW, CalibrationState.VALID)
        verdict, fitted = self._verdict, self._verdict.fitted
        return CalibrationResult(
            state=self._state,
            mapping=fitted.mapping if in_force else None,
            validation=verdict.validation,
            findings=tuple(verdict.findings),
            redo=self._redo(),
            suspects=fitted.suspects,
            collected=self._showing.of(self.targets),
            left_out_px=dict(fitted.left_out_px),
            note=verdict.note,
            head_box=fitted.head_box if in_force else None,
            head=fitted.head,
            run=self._showing.run,
        )

    def _forget(self) -> None:
        self._state = CalibrationState.NONE
        self._showing.forget()
        self._verdict.drop()

    def _again(self, targets: Sequence[Target]) -> None:
        self._showing.drop(targets)
        self._verdict.drop()
        self._show(CalibrationState.COLLECTING)

    def _show(self, stage: CalibrationState) -> None:
        """Go to a stage and queue its targets that haven't been shown."""
        self._state = stage
        wanted = self._plan.to_collect if stage is CalibrationState.COLLECTING else self._plan.to_validate
        self._showing.show(wanted(self._showing.data))

    def _end_stage(self) -> None:
        if self._state is CalibrationState.COLLECTING:
            shown, moves = (self._showing.of(t) for t in (self.targets, self._plan.head_targets))
            if not self._verdict.fit(shown, moves, self._showing.run):
                self._fail(self._verdict.fitted.refusal)
                return
            self._show(CalibrationState.VALIDATING)
        if self._showing.current is None:
            self._state = self._verdict.judge(self._showing.of(self.validation_targets), self._redo())
            findings = [f.code.value for f in self._verdict.findings]
            log.info("calibration %s: %s", self._state.value, findings)

    def _redo(self) -> tuple[int, ...]:
        return tuple(c.target.index for c in self._showing.of(self.targets) if not c.has_data(self.timing))

    def _fail(self, finding: Finding | None) -> None:
        self._verdict.findings = [finding] if finding else []
        self._state = CalibrationState.FAILED
        self._showing.show([])
        log.info("calibration failed: %s", finding.message if finding else "no mapping")
