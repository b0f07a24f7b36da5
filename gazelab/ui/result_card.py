"""A calibration's result: picture, table, and what can be done about it."""

from __future__ import annotations

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QWidget

from gazelab.calibration.overview import Overview
from gazelab.calibration.result import CalibrationResult, CalibrationState
from gazelab.ui.parts import Card, button, row
from gazelab.ui.result_picture import NONE
from gazelab.ui.result_table import ResultTable
from gazelab.ui.result_view import ResultView


class ResultCard(Card):
    """Shows a result; each button is a signal.

    Signals
    -------
    redo_point : int
        This calibration target is to be shown again.
    redo_head, redo_all, validate, accept
    """

    redo_point = pyqtSignal(int)
    redo_head = pyqtSignal()
    redo_all = pyqtSignal()
    validate = pyqtSignal()
    accept = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Error by region, and arrows from target to estimate"), parent)
        self.view = ResultView()
        self.view.chosen.connect(lambda _index: self._name_point())
        self.view.redo_asked.connect(lambda _index: self._ask_point())
        self.table = ResultTable()
        tip = self.tr("Choose a target in the picture; R redoes it.")
        self._point = button(self.tr("Redo p&oint"), self._ask_point, tip)
        self._head = button(self.tr("Redo h&ead"), self.redo_head.emit, self.tr("The head movement again"))
        self._all = button(self.tr("Redo &all"), self.redo_all.emit, self.tr("Everything from the start"))
        again = self.tr("The validation targets again, with the same calibration")
        self._validate = button(self.tr("Valida&te"), self.validate.emit, again)
        self._accept = button(self.tr("A&ccept…"), self.accept.emit, self.tr("Accept with a reason"))
        self._can_redo = False
        self.body.addWidget(self.view, 1)
        self.body.addWidget(self.table)
        self.body.addLayout(row(self._point, self._head, self._all, self._validate, 1, self._accept))
        self.allow(None, running=False, may_start=False)

    def controls(self) -> list[QWidget]:
        """Give what can be used, in the order of Tab."""
        return [self.view, self._point, self._head, self._all, self._validate, self._accept]

    def show_overview(self, shown: Overview | None) -> None:
        """Show another calibration, or none."""
        self.view.show_overview(shown)
        self.table.set_validation(None if shown is None else shown.validation)

    def allow(self, result: CalibrationResult | None, *, running: bool, may_start: bool) -> None:
        """Tell what may be done: with a result at hand, a source that runs, all that a start needs."""
        state = CalibrationState.NONE if result is None else result.state
        self._can_redo = running and result is not None and bool(result.collected)
        self._head.setVisible(result is not None and result.head is not None)
        self._head.setEnabled(self._can_redo)
        self._all.setEnabled(self._can_redo and may_start)
        self._validate.setEnabled(running and state in (CalibrationState.VALID, CalibrationState.REVIEW))
        self._accept.setVisible(state in (CalibrationState.REVIEW, CalibrationState.FAILED))
        self._name_point()

    def _name_point(self) -> None:
        index = self.view.current
        self._point.setEnabled(self._can_redo and index != NONE)
        plain, numbered = self.tr("Redo p&oint"), self.tr("Redo p&oint {n}")
        self._point.setText(plain if index == NONE else numbered.format(n=index + 1))

    def _ask_point(self) -> None:
        if self._point.isEnabled():
            self.redo_point.emit(self.view.current)
