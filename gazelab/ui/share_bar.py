"""Where the attention fell, as one bar with its numbers: chart, text, first token."""

from __future__ import annotations

import math

from PyQt6.QtCore import QCoreApplication, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PyQt6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gazelab.ui import theme
from gazelab.ui.look import Shares
from gazelab.ui.parts import label

BAR_PX = 10
_CHART, _VIEW = ("#c96a1e", "#f0a04b"), ("#e8a878", "#a8713a")
_TEXT, _FIRST = ("#5b7aa5", "#7f9ecb"), ("#9aa3ad", "#6b7683")
"""Each on light and on dark ground: the chart in the models' orange, the rest cool."""


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
        self.setToolTip(
            self.tr(
                "Each row of attention sums to 1. What falls on the first token or on sink patches says"
                " little of the chart: models put there what they do not need."
            )
        )

    def set_shares(self, shares: Shares | None) -> None:
        """Show shares, or nothing."""
        parts = [] if shares is None else bar_parts(shares)
        text = "" if shares is None else words(shares)
        self._bar.set_parts(parts)
        self._words.setText(text)
        self.setAccessibleName(self.tr("Where the attention fell"))
        self.setAccessibleDescription(text)

    @property
    def text(self) -> str:
        """The line in words."""
        return self._words.text()


def words(shares: Shares) -> str:
    """Name the shares."""
    tr = QCoreApplication.translate
    chart = tr("Shares", "On the chart {share:.0%}").format(share=shares.picture)
    if len(shares.views) > 1:
        chart += " (" + ", ".join(f"{name} {share:.0%}" for name, share in shares.views) + ")"
    said = [
        chart,
        tr("Shares", "text {share:.0%}").format(share=shares.text),
        tr("Shares", "first token {share:.0%}").format(share=shares.first),
    ]
    if shares.padding >= 0.005:
        said.append(
            tr("Shares", "padding beside the chart {share:.0%} of the chart's part").format(
                share=shares.padding
            )
        )
    if math.isfinite(shares.sinks) and shares.sinks > 0:
        said.append(tr("Shares", "sink patches {share:.0%} of the chart's part").format(share=shares.sinks))
    return ", ".join(said) + "."


def bar_parts(shares: Shares) -> list[tuple[tuple[str, str], float]]:
    """Give colours (light, dark) and shares from left to right."""
    views = [(_CHART if i == 0 else _VIEW, share) for i, (_, share) in enumerate(shares.views)]
    return [*views, (_TEXT, shares.text), (_FIRST, shares.first)]


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
