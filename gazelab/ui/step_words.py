"""What a participant reads between two charts."""

from __future__ import annotations

from PyQt6.QtCore import QCoreApplication, QRect, Qt
from PyQt6.QtGui import QFont, QPainter

from gazelab.ui.trial_view import INK

MARGIN_PX, LETTERS_PX = 40, 24


def ready_words(chart: int, total: int, checks: bool) -> str:
    """Say what comes next; `checks` if a dot is shown first."""
    dot = _tr("First a dot appears: look at its middle until it goes away.\n\n") if checks else ""
    text = _tr(
        "Chart {chart} of {total}\n\n"
        "{dot}Read the question, look at the chart, type the answer, press Enter.\n\n"
        "Press the space bar when you are ready."
    )
    return text.format(chart=chart, total=total, dot=dot)


def paused_words(note: str) -> str:
    """Say why nothing is on, and how to go on."""
    return _tr("{note}\n\nSpace bar: go on.   Esc: stop and save.").format(note=note)


def draw_words(painter: QPainter, window: QRect, base: QFont, text: str) -> None:
    """Draw a text in the middle of the window."""
    font = QFont(base)
    font.setPixelSize(LETTERS_PX)
    painter.setFont(font)
    painter.setPen(INK)
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    painter.drawText(window.adjusted(MARGIN_PX, MARGIN_PX, -MARGIN_PX, -MARGIN_PX), flags, text)


def _tr(text: str) -> str:
    return QCoreApplication.translate("StimulusWindow", text)
