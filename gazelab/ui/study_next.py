"""The next token: what else the model might have said, and what temperature and top-k make of it."""

from __future__ import annotations

from PyQt6.QtCore import QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPaintEvent
from PyQt6.QtWidgets import QComboBox, QDoubleSpinBox, QSizePolicy, QSpinBox, QVBoxLayout, QWidget

from gazelab.attention.next_token import entropy_bits, reshaped
from gazelab.core.attention import AttentionTrace
from gazelab.ui import theme
from gazelab.ui.parts import label, row
from gazelab.ui.token_strip import readable

SHOWN = 20
LINE_PX = 24
Top = tuple[tuple[str, float], ...]


class Bars(QWidget):
    """Tokens with a bar each: filled as it would be sampled, a tick where the model itself had it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Probabilities of the next token"))
        self.rows: list[tuple[str, float, float]] = []

    def sizeHint(self) -> QSize:
        """Give room for a dozen lines."""
        return QSize(420, 12 * LINE_PX)

    def set_rows(self, rows: list[tuple[str, float, float]]) -> None:
        """Show (token, the model's probability, probability as sampled) from the top."""
        self.rows = rows
        self.setAccessibleDescription(
            ", ".join(f"{readable(text)} {sampled:.2f}" for text, _, sampled in rows[:5])
        )
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Paint as many lines as there is room for."""
        pen = QPainter(self)
        tokens = theme.current()
        left, right = 120, self.width() - 70
        for i, (text, own, sampled) in enumerate(self.rows[: self.height() // LINE_PX]):
            top = i * LINE_PX
            pen.setPen(QColor(tokens.text if sampled > 0 else tokens.muted))
            line = QRectF(0, top, left - 10, LINE_PX)
            pen.drawText(
                line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, readable(text)[:14]
            )
            whole = QRectF(left, top + 5, max(right - left, 1), LINE_PX - 10)
            pen.fillRect(whole, QColor(tokens.sunken))
            pen.fillRect(QRectF(left, top + 5, whole.width() * sampled, LINE_PX - 10), QColor(tokens.accent))
            pen.fillRect(QRectF(left + whole.width() * own - 1, top + 2, 2, LINE_PX - 4), QColor(tokens.text))
            place = QRectF(right + 6, top, 64, LINE_PX)
            pen.drawText(place, Qt.AlignmentFlag.AlignVCenter, f"{sampled:.3f}")
        pen.end()


class NextTokenView(QWidget):
    """Choose a token of the answer; play with temperature and top-k. The answer stays the greedy one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.token = QComboBox()
        self.token.setAccessibleName(self.tr("Token of the answer"))
        self.token.currentIndexChanged.connect(lambda _index: self._show())
        self.temperature = QDoubleSpinBox()
        self.temperature.setRange(0.05, 5.0)
        self.temperature.setSingleStep(0.1)
        self.temperature.setValue(1.0)
        self.temperature.setAccessibleName(self.tr("Temperature"))
        self.temperature.setToolTip(
            self.tr("Divides the logits: below 1 the likely becomes likelier, above 1 the unlikely does")
        )
        self.top_k = QSpinBox()
        self.top_k.setAccessibleName(self.tr("Top-k"))
        self.top_k.setToolTip(self.tr("Only the k most probable tokens can be drawn"))
        self.top_k.setRange(1, SHOWN)
        for box in (self.temperature, self.top_k):
            box.valueChanged.connect(lambda _value: self._show())
        self.bars = Bars()
        self._told = label("", "muted", wrap=True)
        lead = label(
            self.tr(
                "The model gives each token of its vocabulary a probability. gazelab takes the first;"
                " sampling would draw one, as the bars say. The tick is the model's own, at temperature 1."
            ),
            "muted",
            wrap=True,
        )
        outer = QVBoxLayout(self)
        outer.addWidget(lead)
        outer.addLayout(
            row(
                label(self.tr("Token")),
                self.token,
                label(self.tr("Temperature")),
                self.temperature,
                label(self.tr("Top-k")),
                self.top_k,
                1,
            )
        )
        outer.addWidget(self.bars, 1)
        outer.addWidget(self._told)
        self._top: tuple[Top, ...] = ()

    def set_trace(self, trace: AttentionTrace | None) -> None:
        """Show another answer's tokens; the newest is chosen, so that it can be followed while it comes."""
        self._top = () if trace is None else trace.top
        self.token.blockSignals(True)
        self.token.clear()
        for i, text in enumerate(() if trace is None else trace.tokens):
            self.token.addItem(f"{i + 1}: {readable(text)}", i)
        self.token.setCurrentIndex(self.token.count() - 1)
        self.token.blockSignals(False)
        self.setEnabled(bool(self._top))
        most = max((len(top) for top in self._top), default=1)
        self.top_k.setMaximum(most)
        self.top_k.setValue(most)
        self._show()

    def _show(self) -> None:
        index = self.token.currentIndex()
        if not 0 <= index < len(self._top):
            self.bars.set_rows([])
            self._told.setText("")
            return
        top = self._top[index]
        own = [p for _, p in top]
        sampled = reshaped(own, self.temperature.value(), self.top_k.value())
        self.bars.set_rows([(text, p, float(s)) for (text, p), s in zip(top, sampled, strict=True)][:SHOWN])
        text = self.tr(
            "The {n} most probable tokens hold {share:.1%} of the model's probability. Undecided by"
            " {bits:.2f} bits as sampled: 0 is certain, 1 is a coin."
        )
        self._told.setText(text.format(n=len(top), share=sum(own), bits=entropy_bits(list(sampled))))
