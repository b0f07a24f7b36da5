"""Beside the charts: which map is shown, the layer × head matrix, and where the attention fell."""

from __future__ import annotations

import numpy as np
from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.ui.head_matrix import ALL, HeadMatrix
from gazelab.ui.look import Look, Measure, Pick
from gazelab.ui.look_sums import Floats
from gazelab.ui.map_controls import MapControls
from gazelab.ui.model_canvas import Patch
from gazelab.ui.parts import Card, button, label
from gazelab.ui.share_bar import ShareBar, Shares

MAPS = "maps"


class LookPanel(QWidget):
    """Chooses what `Looking` shows.

    Parameters
    ----------
    above : QWidget, optional
        Put above the selectors, such as the choice of a model.

    Signals
    -------
    changed
        Another map is wanted.
    measure_changed
        The matrix is to show something else.
    check_asked
        The user wants to know whether what the map shows matters to the answer.
    inside_asked
        The user wants to see how the model works.
    """

    changed = pyqtSignal()
    measure_changed = pyqtSignal()
    check_asked = pyqtSignal()
    inside_asked = pyqtSignal()

    def __init__(self, above: QWidget | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.controls = MapControls()
        self.matrix = HeadMatrix()
        self.shares = ShareBar()
        self._layers: tuple[int, ...] = ()
        self._range = ""
        self._measure = QComboBox()
        self._measure.setAccessibleName(self.tr("What the matrix shows"))
        self._fill_measures()
        self._reading = label("", "muted", wrap=True)
        self._all = button(self.tr("All"), lambda: self._picked(ALL, ALL), self.tr("All layers, all heads"))
        self._all.setProperty("role", "small")
        self._honest = button(
            self.tr("Attention weights are not an explanation"),
            self.check_asked.emit,
            self.tr("Check by blanking what is most attended, and as much elsewhere"),
        )
        self._inside = button(
            self.tr("Look inside…"),
            self.inside_asked.emit,
            self.tr("Next token, words, vectors, positions: how the model works, on this answer"),
        )
        for link in (self._honest, self._inside):
            link.setProperty("role", "link")
        self.controls.changed.connect(self._controls_changed)
        self.matrix.picked.connect(self._picked)
        self.set_measure(MAPS)
        self._measure.currentIndexChanged.connect(lambda _index: self.measure_changed.emit())
        self._lay_out(above)
        self.clear()

    @property
    def asks_for_patch(self) -> bool:
        """Whether the matrix shows the patch that is marked on the chart."""
        return bool(self._measure.currentData() == Measure.PATCH)

    def pick(self) -> Pick:
        """Give what is chosen, all tokens."""
        return self.controls.pick()

    def set_measure(self, what: str) -> None:
        """Show another number in the matrix, or `MAPS`."""
        self._measure.setCurrentIndex(self._measure.findData(str(what)))

    def clear(self) -> None:
        """Show no look; what is chosen is kept for the next."""
        self.controls.set_trace(None)
        self.matrix.set_numbers(None)
        self.matrix.setEnabled(False)
        self.shares.set_shares(None)
        self.controls.method.set_state(one_row=False, made=False, may_run=False)
        self._inside.setEnabled(False)
        self._all.setEnabled(False)
        self._range = ""
        self._reading.setText("")

    def set_trace(self, trace: AttentionTrace) -> None:
        """Offer a trace's layers, heads and views."""
        self._layers = trace.layers
        self.matrix.setEnabled(True)
        self.matrix.set_axes(trace.layers, trace.n_heads)
        self.controls.set_trace(trace)
        self._choose_in_matrix()

    def tell(self, look: Look, pick: Pick, mean: AttentionMap, *, made: bool, may_run: bool) -> None:
        """Tell where the picked attention fell, and how it stands with the map.

        Parameters
        ----------
        mean : AttentionMap
            Of the attention itself.
        made : bool
            Whether a method that needs the model has made its map.
        may_run : bool
            Whether the answer is complete.
        """
        self.controls.method.set_state(one_row=pick.is_one_row, made=made, may_run=may_run)
        self._inside.setEnabled(may_run)
        padding, sinks = (mean.how.get(key) for key in ("padding_share", "sink_patch_share"))
        self.shares.set_shares(
            Shares(
                tuple(look.view_shares(pick)),
                look.text_share(pick),
                look.first_share(pick),
                padding if isinstance(padding, float) else 0.0,
                sinks if isinstance(sinks, float) else 0.0,
                tuple(look.text_tokens(pick)),
            )
        )

    def fill(self, look: Look, pick: Pick, patch: Patch | None) -> None:
        """Draw the matrix."""
        what = self._measure.currentData()
        if what == MAPS:
            self.matrix.set_maps(look.small_maps(pick))
            text = self.tr("each on its own scale")
        else:
            measure = Measure(what)
            numbers = look.numbers(measure, pick, patch)
            self.matrix.set_numbers(numbers, "" if measure is Measure.FOCUS else "%")
            text = self._range_words(measure, numbers, patch)
        self._range = text
        self._choose_in_matrix()

    def _range_words(self, measure: Measure, numbers: Floats, patch: Patch | None) -> str:
        if measure is Measure.PATCH and patch is None:
            return self.tr("point at a patch of the chart")
        known = numbers[np.isfinite(numbers)]
        if not known.size:
            return ""
        style = "{:.2f}" if measure is Measure.FOCUS else "{:.1%}"
        low, high = (style.format(float(v)) for v in (known.min(), known.max()))
        return self.tr("{low} to {high}").format(low=low, high=high)

    def _fill_measures(self) -> None:
        for what, text, tip in (
            (Measure.PICTURE, self.tr("Share on the chart"), self.tr("Of each row of attention")),
            (
                Measure.FOCUS,
                self.tr("Focus on few patches"),
                self.tr("1 − entropy / log(number of patches): 0 is even over the chart, 1 is on one patch"),
            ),
            (Measure.FIRST, self.tr("Share on the first token"), self.tr("Or on a learned sink")),
            (Measure.TEXT, self.tr("Share on text"), self.tr("On all text but the first token")),
            (Measure.PATCH, self.tr("Share on the marked patch"), self.tr("Of what fell on the chart")),
            (MAPS, self.tr("Small maps"), self.tr("Each head's map of the chart")),
        ):
            self._measure.addItem(text, str(what))
            self._measure.setItemData(self._measure.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)

    def _controls_changed(self) -> None:
        self._choose_in_matrix()
        self.changed.emit()

    def _choose_in_matrix(self) -> None:
        pick = self.controls.pick()
        row = ALL if pick.layer is None else self._layers.index(pick.layer)
        head = ALL if pick.head is None else pick.head
        self.matrix.choose(row, head)
        self._all.setEnabled((row, head) != (ALL, ALL))
        self._reading.setText("; ".join(t for t in (self.matrix.words(row, head), self._range) if t))

    def _picked(self, row: int, head: int) -> None:
        self.controls.choose(None if row == ALL else self._layers[row], None if head == ALL else head)

    def _lay_out(self, above: QWidget | None) -> None:
        maps = Card()
        if above is not None:
            maps.body.addWidget(above)
        maps.body.addWidget(self.controls)
        maps.body.addWidget(self.shares)
        heads = Card()
        line = QHBoxLayout()
        line.addWidget(label(self.tr("Layers × heads"), "heading"))
        line.addWidget(self._measure, 1)
        heads.body.addLayout(line)
        heads.body.addWidget(_Room(self.matrix), 1)
        below = QHBoxLayout()
        below.addWidget(self._reading, 1)
        below.addWidget(self._all)
        heads.body.addLayout(below)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(10)
        lines.addWidget(maps)
        lines.addWidget(heads, 1)
        links = QHBoxLayout()
        links.addWidget(self._honest)
        links.addStretch(1)
        links.addWidget(self._inside)
        lines.addLayout(links)


class _Room(QScrollArea):
    """Holds a matrix, and tells it how high it may be without scrolling."""

    def __init__(self, matrix: HeadMatrix) -> None:
        super().__init__()
        self._matrix = matrix
        self.setWidget(matrix)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(90)
        matrix.picked.connect(self._show_picked)

    def _show_picked(self, row: int, head: int) -> None:
        at = self._matrix.cell_rect(row, head)
        self.ensureVisible(at.center().x(), at.center().y(), at.width(), at.height())

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        super().resizeEvent(a0)
        self._matrix.set_room(self.height())
