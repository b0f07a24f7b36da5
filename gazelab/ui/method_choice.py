"""Which way a map is made: a list of methods with what each is, and a button where the model must run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QStandardItemModel
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from gazelab.attention.methods import METHODS, MethodEntry, Offer
from gazelab.ui.parts import button, label

ONE_ROW = "raw"
"""Not in the list: it is what any of them is where one token, one layer and one head are chosen."""
_WHO_AND_WHEN = re.compile(r".*?\b\d{4}\b")


class MethodChoice(QWidget):
    """Chooses a method.

    Signals
    -------
    changed
        Another one is wanted.
    run_asked, stop_asked
        A map is to be computed with the model, or no longer.
    """

    changed = pyqtSignal()
    run_asked = pyqtSignal()
    stop_asked = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._running = False
        self._box = QComboBox()
        self._box.setAccessibleName(self.tr("Method"))
        for entry in METHODS.values():
            if entry.name != ONE_ROW:
                self._box.addItem(entry.label, entry.name)
        self._about = label("", "muted", wrap=True)
        self._run = button(self.tr("Compute"), self._clicked)
        self._run.setProperty("role", "small")
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Progress of the map"))
        self._note = label("", "muted", wrap=True)
        line = QHBoxLayout()
        line.addWidget(self._run)
        line.addWidget(self._progress, 1)
        line.addWidget(self._note, 1)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(4)
        lines.addWidget(self._box)
        lines.addWidget(self._about)
        lines.addLayout(line)
        self._box.currentIndexChanged.connect(lambda _index: self._chosen())
        self.set_offers(())
        self._describe()

    @property
    def name(self) -> str:
        """The method chosen."""
        return str(self._box.currentData())

    @property
    def entry(self) -> MethodEntry:
        """What is known of it."""
        return METHODS[self.name]

    def choose(self, name: str) -> None:
        """Choose a method."""
        self._box.setCurrentIndex(self._box.findData(name))

    def set_offers(self, offers: Iterable[Offer]) -> None:
        """Take what the model at hand can do; the rest is greyed, with the reason."""
        against = {offer.entry.name: offer.reason for offer in offers}
        rows = self._box.model()
        for index in range(self._box.count()):
            entry = METHODS[self._box.itemData(index)]
            reason = against.get(entry.name, "")
            item = rows.item(index) if isinstance(rows, QStandardItemModel) else None
            if item is not None:
                item.setEnabled(not reason)
            tip = self.tr("Not with this model: {reason}").format(reason=reason) if reason else entry.about
            self._box.setItemData(index, tip, Qt.ItemDataRole.ToolTipRole)
            if reason and index == self._box.currentIndex():
                self._box.setCurrentIndex(0)

    def set_state(self, *, one_row: bool, made: bool, may_run: bool) -> None:
        """Tell what is shown.

        Parameters
        ----------
        one_row : bool
            One token, layer and head are chosen.
        made : bool
            The map has been computed.
        may_run : bool
            There is a complete answer to compute it for.
        """
        needs = self.entry.needs_model
        self._describe(METHODS[ONE_ROW] if one_row and not needs else None)
        self._run.setVisible(needs and (self._running or not made))
        self._run.setEnabled(self._running or may_run)
        self._progress.setVisible(self._running)
        cost = self.tr("Until then: mean attention. Takes {cost}.").format(cost=self.entry.cost)
        self._note.setText("" if made or self._running or not needs else cost)
        self._note.setVisible(bool(self._note.text()))

    def set_running(self, running: bool) -> None:
        """Show that a map is being computed, or no longer."""
        self._running = running
        self._run.setText(self.tr("Stop") if running else self.tr("Compute"))
        self._run.setVisible(running or self._run.isVisible())
        self._progress.setRange(0, 0)
        self._progress.setVisible(running)
        self._note.setVisible(not running and bool(self._note.text()))
        self._box.setEnabled(not running)

    def set_progress(self, done: int, total: int) -> None:
        """Show how far it is."""
        self._progress.setRange(0, total)
        self._progress.setValue(done)

    def _describe(self, entry: MethodEntry | None = None) -> None:
        shown = entry or self.entry
        who = _WHO_AND_WHEN.match(shown.source)
        self._about.setText(f"{shown.about} ({who.group() if who else shown.source})")
        self._about.setToolTip(shown.source)
        self._box.setToolTip(f"{shown.about}\n{shown.source}")

    def _chosen(self) -> None:
        self._describe()
        self.changed.emit()

    def _clicked(self) -> None:
        (self.stop_asked if self._running else self.run_asked).emit()
