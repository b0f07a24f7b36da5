"""Calibrate: run the targets, look at the result, accept it, redo a point or all."""

from __future__ import annotations

import math
from collections.abc import Callable

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QInputDialog, QSizePolicy, QVBoxLayout, QWidget

from gazelab.calibration.procedure import Advance, CalibrationProcedure
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.calibration.targets import LAYOUTS
from gazelab.core.errors import GazelabError
from gazelab.ui.parts import Card, Page, button, label, row, set_role
from gazelab.ui.result_view import NONE, ResultView
from gazelab.ui.target_window import TargetWindow
from gazelab.ui.workspace import Workspace


class CalibratePage(Page):
    """From targets to an accepted calibration.

    Signals
    -------
    go_on
        The user wants to record.
    """

    go_on = pyqtSignal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_head(
            self.tr("Calibrate"),
            self.tr("The participant looks at dots; other dots, held back, then tell how well it worked."),
        )
        self._work = workspace
        self._procedure: CalibrationProcedure | None = None
        self.window_: TargetWindow | None = None
        self.view = ResultView()
        self.view.chosen.connect(lambda _index: self._refresh())
        self._points = QComboBox()
        self._points.setAccessibleName(self.tr("Points"))
        for n in sorted(LAYOUTS):
            self._points.addItem(self.tr("{n} points").format(n=n), n)
        self._points.setCurrentIndex(self._points.findData(workspace.settings.calibration.points))
        self._advance = QComboBox()
        self._advance.setAccessibleName(self.tr("Next target"))
        self._advance.addItem(self.tr("Next when the gaze rests (or Space)"), Advance.AUTO)
        self._advance.addItem(self.tr("Next at the space bar only"), Advance.SPACE)
        self._saved = QComboBox()
        self._saved.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._saved.setAccessibleName(self.tr("Saved calibrations"))
        self._use_saved = button(
            self.tr("Use saved"),
            self._load_saved,
            self.tr("Only if participant, screen, source and versions are the same"),
        )
        self._state = label("", "heading", wrap=True)
        self._numbers = label("", wrap=True)
        self._findings = label("", "muted", wrap=True)
        self._start = button(self.tr("Start calibration"), self.start, self.tr("Ctrl+Enter"), primary=True)
        self._redo_point = button(self.tr("Redo point"), self._redo_chosen)
        self._redo_check = button(self.tr("Validate again"), self._revalidate)
        self._accept = button(self.tr("Accept with a reason…"), self._accept_anyway)
        self._next = button(self.tr("Go on to Record  ›"), self.go_on.emit, primary=True)
        self._lay_out()
        workspace.changed.connect(self._refresh)
        self._refresh()

    @property
    def procedure(self) -> CalibrationProcedure | None:
        """The calibration at hand."""
        return self._procedure

    def next_step(self) -> None:
        """Do what Ctrl+Enter does: calibrate, or go on if that is done."""
        (self._start if self._start.isEnabled() and self._work.may_record() else self._next).click()

    def start(self) -> None:
        """Begin a calibration on the chosen monitor; the one in force ends here."""
        screen = self._work.screen
        if screen is None:
            return
        try:
            procedure = CalibrationProcedure(
                screen, self._points.currentData(), advance=self._advance.currentData()
            )
        except GazelabError as fault:
            self._work.told.emit(str(fault), "bad")
            return
        self._work.begin_calibration()
        self._procedure = procedure
        self._run(procedure.start)

    def leave(self) -> None:
        """Close the targets if they are still up."""
        if self.window_ is not None:
            self.window_.close()

    def _run(self, begin: Callable[[int], None]) -> None:
        monitor, procedure = self._work.monitor, self._procedure
        if monitor is None or procedure is None:
            return
        window = TargetWindow(procedure, self._work.queue.take, self._work.clock, monitor)
        window.target_shown.connect(
            lambda target, time_ns: self._work.driver.look_at(self._work.source, target, time_ns)
        )
        window.ended.connect(self._ended)
        self.window_ = window
        window.run(begin)

    def _ended(self, why: str) -> None:
        window, self.window_ = self.window_, None
        if window is not None:
            window.deleteLater()
        if why:
            self._work.told.emit(why, "warn")
        if self._procedure is not None:
            self._take(self._procedure.result())

    def _take(self, result: CalibrationResult) -> None:
        """Put a result in force if it is usable; a failed or stopped one leaves none."""
        targets = () if self._procedure is None else self._procedure.targets
        shown = None if result.state is CalibrationState.NONE else result
        self.view.set_result(self._work.screen, targets, shown)
        self._work.begin_calibration()
        if result.state is CalibrationState.VALID:
            try:
                self._work.keep_calibration(result, self.view.grab())
            except GazelabError as fault:
                self._work.told.emit(str(fault), "bad")
        elif result.may_record:
            self._work.override(result.note)
        self._refresh()

    def _load_saved(self) -> None:
        path = self._saved.currentData()
        if path is None:
            return
        try:
            self._work.load_calibration(path)
        except GazelabError as fault:
            self._work.told.emit(str(fault), "bad")
            return
        self._procedure = None
        self.view.set_result(None, (), None)
        self._work.told.emit(
            self.tr("A saved calibration is in force. Calibrate again if the person or the screen moved."),
            "warn",
        )
        self._refresh()

    def _list_saved(self) -> None:
        names = [path.name for path in self._work.saved_calibrations()]
        if names != [self._saved.itemText(k) for k in range(self._saved.count())]:
            self._saved.clear()
            for path in self._work.saved_calibrations():
                self._saved.addItem(path.name, path)
        self._use_saved.setEnabled(bool(names) and self._work.needs_calibration)

    def _redo_chosen(self) -> None:
        index, procedure = self.view.current, self._procedure
        if procedure is None or index == NONE:
            return
        self._work.begin_calibration()
        self._run(lambda _time_ns: procedure.redo(index))

    def _revalidate(self) -> None:
        procedure = self._procedure
        if procedure is not None:
            self._run(lambda _time_ns: procedure.redo_validation())

    def _accept_anyway(self) -> None:
        note, ok = QInputDialog.getText(
            self,
            self.tr("Accept with a reason"),
            self.tr("Why may this calibration be used? The reason is written into every recording."),
        )
        if ok:
            self.accept(note)

    def accept(self, note: str) -> None:
        """Accept concerns, or override a refusal, with a reason."""
        if self._procedure is None:
            return
        try:
            self._procedure.accept(note)
        except GazelabError as fault:
            self._work.told.emit(str(fault), "bad")
            return
        self._take(self._procedure.result())

    def _refresh(self) -> None:
        work, result = self._work, self._procedure.result() if self._procedure else None
        running = work.acquisition is not None
        self._start.setEnabled(running and work.needs_calibration and bool(work.participant))
        self._redo_point.setEnabled(
            result is not None and bool(result.collected) and self.view.current != NONE
        )
        state = result.state if result else CalibrationState.NONE
        self._redo_check.setEnabled(state in (CalibrationState.VALID, CalibrationState.REVIEW))
        self._accept.setVisible(state in (CalibrationState.REVIEW, CalibrationState.FAILED))
        self._next.setEnabled(not work.may_record())
        self._next.setToolTip(work.may_record())
        self._list_saved()
        text, role = self._in_words(result)
        self._state.setText(text)
        set_role(self._state, role)
        self._numbers.setText(_in_numbers(self, result))
        self._findings.setText("" if result is None else "\n".join(f.message for f in result.findings))

    def _in_words(self, result: CalibrationResult | None) -> tuple[str, str]:
        work = self._work
        if work.acquisition is None:
            return self.tr("No source is running. Choose one on Setup."), "warn"
        if not work.needs_calibration:
            return self.tr("This source measures gaze by itself: nothing to calibrate."), "good"
        if not work.participant:
            return self.tr("Give a participant code on Setup first."), "warn"
        state = CalibrationState.NONE if result is None else result.state
        match state:
            case _ if work.profile is not None:
                return self.tr("Calibrated, for participant {code}.").format(code=work.participant), "good"
            case CalibrationState.REVIEW:
                return self.tr("Usable, with concerns: redo points, or accept with a reason."), "warn"
            case CalibrationState.FAILED:
                return self.tr("Refused. No calibration is in force."), "bad"
        return self.tr("Not calibrated yet."), "muted"

    def _lay_out(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(12)
        how = Card(self.tr("Targets"))
        how.body.addWidget(self._points)
        how.body.addWidget(self._advance)
        hint = self.tr("Full screen on the chosen monitor. Space: I am looking. Esc: stop.")
        how.body.addWidget(label(hint, "muted", wrap=True))
        how.body.addWidget(self._start)
        saved = QHBoxLayout()
        saved.addWidget(self._saved, 1)
        saved.addWidget(self._use_saved)
        how.body.addLayout(saved)
        left.addWidget(how)
        found = Card(self.tr("Result"))
        found.body.addWidget(self._state)
        found.body.addWidget(self._numbers)
        found.body.addWidget(self._findings)
        found.body.addStretch(1)
        found.body.addWidget(self._accept)
        left.addWidget(found, 1)
        picture = Card(self.tr("Targets, and arrows to where the gaze was estimated"))
        picture.body.addWidget(self.view, 1)
        picture.body.addLayout(row(self._redo_point, self._redo_check, 1))
        sides = QHBoxLayout()
        sides.setSpacing(12)
        sides.addLayout(left, 2)
        sides.addWidget(picture, 5)
        self.body.addLayout(sides, 1)
        self.foot.addStretch(1)
        self.foot.addWidget(self._next)


def _in_numbers(page: QWidget, result: CalibrationResult | None) -> str:
    """Write accuracy and precision; degrees only where the screen's size is known."""
    if result is None or result.validation is None:
        return ""
    v = result.validation
    lines = []
    if math.isfinite(v.accuracy_deg):
        lines.append(
            page.tr("Accuracy {deg:.2f}° ({px:.0f} px)").format(deg=v.accuracy_deg, px=v.accuracy_px)
        )
        lines.append(
            page.tr("Precision {rms:.2f}° sample to sample, {sd:.2f}° SD").format(
                rms=v.rms_s2s_deg, sd=v.sd_deg
            )
        )
    else:
        lines.append(page.tr("Accuracy {px:.0f} px").format(px=v.accuracy_px))
        lines.append(page.tr("Measure the screen and the distance on Setup to have degrees."))
    lines.append(
        page.tr("Data loss {loss:.0%}, {rate:.0f} Hz, {n} held-out targets").format(
            loss=v.data_loss, rate=v.rate_hz, n=v.n_with_data
        )
    )
    return "\n".join(lines)
