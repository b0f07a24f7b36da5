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


def paused_words(note: str, next_chart: int, total: int, *, skipped: bool) -> str:
    """Say why nothing is on, what became of the chart that was, and what each key does now."""
    told = [note]
    if skipped:
        told.append(_tr("Chart {chart} of {total} is skipped: it is not shown again."))
    if next_chart > total:
        told.append(_tr("It was the last one.\n\nSpace bar or Esc: end the recording and save."))
    else:
        told.append(
            _tr("\nSpace bar: go on with chart {next} of {total}.\nEsc: stop the recording here and save.")
        )
    return "\n".join(told).format(chart=next_chart - 1, next=next_chart, total=total)


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
