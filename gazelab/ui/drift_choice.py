"""How often a recording checks for drift, and a button to ask for a check now."""

from __future__ import annotations

from PyQt6.QtCore import QSignalBlocker, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QSpinBox, QWidget

from gazelab.ui.drift_step import default_every
from gazelab.ui.parts import button, label
from gazelab.ui.workspace import Workspace

MOST = 99


class DriftChoice(QWidget):
    """A number and a button.

    Signals
    -------
    asked
        A check is wanted now, or before the next chart.
    """

    asked = pyqtSignal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._work = workspace
        self._chosen = False
        self._every = QSpinBox()
        self._every.setRange(0, MOST)
        self._every.setAccessibleName(self.tr("Charts from one drift check to the next"))
        self._every.setPrefix(self.tr("every "))
        self._every.setSuffix(self.tr(" charts"))
        self._every.setSpecialValueText(self.tr("never"))
        self._every.setToolTip(
            self.tr(
                "The participant looks at one dot. A small offset is then corrected in what is shown and"
                " detected live; what is stored stays as measured. 1: before each chart."
            )
        )
        self._every.valueChanged.connect(self._choose)
        self._ask = button(
            self.tr("Check now"), self.asked.emit, self.tr("Before the next chart, if one is on (D)")
        )
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(label(self.tr("Drift check"), "muted"))
        line.addWidget(self._every)
        line.addStretch(1)
        line.addWidget(self._ask)
        self.refresh(running=False)

    @property
    def every(self) -> int:
        """Charts from one check to the next; 0: never by itself."""
        return self._every.value()

    def refresh(self, *, running: bool) -> None:
        """Offer what fits the source, until somebody has chosen."""
        self._every.setEnabled(not running)
        self._ask.setEnabled(running)
        if not self._chosen and not running:
            with QSignalBlocker(self._every):
                self._every.setValue(default_every(self._work))

    def _choose(self) -> None:
        self._chosen = True
