"""How to calibrate: which targets, how they look, what brings the next, and the head's part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QSizePolicy, QWidget

from gazelab.calibration.collect import Timing
from gazelab.calibration.head_phase import STEPS, step_ns
from gazelab.calibration.procedure import Advance, CalibrationProcedure, Style
from gazelab.calibration.targets import LAYOUTS
from gazelab.core.geometry import Screen
from gazelab.settings import CalibrationSettings
from gazelab.ui.parts import Card, label
from gazelab.ui.target_art import TargetStyle


class CalibrateForm(Card):
    """Options of a calibration.

    Parameters
    ----------
    settings : CalibrationSettings
        What to begin with.

    Signals
    -------
    changed : CalibrationSettings
        Another choice was made.
    """

    changed = pyqtSignal(object)

    def __init__(self, settings: CalibrationSettings, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Targets"), parent)
        self._settings = settings
        self.points = QComboBox()
        for n in sorted(LAYOUTS):
            self.points.addItem(self.tr("{n} points").format(n=n), (Style.POINTS, n))
        self.points.addItem(self.tr("Moving (smooth pursuit)"), (Style.PURSUIT, 0))
        self.looks = QComboBox()
        self.looks.addItem(self.tr("Dot"), TargetStyle.DOT)
        self.looks.addItem(self.tr("Animated star, for children"), TargetStyle.CHILD)
        self.advance = QComboBox()
        self.advance.addItem(self.tr("Gaze rests, or Space"), Advance.AUTO)
        self.advance.addItem(self.tr("Space bar only"), Advance.SPACE)
        self.head = QCheckBox(self.tr("Head &movement, about {s:.0f} s").format(s=_head_seconds()))
        self.head.setToolTip(self.tr("Turn the head and lean while looking at a dot, after the targets."))
        self.beep = QCheckBox(self.tr("&Beep at each target"))
        self._put(settings)
        self._lay_out()
        for box in (self.points, self.looks, self.advance):
            box.activated.connect(lambda _index: self._take())
        for tick in (self.head, self.beep):
            tick.toggled.connect(lambda _on: self._take())

    @property
    def settings(self) -> CalibrationSettings:
        """What is chosen now."""
        return self._settings

    @property
    def style_(self) -> TargetStyle:
        """How targets look."""
        return TargetStyle(self._settings.target)

    def controls(self) -> list[QWidget]:
        """Give what can be chosen, in the order of Tab."""
        return [self.points, self.looks, self.advance, self.head, self.beep]

    def procedure(self, screen: Screen) -> CalibrationProcedure:
        """Make the procedure that was chosen.

        Raises
        ------
        GazelabError
            The screen cannot be.
        """
        s = self._settings
        return CalibrationProcedure(
            screen, s.points, advance=Advance(s.advance), head_phase=s.head_phase, style=Style(s.style)
        )

    def _put(self, s: CalibrationSettings) -> None:
        pursuit = s.style == Style.PURSUIT
        _choose(self.points, lambda data: data[0] == s.style and (pursuit or data[1] == s.points))
        _choose(self.looks, lambda data: data == s.target)
        _choose(self.advance, lambda data: data == s.advance)
        self.head.setChecked(s.head_phase)
        self.beep.setChecked(s.beep)

    def _take(self) -> None:
        style, n = self.points.currentData()
        self._settings = CalibrationSettings(
            points=n or self._settings.points,
            style=Style(style).value,
            head_phase=self.head.isChecked(),
            advance=Advance(self.advance.currentData()).value,
            target=TargetStyle(self.looks.currentData()).value,
            beep=self.beep.isChecked(),
        )
        self.changed.emit(self._settings)

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        rows = (
            (self.tr("&Points"), self.points),
            (self.tr("&Looks"), self.looks),
            (self.tr("&Next"), self.advance),
        )
        for k, (name, box) in enumerate(rows):
            box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            box.setAccessibleName(name.replace("&", ""))
            title = label(name, "muted")
            title.setBuddy(box)
            grid.addWidget(title, k, 0)
            grid.addWidget(box, k, 1)
        self.body.addLayout(grid)
        self.body.addWidget(self.head)
        why = label(self.tr("Keeps the gaze right when the head moves."), "muted", wrap=True)
        why.setContentsMargins(22, 0, 0, 0)
        self.body.addWidget(why)
        self.body.addWidget(self.beep)


def _head_seconds() -> float:
    timing = Timing()
    return sum(timing.read_ns + step_ns(k, timing) for k in range(len(STEPS))) / 1e9


def _choose(box: QComboBox, fits: Callable[[Any], bool]) -> None:
    box.setCurrentIndex(next((k for k in range(box.count()) if fits(box.itemData(k))), 0))
