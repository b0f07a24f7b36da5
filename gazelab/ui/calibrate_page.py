"""Calibrate: run the targets, look at the result, accept it, redo a point or all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QInputDialog, QSizePolicy, QVBoxLayout, QWidget

from gazelab.calibration.overview import Overview
from gazelab.calibration.procedure import CalibrationProcedure
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.core.errors import GazelabError
from gazelab.settings import CalibrationSettings
from gazelab.ui.calibrate_form import CalibrateForm
from gazelab.ui.camera_look import camera_look, has_camera
from gazelab.ui.choices import load_choices, save_choices
from gazelab.ui.parts import Card, Page, button, label, sentence
from gazelab.ui.position_check import PositionCheck
from gazelab.ui.result_card import ResultCard
from gazelab.ui.result_words import ResultWords
from gazelab.ui.target_window import TargetWindow
from gazelab.ui.workspace import Workspace

FORM_PX = 292


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
            self.tr("The participant looks at targets; others, held back, then tell how well it worked."),
        )
        self._work = workspace
        self._procedure: CalibrationProcedure | None = None
        self.window_: TargetWindow | None = None
        self.form = CalibrateForm(load_choices(workspace.root, workspace.settings.calibration))
        self.form.changed.connect(self._remember)
        self.card = ResultCard()
        self.card.redo_point.connect(self._redo_point)
        self.card.redo_head.connect(self._redo_head)
        self.card.redo_all.connect(self.start)
        self.card.validate.connect(self._revalidate)
        self.card.accept.connect(self._accept_anyway)
        self._saved = QComboBox()
        self._saved.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._saved.setAccessibleName(self.tr("Saved calibrations"))
        self._use_saved = button(
            self.tr("&Use"),
            self._load_saved,
            self.tr("Only if participant, screen, source and versions are the same"),
        )
        self.words = ResultWords()
        self._start = button(self.tr("&Start calibration"), self.start, self.tr("Ctrl+Enter"), primary=True)
        self._next = button(self.tr("Go on to &Record  ›"), self.go_on.emit, primary=True)
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
            procedure = self.form.procedure(screen)
        except GazelabError as fault:
            self._work.told.emit(sentence(fault), "bad")
            return
        self._work.begin_calibration()
        self._procedure = procedure
        self._run(procedure.start, check=has_camera(self._work))

    def leave(self) -> None:
        """Close the targets if they are still up."""
        if self.window_ is not None:
            self.window_.close()

    def _remember(self, chosen: CalibrationSettings) -> None:
        save_choices(self._work.root, self._work.settings.calibration, chosen)

    def _run(self, begin: Callable[[int], None], *, check: bool = False) -> None:
        work, monitor, procedure = self._work, self._work.monitor, self._procedure
        if monitor is None or procedure is None:
            return
        window = TargetWindow(
            procedure,
            work.queue.take,
            work.clock,
            monitor,
            style=self.form.style_,
            beep=self.form.settings.beep,
            check=PositionCheck(lambda: camera_look(work), work.clock) if check else None,
        )
        window.target_shown.connect(
            lambda target, time_ns: work.driver.look_at(work.source, target, time_ns, procedure)
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
            self.card.view.setFocus()

    def _take(self, result: CalibrationResult) -> None:
        """Put a result in force if it is usable; a failed or stopped one leaves none."""
        self._show(result)
        self._work.begin_calibration()
        if result.state is CalibrationState.VALID:
            try:
                self._work.keep_calibration(result)
            except GazelabError as fault:
                self._work.told.emit(sentence(fault), "bad")
        elif result.may_record:
            self._work.override(result.note)
        self._refresh()

    def _show(self, result: CalibrationResult) -> None:
        screen, procedure = self._work.screen, self._procedure
        if screen is None or procedure is None:
            self.card.show_overview(None)
            return
        shown = None if result.state is CalibrationState.NONE else result
        self.card.show_overview(Overview.of(screen, procedure.targets, shown))

    def _load_saved(self) -> None:
        path = self._saved.currentData()
        if path is None:
            return
        try:
            self._work.load_calibration(path)
            profile = self._work.profile
            shown = None if profile is None else Overview.of_profile(profile)
        except GazelabError as fault:
            self._work.begin_calibration()
            self._work.told.emit(sentence(fault), "bad")
            return
        self._procedure = None
        self.card.show_overview(shown)
        self._work.told.emit(
            self.tr("A saved calibration is in force. Calibrate again if the person or the screen moved."),
            "warn",
        )
        self._refresh()

    def _list_saved(self) -> None:
        paths = self._work.saved_calibrations()
        if paths != [self._saved.itemData(k) for k in range(self._saved.count())]:
            self._saved.clear()
            for path in paths:
                self._saved.addItem(_when(path.name), path)
                self._saved.setItemData(self._saved.count() - 1, path.name, Qt.ItemDataRole.ToolTipRole)
        self._use_saved.setEnabled(bool(paths) and self._work.needs_calibration)

    def _redo_point(self, index: int) -> None:
        procedure = self._procedure
        if procedure is not None:
            self._work.begin_calibration()
            self._run(lambda _time_ns: procedure.redo(index))

    def _redo_head(self) -> None:
        procedure = self._procedure
        if procedure is not None:
            self._work.begin_calibration()
            self._run(lambda _time_ns: procedure.redo_head())

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
            self._work.told.emit(sentence(fault), "bad")
            return
        self._take(self._procedure.result())

    def _refresh(self) -> None:
        work, result = self._work, self._procedure.result() if self._procedure else None
        running = work.acquisition is not None
        self._start.setEnabled(running and work.needs_calibration and bool(work.participant))
        self.card.allow(result, running=running, may_start=self._start.isEnabled())
        self._next.setEnabled(not work.may_record())
        self._next.setToolTip(work.may_record())
        self._list_saved()
        self.words.say(*self._in_words(result), result)

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
        self.form.setMinimumWidth(FORM_PX)
        left.addWidget(self._lay_out_form())
        left.addWidget(self.words, 1)
        sides = QHBoxLayout()
        sides.setSpacing(12)
        sides.addLayout(left, 2)
        sides.addWidget(self.card, 5)
        self.body.addLayout(sides, 1)
        self.foot.addStretch(1)
        self.foot.addWidget(self._next)
        order = [*self.form.controls(), self._start, self._saved, self._use_saved, *self.card.controls()]
        for one, other in pairwise([*order, self._next]):
            QWidget.setTabOrder(one, other)

    def _lay_out_form(self) -> Card:
        hint = self.tr("Full screen on the chosen monitor. Esc stops.")
        self.form.body.addWidget(label(hint, "muted", wrap=True))
        self.form.body.addWidget(self._start)
        saved = QHBoxLayout()
        saved.addWidget(self._saved, 1)
        saved.addWidget(self._use_saved)
        self.form.body.addLayout(saved)
        return self.form


def _when(folder_name: str) -> str:
    """Shorten a profile's folder name to its day and time (UTC); the participant is known."""
    stamp = folder_name.rpartition("_")[2]
    day, _, time = stamp.partition("T")
    return f"{day} {time[:8].replace('-', ':')}{time[9:]}" if time else folder_name
