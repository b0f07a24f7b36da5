"""A calibration's result in words, beside its picture and its table."""

from __future__ import annotations

import math

from PyQt6.QtCore import QCoreApplication, Qt
from PyQt6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from gazelab.calibration.result import CalibrationResult
from gazelab.calibration.validation import Validation
from gazelab.ui.parts import Card, label, set_role


class ResultWords(Card):
    """Says how the calibration stands, its figures, and what is of concern; many concerns scroll."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Result"), parent)
        self._state = label("", "heading", wrap=True)
        self._numbers = label("", wrap=True)
        self._concerns = label("", "muted", wrap=True)
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 6, 0)
        for words in (self._numbers, self._concerns):
            column.addWidget(words)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(inner)
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.body.addWidget(self._state)
        self.body.addWidget(scroll, 1)

    @property
    def state(self) -> str:
        """How it stands, in a sentence."""
        return self._state.text()

    @property
    def concerns(self) -> str:
        """What is of concern, one line each."""
        return self._concerns.text()

    def say(self, state: str, role: str, result: CalibrationResult | None) -> None:
        """Show a sentence in its role, and a result's figures and concerns."""
        self._state.setText(state)
        set_role(self._state, role)
        self._numbers.setText(in_numbers(result))
        self._concerns.setText(in_sentences(result))


def in_numbers(result: CalibrationResult | None) -> str:
    """Write the figures of most weight; degrees only where the screen's size is known."""
    if result is None or result.validation is None:
        return ""
    v = result.validation
    lines = [_accuracy(v), _edges(v), *_head(result)]
    if not math.isfinite(v.accuracy_deg) and math.isfinite(v.accuracy_px):
        lines.append(_tr("Measure the screen and the distance on Setup to have degrees."))
    return "\n".join(line for line in lines if line)


def in_sentences(result: CalibrationResult | None) -> str:
    """List what is wrong or of concern."""
    if result is None:
        return ""
    lines = [f"• {f.message}" for f in result.findings]
    if result.note:
        lines.append(_tr("Accepted because: {note}").format(note=result.note))
    return "\n".join(lines)


def _accuracy(v: Validation) -> str:
    if math.isfinite(v.accuracy_deg):
        return _tr("Accuracy {deg:.2f}° ({px:.0f} px)").format(deg=v.accuracy_deg, px=v.accuracy_px)
    if math.isfinite(v.accuracy_px):
        return _tr("Accuracy {px:.0f} px").format(px=v.accuracy_px)
    return _tr("Accuracy: no data")


def _edges(v: Validation) -> str:
    """Say how it is near the screen's edges, where mappings fail first."""
    if not math.isfinite(v.edge_accuracy_px):
        return ""
    if math.isfinite(v.edge_accuracy_deg):
        text = _tr("Near the edges {deg:.2f}° ({px:.0f} px)")
    else:
        text = _tr("Near the edges {px:.0f} px")
    return text.format(deg=v.edge_accuracy_deg, px=v.edge_accuracy_px)


def _head(result: CalibrationResult) -> list[str]:
    if result.head is None or not math.isfinite(result.head.yaw_range_deg):
        return []
    text = _tr("Head turned {yaw:.0f}° to the sides, {pitch:.0f}° up and down")
    return [text.format(yaw=result.head.yaw_range_deg, pitch=result.head.pitch_range_deg)]


def _tr(text: str) -> str:
    return QCoreApplication.translate("ResultWords", text)
