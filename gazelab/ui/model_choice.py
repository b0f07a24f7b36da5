"""Which model is asked: the embedded one, a checkpoint on this computer, or one to be downloaded first."""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QDialog, QFileDialog, QHBoxLayout, QWidget

from gazelab.attention.base import EMBEDDED
from gazelab.attention.catalogue import CATALOGUE
from gazelab.ui.model_download import ModelDownload

_FOLDER, _DOWNLOAD = "\0folder", "\0download"


class _Box(QComboBox):
    """Tells when its list is about to be shown."""

    opened = pyqtSignal()

    def showPopup(self) -> None:
        """Bring the list up to date first."""
        self.opened.emit()
        super().showPopup()


class ModelChoice(QWidget):
    """A list of the models that are here, with entries that open a folder and that download one.

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
        self._box = _Box()
        self._box.setAccessibleName(self.tr("Model"))
        self._box.setToolTip(
            self.tr(
                "The embedded chart reader is a small teaching model. For research open a published"
                " checkpoint, such as SmolVLM or Qwen2.5-VL: from a folder, or downloaded once. Nothing is"
                " downloaded unless you ask for it."
            )
        )
        self._box.addItem(self.tr("Chart reader (small teaching model)"), EMBEDDED)
        self._box.addItem(self.tr("Checkpoint folder…"), _FOLDER)
        self._box.addItem(self.tr("Download a model…"), _DOWNLOAD)
        self._box.activated.connect(self._activated)
        self._box.opened.connect(self.refresh)
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

    @property
    def names(self) -> list[str]:
        """All that can be chosen."""
        each = [str(self._box.itemData(i)) for i in range(self._box.count())]
        return [name for name in each if name not in (_FOLDER, _DOWNLOAD)]

    def add(self, name: str) -> None:
        """Offer a checkpoint, by its folder or its id, and choose it."""
        self._offer(name)
        self._choose(name)

    def refresh(self) -> None:
        """Offer what has come onto this computer since; the list does so before it opens."""
        for entry in CATALOGUE:
            if entry.here == "yes":
                self._offer(entry.name)

    def _offer(self, name: str) -> None:
        if self._box.findData(name) < 0:
            self._box.insertItem(self._box.findData(_FOLDER), Path(name).name or name, name)

    def _activated(self, index: int) -> None:
        chosen = str(self._box.itemData(index))
        if chosen == _FOLDER:
            chosen = QFileDialog.getExistingDirectory(self, self.tr("Folder of a checkpoint"))
        elif chosen == _DOWNLOAD:
            dialog = ModelDownload(self)
            chosen = dialog.name if dialog.exec() == QDialog.DialogCode.Accepted else ""
        if chosen:
            self.add(chosen)
        else:
            self._box.setCurrentIndex(self._box.findData(self._current))

    def _choose(self, name: str) -> None:
        self._box.setCurrentIndex(self._box.findData(name))
        if name != self._current:
            self._current = name
            self.changed.emit(name)
