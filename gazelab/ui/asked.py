"""What the participant is asked to do beside looking, in words and as a small picture, near the target."""

from __future__ import annotations

import math
from enum import StrEnum

from PyQt6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PyQt6.QtGui import QPainter, QPen

from gazelab.calibration.targets import Target, TargetKind
from gazelab.ui.target_art import INK, PAPER

TEXT_PX, PICTURE_PX, WIDEST_PX = 22, 84.0, 640.0
_BLACK = QPen(INK, 3.0, cap=Qt.PenCapStyle.RoundCap, join=Qt.PenJoinStyle.RoundJoin)


class Move(StrEnum):
    """How the head is to move."""

    CIRCLE = "circle"
    CIRCLE_BACK = "circle back"
    LEAN = "lean"


MOVES = (Move.CIRCLE, Move.CIRCLE_BACK, Move.CIRCLE, Move.LEAN)
"""In the order of `head_phase.STEPS`."""


def move_of(target: Target | None) -> Move | None:
    """Give the movement that goes with a target; None where the head rests."""
    if target is None or target.kind is not TargetKind.HEAD or target.index >= len(MOVES):
        return None
    return MOVES[target.index]


def in_words(instruction: str) -> str:
    """Translate what the procedure asks for."""
    return QCoreApplication.translate("Procedure", instruction) if instruction else ""


def draw_asked(
    painter: QPainter, room: QRectF, target: QPointF, gap: float, text: str, move: Move | None
) -> QRectF:
    """Draw words and picture below a target, or above one that stands low.

    Parameters
    ----------
    painter : QPainter
    room : QRectF
        What may be drawn on.
    target : QPointF
    gap : float
        Kept free round the target.
    text : str
    move : Move or None

    Returns
    -------
    QRectF
        What was covered; empty without a text.
    """
    if not text:
        return QRectF()
    font = painter.font()
    font.setPixelSize(TEXT_PX)
    painter.setFont(font)
    aside = 0.0 if move is None else PICTURE_PX + 20
    width = min(WIDEST_PX, room.width() - 40 - aside)
    flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
    words = painter.boundingRect(QRectF(0, 0, width, 400), flags.value, text)
    block = QRectF(0, 0, words.width() + aside, max(words.height(), PICTURE_PX if move else 0.0))
    below = target.y() + gap + block.height() < room.bottom() - 20
    top = target.y() + gap if below else target.y() - gap - block.height()
    left = min(max(target.x() - block.width() / 2, room.left() + 20), room.right() - 20 - block.width())
    block.moveTo(left, top)
    if move is not None:
        draw_move(
            painter, QRectF(block.left(), block.center().y() - PICTURE_PX / 2, PICTURE_PX, PICTURE_PX), move
        )
    painter.setPen(INK)
    painter.drawText(block.adjusted(aside, 0, 1, 0), flags.value, text)
    return block


def draw_move(painter: QPainter, box: QRectF, move: Move) -> None:
    """Draw a head and the way that it goes."""
    painter.save()
    painter.translate(box.center())
    unit = box.width() / 100
    painter.scale(unit, unit)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    _head(painter, faint_degrees=(-32.0, 32.0) if move is Move.LEAN else ())
    if move is Move.LEAN:
        _arrow(painter, QPointF(-14, -40), QPointF(-36, -32))
        _arrow(painter, QPointF(14, -40), QPointF(36, -32))
    else:
        _circle(painter, clockwise=move is Move.CIRCLE)
    painter.restore()


def _head(painter: QPainter, faint_degrees: tuple[float, ...] = ()) -> None:
    """Draw a head, and dotted ones that lean by so much about the neck."""
    for degrees in (*faint_degrees, 0.0):
        painter.save()
        painter.translate(0, 40)
        painter.rotate(degrees)
        painter.translate(0, -40)
        painter.setPen(QPen(INK, 2.0, Qt.PenStyle.DotLine) if degrees else _BLACK)
        painter.setBrush(Qt.BrushStyle.NoBrush if degrees else PAPER)
        painter.drawEllipse(QPointF(0, 0), 20, 27)
        painter.restore()
    painter.setBrush(INK)
    for side in (-1, 1):
        painter.drawEllipse(QPointF(side * 7, -6), 1.5, 1.5)
    painter.drawEllipse(QPointF(0, 3), 2.0, 2.0)


def _circle(painter: QPainter, *, clockwise: bool) -> None:
    """Draw an arrow most of the way round the head."""
    painter.setPen(_BLACK)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    sign = 1 if clockwise else -1
    painter.drawArc(QRectF(-41, -41, 82, 82), 90 * 16, -sign * 300 * 16)
    last = math.radians(90 - sign * 300)
    tip = QPointF(41 * math.cos(last), -41 * math.sin(last))
    along = QPointF(math.sin(last), math.cos(last)) * sign
    _arrow(painter, tip - along * 3, tip + along * 3)


def _arrow(painter: QPainter, start: QPointF, end: QPointF) -> None:
    painter.setPen(_BLACK)
    painter.drawLine(start, end)
    way = end - start
    length = max((way.x() ** 2 + way.y() ** 2) ** 0.5, 1e-6)
    back = way / length * -8
    side = QPointF(-back.y(), back.x()) * 0.7
    painter.drawLine(end, end + back + side)
    painter.drawLine(end, end + back - side)
