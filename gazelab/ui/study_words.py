"""The words of question and answer among themselves: which layer and head, weights or scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QComboBox, QVBoxLayout, QWidget

from gazelab.attention.maps import display_scale
from gazelab.attention.study.records import TextStudy
from gazelab.ui.parts import label, row
from gazelab.ui.study_matrix import Cell, WordMatrix
from gazelab.ui.token_strip import readable

Floats = NDArray[np.float32]


class WordsView(QWidget):
    """The matrix with its selectors and one sentence on the cell pointed at.

    Signals
    -------
    scores_wanted : int, int
        Layer number and head whose scores before the softmax are wanted; answer with `set_scores`.
    """

    scores_wanted = pyqtSignal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.matrix = WordMatrix()
        self.matrix.pointed.connect(self._tell)
        self.layer, self.head = self._selector(self.tr("Layer")), self._selector(self.tr("Head"))
        self.before = QCheckBox(self.tr("Scores before the softmax (q·k)"))
        self.before.setToolTip(
            self.tr(
                "Query times key, scaled: the numbers from which the softmax makes weights. One layer and one"
                " head only."
            )
        )
        self.before.toggled.connect(self._show)
        self._told = label("", "muted", wrap=True)
        self._note = label("", "muted", wrap=True)
        lead = label(
            self.tr(
                "Each row is a word, each column a word that it can look at; darker is more. A word never"
                " sees a later one: that is the causal mask, hatched. The answer begins at the dashed lines."
            ),
            "muted",
            wrap=True,
        )
        outer = QVBoxLayout(self)
        outer.addWidget(lead)
        outer.addLayout(
            row(label(self.tr("Layer")), self.layer, label(self.tr("Head")), self.head, self.before, 1)
        )
        outer.addWidget(self.matrix, 1)
        outer.addWidget(self._told)
        outer.addWidget(self._note)
        self._study: TextStudy | None = None
        self._scores: dict[tuple[int, int], Floats] = {}
        self._shown: NDArray[np.float64] | None = None

    def set_study(self, study: TextStudy | None) -> None:
        """Show another answer's words, or none."""
        self._study, self._scores = study, {}
        self.setEnabled(study is not None)
        for box, whole, numbers in (
            (self.layer, self.tr("Mean of all"), () if study is None else study.layers),
            (self.head, self.tr("Mean of all"), () if study is None else range(study.n_heads)),
        ):
            box.blockSignals(True)
            box.clear()
            box.addItem(whole, None)
            for number in numbers:
                box.addItem(str(number), number)
            box.blockSignals(False)
        self._note.setText("" if study is None else study.note)
        self._show()

    def set_scores(self, layer: int, head: int, scores: Floats) -> None:
        """Take the scores that were wanted, (query, key); -inf where a word may not look."""
        self._scores[layer, head] = scores
        self._show()

    def _selector(self, name: str) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        box.currentIndexChanged.connect(lambda _index: self._show())
        return box

    def _show(self) -> None:
        study = self._study
        if study is None or not study.tokens:
            self.matrix.set_matrix((), np.zeros((0, 0)), 0)
            return
        visible = np.tril(np.ones((len(study.tokens),) * 2, bool))
        values = self._values(study)
        self._shown = None if values is None else np.where(visible, values, np.nan)
        if self._shown is None:
            scaled = np.where(visible, 0.0, np.nan)
        elif self.before.isChecked():
            low, high = np.nanmin(self._shown), np.nanmax(self._shown)
            scaled = (self._shown - low) / max(high - low, 1e-9)
        else:
            scaled = np.where(visible, display_scale(self._shown, 98), np.nan)
        self.matrix.set_matrix(study.tokens, scaled, study.n_prompt)

    def _values(self, study: TextStudy) -> NDArray[np.float64] | None:
        """Give what the selectors say; None while scores are on their way."""
        layer, head = self.layer.currentData(), self.head.currentData()
        if self.before.isChecked():
            layer, head = study.layers[-1] if layer is None else layer, 0 if head is None else head
            self._choose(layer, head)
            if (layer, head) not in self._scores:
                self.scores_wanted.emit(int(layer), int(head))
            if (layer, head) not in self._scores:
                return None  # they come later
            scores = self._scores[layer, head].astype(float)
            return np.where(np.isfinite(scores), scores, np.nan)
        chosen = study.weights if layer is None else study.weights[[study.layers.index(layer)]]
        chosen = chosen if head is None else chosen[:, [head]]
        return np.asarray(chosen.astype(np.float64).mean((0, 1)))

    def _choose(self, layer: int, head: int) -> None:
        for box, value in ((self.layer, layer), (self.head, head)):
            box.blockSignals(True)
            box.setCurrentIndex(max(box.findData(value), 0))
            box.blockSignals(False)

    def _tell(self, cell: Cell | None) -> None:
        study = self._study
        if cell is None or study is None or self._shown is None:
            self._told.setText("")
            return
        query, key = cell
        names = {"query": readable(study.tokens[query]), "key": readable(study.tokens[key])}
        if key > query:
            text = self.tr("“{query}” cannot look at “{key}”, which comes later.")
        elif self.before.isChecked():
            text = self.tr("“{query}” and “{key}”: a score of {value:.2f} before the softmax.")
        else:
            text = self.tr("“{query}” gives “{key}” {value:.1%} of its attention.")
        self._told.setText(text.format(**names, value=self._shown[query, key]))
