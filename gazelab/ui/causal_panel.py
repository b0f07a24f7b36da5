"""What blanking does to the answer: how it is tried, what it came to, and the picture that was blanked."""

from __future__ import annotations

from typing import cast

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from gazelab.attention.causal import CausalCheck, CheckPlan, Fill
from gazelab.attention.causal.result import spread_of
from gazelab.ui.causal_plot import CurvePlot
from gazelab.ui.parts import Card, button, label


class CausalPanel(QWidget):
    """Asks for the check and shows its outcome.

    Signals
    -------
    run_asked, stop_asked
    picture_asked : bool
        Whether the blanked picture is to be shown on the chart.
    """

    run_asked = pyqtSignal()
    stop_asked = pyqtSignal()
    picture_asked = pyqtSignal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: CausalCheck | None = None
        self._running = False
        self._may_run = False
        self._curves = QCheckBox(self.tr("Curves"))
        self._curves.setToolTip(self.tr("Blank and restore the patches step by step, too: many more runs"))
        self._curves.toggled.connect(lambda _on: self._count())
        self._fill = QComboBox()
        self._fill.setAccessibleName(self.tr("What stands where a patch was"))
        for text, fill in (
            (self.tr("Background"), "background"),
            (self.tr("Median colour"), "median"),
            (self.tr("Blurred"), "blur"),
        ):
            self._fill.addItem(text, fill)
        self._run = button(self.tr("Check by blanking"), self._clicked)
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Progress of the check"))
        self._state = label("", "muted", wrap=True)
        self._sentence = label("", wrap=True)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._picture = QCheckBox(self.tr("Show the blanked chart"))
        self._picture.toggled.connect(self.picture_asked)
        self._deletion = CurvePlot(self.tr("Patches blanked"))
        self._insertion = CurvePlot(self.tr("Patches shown"))
        self._areas = label("", "muted", wrap=True)
        self._lay_out()
        self._count()
        self.set_result(None)

    @property
    def result(self) -> CausalCheck | None:
        """The outcome that is shown."""
        return self._result

    def plan(self) -> CheckPlan:
        """Give what is to be tried."""
        return CheckPlan(curves=self._curves.isChecked(), fill=cast(Fill, self._fill.currentData()))

    def set_curves(self, on: bool) -> None:
        """Switch the curves on or off."""
        self._curves.setChecked(on)

    def set_may_run(self, may: bool) -> None:
        """Tell whether there is a complete answer and a map of it."""
        self._may_run = may
        self._run.setEnabled(may or self._running)

    def set_running(self, running: bool) -> None:
        """Show that the check runs, or no longer."""
        self._running = running
        self._run.setText(self.tr("Stop") if running else self.tr("Check by blanking"))
        self._run.setEnabled(running or self._may_run)
        self._progress.setRange(0, 0)
        self._progress.setVisible(running)
        for widget in (self._curves, self._fill):
            widget.setEnabled(not running)
        self._count()

    def set_progress(self, done: int, total: int) -> None:
        """Show how far it is."""
        self._progress.setRange(0, total)
        self._progress.setValue(done)
        self._state.setText(self.tr("{done} of {total} runs of the model").format(done=done, total=total))

    def set_result(self, result: CausalCheck | None) -> None:
        """Show an outcome, or that there is none for the map that is shown."""
        self._result = result
        self._picture.setVisible(result is not None)
        if result is None:
            self._picture.setChecked(False)
        self._sentence.setText("" if result is None else " ".join(result.sentence().split()))
        self._sentence.setVisible(result is not None)
        curves = None if result is None else result.curves
        for plot in (self._deletion, self._insertion):
            plot.setVisible(curves is not None)
        self._areas.setVisible(curves is not None)
        if curves is None:
            return
        self._deletion.set_curves(curves.deletion, curves.random_deletion)
        self._insertion.set_curves(curves.insertion, curves.random_insertion)
        said = []
        for name, ours, random in (
            (self.tr("Blanked"), curves.deletion, curves.random_deletion),
            (self.tr("Shown"), curves.insertion, curves.random_insertion),
        ):
            mean = spread_of([curve.auc for curve in random])["mean"]
            beside = "" if mean is None else self.tr(", random orders {mean:.2f}").format(mean=mean)
            said.append(
                self.tr("{name}: area {area:.2f}{beside}").format(name=name, area=ours.auc, beside=beside)
            )
        words = self.tr(
            "Probability of the answer, most attended first; grey: random orders of what shows something."
            " {areas}."
        )
        self._areas.setText(words.format(areas="; ".join(said)))

    def _count(self) -> None:
        text = self.tr("Takes {n} runs of the model.").format(n=self.plan().n_passes)
        self._state.setText("" if self._running else text)

    def _clicked(self) -> None:
        (self.stop_asked if self._running else self.run_asked).emit()

    def _lay_out(self) -> None:
        lead = self.tr(
            "What a model looks at need not be what its answer hangs on. Blanks the map's most attended"
            " patches, then as many others that show something, and asks again."
        )
        card = Card()
        card.body.addWidget(label(lead, "muted", wrap=True))
        line = QHBoxLayout()
        line.addWidget(self._curves)
        line.addStretch(1)
        line.addWidget(label(self.tr("Fill with"), "muted"))
        line.addWidget(self._fill)
        card.body.addLayout(line)
        line = QHBoxLayout()
        line.addWidget(self._run)
        line.addWidget(self._state, 1)
        card.body.addLayout(line)
        card.body.addWidget(self._progress)
        card.body.addWidget(self._sentence)
        card.body.addWidget(self._picture)
        line = QHBoxLayout()
        line.setSpacing(4)
        line.addWidget(self._deletion, 1)
        line.addWidget(self._insertion, 1)
        card.body.addLayout(line)
        card.body.addWidget(self._areas)
        self._progress.hide()
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.addWidget(card)
        lines.addStretch(1)
