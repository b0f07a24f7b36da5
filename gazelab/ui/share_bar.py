"""Where the attention fell, as one bar with its numbers: chart, text, first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PyQt6.QtCore import QCoreApplication, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PyQt6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gazelab.ui import theme
from gazelab.ui.parts import label
from gazelab.ui.token_strip import readable

BAR_PX = 10
_CHART, _VIEW = ("#c96a1e", "#f0a04b"), ("#e8a878", "#a8713a")
_TEXT, _FIRST = ("#5b7aa5", "#7f9ecb"), ("#9aa3ad", "#6b7683")
"""Each on light and on dark ground: the chart in the models' orange, the rest cool."""
TELL_FROM = 0.005


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the picked attention fell, as shares of 1.

    Attributes
    ----------
    views : tuple of (str, float)
        Name of each view of the picture and what fell on it.
    text, first : float
        On text, and on the first token or a learned sink.
    padding, sinks : float
        Of the picture's share: on padding, which shows nothing of the chart, and on sink patches.
    tokens : tuple of (str, float, bool)
        Text tokens that drew much, and whether each is a sink.
    """

    views: tuple[tuple[str, float], ...]
    text: float
    first: float
    padding: float = 0.0
    sinks: float = 0.0
    tokens: tuple[tuple[str, float, bool], ...] = ()


class ShareBar(QWidget):
    """A bar of shares and a line that names them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bar = _Bar()
        self._words = label("", "muted", wrap=True)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(4)
        lines.addWidget(self._bar)
        lines.addWidget(self._words)
        self.setAccessibleName(self.tr("Where the attention fell"))
        self.setToolTip(
            self.tr(
                "Each row of attention sums to 1. What falls on the first token or on sinks says little of"
                " the chart: models put there what they do not need."
            )
        )

    def set_shares(self, shares: Shares | None) -> None:
        """Show shares, or nothing."""
        self._bar.set_parts([] if shares is None else bar_parts(shares))
        self._words.setText("" if shares is None else words(shares))
        self.setAccessibleDescription(self._words.text())

    @property
    def text(self) -> str:
        """The line in words."""
        return self._words.text()


def words(shares: Shares) -> str:
    """Name the shares; what is next to nothing is left out."""
    tr = QCoreApplication.translate
    chart = tr("Shares", "On the chart {share:.0%}").format(share=sum(share for _, share in shares.views))
    if len(shares.views) > 1:
        chart += " (" + ", ".join(f"{name} {share:.0%}" for name, share in shares.views) + ")"
    said = [
        chart,
        tr("Shares", "text {share:.0%}").format(share=shares.text),
        tr("Shares", "first token {share:.0%}").format(share=shares.first),
    ]
    text = ", ".join(said) + "."
    of_chart = []
    if shares.sinks >= TELL_FROM:
        of_chart.append(tr("Shares", "sink patches {share:.0%}").format(share=shares.sinks))
    if shares.padding >= TELL_FROM:
        of_chart.append(tr("Shares", "padding beside the chart {share:.0%}").format(share=shares.padding))
    if of_chart:
        text += " " + tr("Shares", "Of the chart's part: {parts}.").format(parts=", ".join(of_chart))
    return f"{text} {_token_words(shares.tokens)}".strip()


def bar_parts(shares: Shares) -> list[tuple[tuple[str, str], float]]:
    """Give colours (light, dark) and shares from left to right."""
    views = [(_CHART if i == 0 else _VIEW, share) for i, (_, share) in enumerate(shares.views)]
    return [*views, (_TEXT, shares.text), (_FIRST, shares.first)]


def _token_words(tokens: Sequence[tuple[str, float, bool]]) -> str:
    tr = QCoreApplication.translate
    said = []
    for token, share, is_sink in tokens:
        if share >= TELL_FROM:
            sink = tr("Shares", " (a sink)") if is_sink else ""
            said.append(f"“{readable(token)}” {share:.0%}{sink}")
    return tr("Shares", "Most on text: {tokens}.").format(tokens=", ".join(said)) if said else ""


class _Bar(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._parts: list[tuple[tuple[str, str], float]] = []

    def set_parts(self, parts: list[tuple[tuple[str, str], float]]) -> None:
        self._parts = parts
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, BAR_PX)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        tokens, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect())
        shape = QPainterPath()
        shape.addRoundedRect(frame, BAR_PX / 2, BAR_PX / 2)
        painter.setClipPath(shape)
        painter.fillRect(frame, QColor(tokens.sunken))
        painter.setPen(Qt.PenStyle.NoPen)
        left = 0.0
        for colours, share in self._parts:
            wide = max(0.0, share) * frame.width()
            painter.fillRect(QRectF(left, 0, wide, frame.height()), QColor(colours[tokens is theme.DARK]))
            left += wide
