"""Which charts are read: the shipped ones, or a folder in ChartQA's layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QWidget

from gazelab.charts.item import ChartItem
from gazelab.charts.shipped import SHIPPED, load_charts
from gazelab.core.errors import GazelabError
from gazelab.ui.parts import button, sentence
from gazelab.ui.workspace import Workspace


class ChartChoice(QWidget):
    """A list of sets and a button for a folder.

    Signals
    -------
    loaded
        `items` has another set.
    """

    loaded = pyqtSignal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._work = workspace
        self.items: Sequence[ChartItem] = ()
        self._sets = QComboBox()
        self._sets.setAccessibleName(self.tr("Charts"))
        self._sets.addItem(self.tr("24 drawn charts that ship with gazelab"), SHIPPED)
        self._sets.activated.connect(lambda index: self.load(self._sets.itemData(index)))
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self._sets, 1)
        tip = self.tr("A folder in ChartQA's layout (png/, test_human.json) or with its parquet files")
        line.addWidget(button(self.tr("Folder…"), self._browse, tip))

    @property
    def where(self) -> str:
        """The set's name or folder."""
        return str(self._sets.currentData())

    def load(self, where: str | Path) -> None:
        """Read a set in the background."""

        def done(items: list[ChartItem]) -> None:
            self.items = items
            self.loaded.emit()

        work = self.tr("reading the charts")
        self._work.io.submit(work, lambda _job: load_charts(where), done, self._failed, owner=self)

    def add(self, folder: Path) -> None:
        """Offer a folder and read it."""
        if self._sets.findData(str(folder)) < 0:
            self._sets.addItem(folder.name, str(folder))
        self._sets.setCurrentIndex(self._sets.findData(str(folder)))
        self.load(folder)

    def _browse(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Folder of charts"))
        if folder:
            self.add(Path(folder))

    def _failed(self, fault: GazelabError) -> None:
        self._work.told.emit(sentence(fault), "bad")
