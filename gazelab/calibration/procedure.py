"""The calibration procedure as a state machine: no window, no clock; times and samples are passed in.

A window shows `current_target` and hands over samples and keys; a test or a synthetic participant does the
same in milliseconds.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from gazelab.calibration.collect import Collected, TargetCollector, Timing
from gazelab.calibration.findings import Code, Finding, Limits
from gazelab.calibration.fitting import FitMapping, Fitted, fit_collected, judge
from gazelab.calibration.mapping import fit
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.calibration.targets import Area, Target, calibration_targets, validation_targets
from gazelab.calibration.validation import Validation, validate
from gazelab.core.errors import CalibrationError
from gazelab.core.geometry import Screen

log = logging.getLogger(__name__)

RUNNING = (CalibrationState.COLLECTING, CalibrationState.VALIDATING)


class Advance(StrEnum):
    """What makes the next target appear."""

    AUTO = "auto"
    SPACE = "space"


class CalibrationProcedure:
    """Show targets, collect, fit, validate on held-out targets, judge.

    Call `start`, show `current_target`, hand over every reading with `add` and the space bar's events with
    `key_space`, until the state is review, valid or failed. The fit runs inside the `add` that ends the last
    calibration target (well under a second).

    Parameters
    ----------
    screen : Screen
        Where the targets are shown. Without millimetres the results are in px, and NaN in degrees.
    points : {9, 5, 13, 16}
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
    ) -> None:
        screen.check_plausible()
        self.screen = screen
        self.targets = calibration_targets(points, screen, area)
        self.validation_targets = validation_targets(n_validation, screen, area)
        self.advance = advance
        self.timing = timing or Timing()
        self.limits = limits or Limits()
        self._fit_mapping = fit_mapping
        rng = np.random.default_rng(seed)
        self._order = [self.targets[i] for i in rng.permutation(len(self.targets))]
        self._held_out = [self.validation_targets[i] for i in rng.permutation(n_validation)]
        self._key_down = False
        self._state = CalibrationState.NONE
        self._data: dict[Target, Collected] = {}
        self._queue: list[Target] = []
        self._collector: TargetCollector | None = None
        self._first = True
        self._drop_fit()

    @property
    def state(self) -> CalibrationState:
        """Where it stands."""
        return self._state

    @property
    def current_target(self) -> Target | None:
        """What to show now; None when nothing is to be looked at."""
        return self._queue[0] if self._queue else None

    def progress(self, time_ns: int) -> float:
        """Share of the current target's least time that has gone by, 0..1."""
        return self._collector.progress(time_ns) if self._collector else 0.0

    def start(self, time_ns: int) -> None:
        """Begin anew; whatever calibration there was is no longer in force."""
        self._forget()
        self._show(CalibrationState.COLLECTING, self._order)
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
        collector = self._collecting(time_ns)
        if features is not None:
            collector.add(features, time_ns)
        if collector.finished(time_ns):
            self._data[self._queue.pop(0)] = collector.collected()
            self._collector, self._first = None, False
            if not self._queue:
                self._end_stage()
            if self._state in RUNNING:
                self._collecting(time_ns)

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
        if auto_repeat:
            return False
        fresh = pressed and not self._key_down
        self._key_down = pressed
        if self._state not in RUNNING or not fresh:
            return False
        collector = self._collecting(time_ns)
        if time_ns - collector.onset_ns < self.timing.key_guard_ns:
            return False
        collector.press(time_ns)
        return True

    def redo(self, index: int) -> None:
        """Show one calibration target again; its samples are dropped, all others stay.

        Raises
        ------
        CalibrationError
            No such target, or no calibration has been started.
        """
        if not 0 <= index < len(self.targets):
            raise CalibrationError(f"there is no target {index}: they go from 0 to {len(self.targets) - 1}.")
        if not self._data:
            raise CalibrationError("there is nothing to redo.", todo="Start a calibration first.")
        self._data.pop(self.targets[index], None)
        self._drop_fit()
        self._show(CalibrationState.COLLECTING, self._order)

    def redo_validation(self) -> None:
        """Show the validation targets again.

        Raises
        ------
        CalibrationError
            There is no mapping to validate.
        """
        if self._fitted.mapping is None:
            raise CalibrationError("there is no mapping to validate.", todo="Calibrate first.")
        for target in self._held_out:
            self._data.pop(target, None)
        self._drop_verdict()
        self._show(CalibrationState.VALIDATING, self._held_out)

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
        old = self.screen
        if (screen.name, screen.width_px, screen.height_px) == (old.name, old.width_px, old.height_px):
            return False
        if self._state is not CalibrationState.NONE:
            self._forget()
            text = (
                f"The screen changed from {old.name}, {old.width_px} x {old.height_px} px, to {screen.name},"
                f" {screen.width_px} x {screen.height_px} px. Calibrate again."
            )
            self._fail(Finding(Code.SCREEN_CHANGED, text, True))
        return True

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
        self._note = note.strip()
        if self._state is CalibrationState.REVIEW:
            self._state = CalibrationState.VALID
        log.warning("calibration accepted as %s: %s", self._state.value, self._note)

    def result(self) -> CalibrationResult:
        """Give what there is now."""
        in_force = self._state in (CalibrationState.REVIEW, CalibrationState.VALID)
        return CalibrationResult(
            state=self._state,
            mapping=self._fitted.mapping if in_force else None,
            validation=self._validation,
            findings=tuple(self._findings),
            redo=self._redo(),
            suspects=self._fitted.suspects,
            collected=self._shown(self.targets),
            left_out_px=dict(self._fitted.left_out_px),
            note=self._note,
        )

    def _forget(self) -> None:
        self._state = CalibrationState.NONE
        self._data, self._queue, self._collector = {}, [], None
        self._drop_fit()

    def _drop_fit(self) -> None:
        self._fitted = Fitted()
        self._drop_verdict()

    def _drop_verdict(self) -> None:
        self._validation: Validation | None = None
        self._findings: list[Finding] = []
        self._note = ""

    def _show(self, stage: CalibrationState, order: Sequence[Target]) -> None:
        """Go to a stage and queue its targets that haven't been shown."""
        self._state = stage
        self._queue = [t for t in order if t not in self._data]
        self._collector, self._first = None, True

    def _collecting(self, time_ns: int) -> TargetCollector:
        """Give the current target's collector; the target's onset is the first call after it came up."""
        if self._collector is None:
            t = self.timing
            settle_ns = t.first_settle_ns if self._first else t.settle_ns
            by_key = self.advance is Advance.SPACE
            self._collector = TargetCollector(self._queue[0], t, time_ns, settle_ns, by_key)
        return self._collector

    def _shown(self, targets: Sequence[Target]) -> tuple[Collected, ...]:
        return tuple(self._data[t] for t in targets if t in self._data)

    def _end_stage(self) -> None:
        if self._state is CalibrationState.COLLECTING:
            shown = self._shown(self.targets)
            self._fitted = fit_collected(shown, self.timing, self.limits, self.screen, self._fit_mapping)
            if self._fitted.refusal:
                self._fail(self._fitted.refusal)
                return
            self._show(CalibrationState.VALIDATING, self._held_out)
        if not self._queue:
            self._judge()

    def _judge(self) -> None:
        if self._fitted.mapping is None:
            raise RuntimeError("a validation without a mapping")
        shown = self._shown(self.validation_targets)
        self._validation = validate(self._fitted.mapping, shown, self.screen, self.timing.min_samples)
        self._findings = judge(self._validation, self._redo(), self._fitted.suspects, self.limits)
        if any(f.refuses for f in self._findings):
            self._state = CalibrationState.FAILED
        else:
            self._state = CalibrationState.REVIEW if self._findings else CalibrationState.VALID
        log.info("calibration %s: %s", self._state.value, [f.code.value for f in self._findings])

    def _redo(self) -> tuple[int, ...]:
        return tuple(c.target.index for c in self._shown(self.targets) if not c.has_data(self.timing))

    def _fail(self, finding: Finding) -> None:
        self._findings = [finding]
        self._state = CalibrationState.FAILED
        self._queue = []
        log.info("calibration failed: %s", finding.message)
