"""The monitor that is looked at: which one, how large, how far away."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

import numpy as np
from PyQt6.QtCore import QLocale
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QComboBox, QDoubleSpinBox, QGridLayout, QWidget

from gazelab.core.errors import ConfigError, GazelabError
from gazelab.core.geometry import DISTANCE_RANGE_MM, WIDTH_RANGE_MM
from gazelab.ui.card_dialog import CardDialog
from gazelab.ui.monitors import Numeral, describe, find_monitor, identify, monitors
from gazelab.ui.parts import Card, button, label, row, sentence, set_role
from gazelab.ui.workspace import Workspace

KEPT = 90


class ScreenForm(Card):
    """Monitor, size in mm, distance."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.body.addWidget(label(self.tr("Screen"), "heading"))
        self._work = workspace
        self._measured: deque[float] = deque(maxlen=KEPT)
        self._shown: list[Numeral] = []
        self._monitors = QComboBox()
        self._monitors.setAccessibleName(self.tr("Monitor"))
        self._monitors.activated.connect(self._choose)
        self._width = _mm_box(self.tr("Width in mm"), *WIDTH_RANGE_MM)
        self._height = _mm_box(self.tr("Height in mm"), 50.0, 3000.0)
        self._distance = _mm_box(self.tr("Distance in mm"), *DISTANCE_RANGE_MM)
        for box in (self._width, self._height):
            box.editingFinished.connect(self._set_size)
        self._distance.editingFinished.connect(self._set_distance)
        self._identify = button(self.tr("Identify"), self._number_them, self.tr("Show each monitor's number"))
        self._card = button(
            self.tr("Bank card…"), self.measure, self.tr("Hold a bank card to the screen to measure it")
        )
        self._use = button(
            self.tr("Use measured"),
            self._use_measured,
            self.tr("From the iris, which is 11.7 mm wide in nearly everybody; right to about 15 %"),
        )
        self._note = label("", "muted", wrap=True)
        grid = QGridLayout()
        grid.setVerticalSpacing(6)
        grid.addWidget(self._monitors, 0, 0, 1, 3)
        grid.addWidget(self._identify, 0, 3)
        grid.addWidget(label(self.tr("Size"), "muted"), 1, 0)
        grid.addLayout(row(self._width, label("×"), self._height), 1, 1, 1, 2)
        grid.addWidget(self._card, 1, 3)
        grid.addWidget(label(self.tr("Distance"), "muted"), 2, 0)
        grid.addWidget(self._distance, 2, 1, 1, 2)
        grid.addWidget(self._use, 2, 3)
        grid.setColumnStretch(1, 1)
        self.body.addLayout(grid)
        self.body.addWidget(self._note)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            # Bound methods: Qt lets go of them when this widget dies.
            app.screenAdded.connect(self.refresh)
            app.screenRemoved.connect(self._lost_one)
        workspace.changed.connect(self._tell)
        self.refresh()

    def refresh(self) -> None:
        """List the monitors that are there."""
        current = self._work.monitor
        self._monitors.clear()
        for number, monitor in enumerate(monitors(), 1):
            self._monitors.addItem(describe(monitor, number), monitor.name())
            if current is not None and monitor.name() == current.name():
                self._monitors.setCurrentIndex(number - 1)
        self._tell()

    def offer_distance(self, distance_mm: float) -> None:
        """Take a distance measured by the camera."""
        if math.isfinite(distance_mm):
            self._measured.append(distance_mm)
        self._use.setEnabled(len(self._measured) > KEPT // 3)

    def measure(self) -> None:
        """Measure the chosen monitor with a bank card."""
        screen, monitor = self._work.screen, self._work.monitor
        if screen is None or monitor is None:
            return
        measured = CardDialog(screen, monitor, self).run()
        if measured is not None:
            self._work.set_size(measured)
            self._tell()

    def _choose(self, index: int) -> None:
        try:
            self._work.set_monitor(find_monitor(self._monitors.itemData(index)))
        except GazelabError as fault:
            self.refresh()
            self._fault(fault)

    def _lost_one(self) -> None:
        names = [m.name() for m in monitors()]
        if self._work.monitor is None or self._work.monitor.name() not in names:
            self._work.lose_monitor()
        self.refresh()

    def _set_size(self) -> None:
        screen = self._work.screen
        width, height = self._width.value(), self._height.value()
        if screen is None or width <= self._width.minimum() or height <= self._height.minimum():
            return
        if (width, height) == (screen.width_mm, screen.height_mm):
            return
        try:
            self._work.set_size(replace(screen, width_mm=width, height_mm=height, size_source="user"))
        except ConfigError as fault:
            self._fault(fault)

    def _set_distance(self) -> None:
        if self._distance.value() <= self._distance.minimum():
            return
        try:
            self._work.set_distance(self._distance.value())
        except ConfigError as fault:
            self._fault(fault)

    def _use_measured(self) -> None:
        self._distance.setValue(float(np.median(self._measured)))
        self._set_distance()

    def _number_them(self) -> None:
        self._shown = identify()

    def _tell(self) -> None:
        screen = self._work.screen
        if screen is None:
            self._note.setText(self.tr("There is no monitor."))
            return
        for box, value in (
            (self._width, screen.width_mm),
            (self._height, screen.height_mm),
            (self._distance, screen.distance_mm),
        ):
            if not box.hasFocus():
                box.setValue(value if math.isfinite(value) else box.minimum())
        self._use.setEnabled(len(self._measured) > KEPT // 3)
        if screen.has_degrees:
            sources = {
                "card": self.tr("measured with a card"),
                "user": self.tr("typed in"),
                "system": self.tr("as the system tells it; a card is surer"),
            }
            text = self.tr("One degree is {px:.0f} px at the centre. Size {how}.")
            how = sources.get(screen.size_source, screen.size_source)
            self._note.setText(text.format(px=screen.px_per_deg(), how=how))
            set_role(self._note, "muted")
        else:
            self._note.setText(
                self.tr("Size and distance are needed for degrees; without them results are in px.")
            )
            set_role(self._note, "warn")

    def _fault(self, fault: GazelabError) -> None:
        self._note.setText(sentence(fault))
        set_role(self._note, "bad")


def _mm_box(name: str, low: float, high: float) -> QDoubleSpinBox:
    """Make a box for millimetres; its minimum stands for "unknown"."""
    box = QDoubleSpinBox()
    box.setLocale(QLocale.c())
    box.setRange(low - 1, high)
    box.setDecimals(0)
    box.setSuffix(" mm")
    box.setSpecialValueText("– mm")
    box.setAccessibleName(name)
    box.setToolTip(f"{name}, {low:.0f} to {high:.0f}")
    return box
