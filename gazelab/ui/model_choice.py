"""Which model is asked: the embedded one, or a checkpoint on this computer."""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QWidget

from gazelab.attention.base import EMBEDDED

_FOLDER = "\0folder"


class ModelChoice(QWidget):
    """A list of models, with an entry that opens a folder.

    Parameters
    ----------
    name : str
        The model to begin with, as for `open_model`.

    Signals
    -------
    changed : str
        The name for `open_model`.
    """

    changed = pyqtSignal(str)

    def __init__(self, name: str = EMBEDDED, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box = QComboBox()
        self._box.setAccessibleName(self.tr("Model"))
        self._box.setToolTip(
            self.tr(
                "The embedded chart reader is a small teaching model. For research open the folder of a"
                " published checkpoint, such as SmolVLM or Qwen2.5-VL. Nothing is downloaded."
            )
        )
        self._box.addItem(self.tr("Chart reader (small teaching model)"), EMBEDDED)
        self._box.addItem(self.tr("Checkpoint folder…"), _FOLDER)
        self._box.activated.connect(self._activated)
        self._current = EMBEDDED
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self._box)
        if name != EMBEDDED:
            self.add(name)

    @property
    def name(self) -> str:
        """The model chosen."""
        return self._current

    def add(self, folder: str) -> None:
        """Offer a checkpoint folder and choose it."""
        self._box.insertItem(self._box.count() - 1, Path(folder).name, folder)
        self._choose(folder)

    def _activated(self, index: int) -> None:
        if self._box.itemData(index) == _FOLDER:
            folder = QFileDialog.getExistingDirectory(self, self.tr("Folder of a checkpoint"))
            if folder:
                self.add(folder)
            else:
                self._box.setCurrentIndex(self._box.findData(self._current))
        else:
            self._choose(str(self._box.itemData(index)))

    def _choose(self, name: str) -> None:
        self._box.setCurrentIndex(self._box.findData(name))
        if name != self._current:
            self._current = name
            self.changed.emit(name)
